package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/journal"
)

// Store keeps an evaluation in a folder: its setup, and what became of every rollout. A
// record is stored before the message that brings it is replied to.
type Store struct {
	Folder  string // for this process alone: the caller holds its lock
	journal *journal.Journal[record, Rollout]
}

// record is what became of a rollout; the last one of each counts.
type record struct {
	Rollout
	State  string  `json:"state"` // given, completed, failed or aborted
	Reward float64 `json:"reward,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// state is where the rollout stands.
func (r *record) state() state {
	switch r.State {
	case "given":
		return inFlight
	case "completed":
		return done
	case "aborted":
		return aborted
	}
	return unknown
}

// open opens the store of a setup: the setup that is there, its records by task and
// number, and whether it had begun.
func (s *Store) open(setup *evaluation.Setup) (there *evaluation.Setup, all []*record, begun bool, err error) {
	there, err = evaluation.ReadSetup(s.Folder)
	switch begun = err == nil; {
	case errors.Is(err, fs.ErrNotExist):
		there, err = setup, setup.Keep(s.Folder)
	case err == nil:
		if _, err = evaluation.CheckBegun(s.Folder); err == nil {
			err = same(there, setup)
		}
	}
	if err != nil {
		return nil, nil, false, err
	}
	var damaged int
	if s.journal, damaged, err = journal.Open(filepath.Join(s.Folder, "rollouts"+journal.Suffix), func(r *record) Rollout { return r.Rollout }); err != nil {
		return nil, nil, false, err
	}
	if damaged > 0 {
		return nil, nil, false, errors.Join(fmt.Errorf("%s: %d lines of its journal are damaged: rollouts would count that were reported otherwise; begin anew in another folder", s.Folder, damaged), s.journal.Close())
	}
	for _, id := range s.journal.IDs() {
		r, err := s.journal.Read(id)
		if err != nil {
			return nil, nil, false, errors.Join(err, s.journal.Close())
		}
		if r.state() != unknown {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Number, b.Number)) })
	return there, all, begun, nil
}

// same is an error if a folder has another evaluation than the one that is asked for.
func same(there, setup *evaluation.Setup) error {
	switch {
	case there.Name() != setup.Name() || !reflect.DeepEqual(there.Stop, setup.Stop) || there.Design.Rounds != setup.Design.Rounds:
		return &FieldError{"type", fmt.Sprintf("the state folder has %s of %d rounds, not %s of %d: name another folder", there.Name(), there.Design.Rounds, setup.Name(), setup.Design.Rounds)}
	case there.Benchmark != setup.Benchmark || there.Model != setup.Model:
		return &FieldError{"type", fmt.Sprintf("the state folder has an evaluation of %s on %s, not of %s on %s: name another folder", there.Model, there.Benchmark, setup.Model, setup.Benchmark)}
	}
	if err := there.Matches(setup); err != nil {
		return &FieldError{"type", err.Error()}
	}
	return nil
}

func (s *Store) append(r *record) error { return s.journal.Append(r) }

func (s *Store) sync() error { return s.journal.Sync() }

// Close closes the store; what was stored is there.
func (s *Store) Close() error {
	if s.journal == nil {
		return nil
	}
	err := errors.Join(s.journal.Sync(), s.journal.Close())
	s.journal = nil
	return err
}
