package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/store/journal"
)

// Store keeps an evaluation in a folder: its setup, what became of every rollout, and the
// result once it is complete. A record is stored before the message that brings it is
// replied to.
type Store struct {
	// Place is the folder of a setup, for this process alone until it is released.
	Place func(*evaluation.Setup) (folder string, release func() error, err error)
	// Kept hears that the result in the folder was stored; may be nil.
	Kept func(folder string)

	folder  string
	release func() error
	journal *journal.Journal[record, Rollout]
}

// record is where a rollout stands; the last one of each counts.
type record struct {
	Rollout
	State  state   `json:"state"`
	Reward float64 `json:"reward,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// open opens the store of a setup: the setup that is there, its records by task and
// number, and whether it had begun.
func (s *Store) open(setup *evaluation.Setup) (there *evaluation.Setup, all []*record, begun bool, err error) {
	if s.folder, s.release, err = s.Place(setup); err != nil {
		return nil, nil, false, err
	}
	there, err = evaluation.ReadSetup(s.folder)
	switch begun = err == nil; {
	case errors.Is(err, fs.ErrNotExist):
		there, err = setup, setup.Keep(s.folder)
	case err == nil:
		if other := there.Matches(setup); other != nil {
			err = Faultf("type", "%v", other)
		}
	}
	if err != nil {
		return nil, nil, false, err
	}
	var damaged int
	if s.journal, damaged, err = journal.Open(journalIn(s.folder), func(r *record) Rollout { return r.Rollout }); err != nil {
		return nil, nil, false, err
	}
	if damaged > 0 {
		return nil, nil, false, fmt.Errorf("%s: %d lines of its journal are damaged: rollouts would count that were reported otherwise; begin anew in another folder", s.folder, damaged)
	}
	for r, err := range s.journal.Records(s.journal.IDs()) {
		if err != nil {
			return nil, nil, false, err
		}
		if r.State != failed {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Number, b.Number)) })
	return there, all, begun, nil
}

// keep stores records; without a store it does nothing.
func (s *Store) keep(all ...*record) (err error) {
	if s != nil {
		for _, r := range all {
			err = errors.Join(err, s.journal.Append(r))
		}
	}
	return err
}

func journalIn(folder string) string { return filepath.Join(folder, "rollouts"+journal.Suffix) }

// Reported counts the rollouts of the evaluation of a setup in a folder that have been reported so
// far, but for those of the evaluation that it extends; 0 if that cannot be read.
func Reported(folder string, setup *evaluation.Setup) int {
	past, all := make(map[string]int), make(map[Rollout]bool)
	for i, id := range setup.TaskIDs {
		past[id] = setup.Extends.Rollouts(i)
	}
	for r, err := range journal.Records[record](journalIn(folder)) {
		if err != nil {
			return 0
		}
		if r.State == completed && r.Number > past[r.Task] {
			all[r.Rollout] = true
		}
	}
	return len(all)
}

// Close closes the store and releases its folder; what was stored is there.
func (s *Store) Close() (err error) {
	if s.journal != nil {
		err = errors.Join(s.journal.Sync(), s.journal.Close())
	}
	if s.release != nil {
		err = errors.Join(err, s.release())
	}
	s.journal, s.release = nil, nil
	return err
}
