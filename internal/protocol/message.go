// Package protocol is how other programs use the policies: messages, one JSON object a
// line, about an evaluation whose rollouts the other program runs. docs/protocol.md has
// every message with an example.
//
// A Session is the evaluation: which rollouts are given, in flight and completed, and
// what they come to. A Server reads messages, lets a Session answer, and records every
// change before it replies, so that a server that is killed goes on where it was.
package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/evaluation"
	"speceval/internal/store/journal"
)

// Version of the protocol.
const Version = 1

// FieldError is a fault of a message. Nothing has changed by it.
type FieldError struct{ Field, Message string }

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// typed is a message as far as its type.
type typed struct {
	Type string `json:"type"`
}

// Messages that a program sends, but for those of a type alone.
type (
	startMessage struct {
		typed
		Protocol int `json:"protocol"`
		evaluation.Spec
	}
	nextMessage struct {
		typed
		Most *int `json:"most"`
	}
	rolloutMessage struct {
		typed
		Rollout
	}
	completedMessage struct {
		typed
		Rollout
		Reward *float64 `json:"reward"`
		Tokens int64    `json:"tokens"`
		Cost   float64  `json:"cost"` // in dollars, for max_usd
	}
	estimateMessage struct {
		typed
		Tasks   bool       `json:"tasks"`   // with every task
		Rewards []rewarded `json:"rewards"` // by another scorer, of every rollout that counts
	}
	rewarded struct {
		Rollout
		Reward *float64 `json:"reward"`
	}
	resumeMessage struct {
		typed
		Snapshot *Snapshot `json:"snapshot"`
	}
)

// Replies, by their type.
type (
	// Started replies to start and resume.
	Started struct {
		Type      string    `json:"type"`
		Protocol  int       `json:"protocol"`
		Program   string    `json:"program"`
		Policy    string    `json:"policy"`
		Tasks     int       `json:"tasks"`
		Rollouts  int       `json:"rollouts"` // in all; 0 where what is found decides
		Pilots    int       `json:"pilots"`
		Stages    int       `json:"stages"`
		Donors    []string  `json:"donors"`
		Resumed   bool      `json:"resumed"`
		Completed int       `json:"completed"`
		InFlight  []Rollout `json:"in_flight"`
		Notes     []string  `json:"notes"`
	}
	// Run replies to next.
	Run struct {
		Type     string    `json:"type"`
		Rollouts []Rollout `json:"rollouts"`
		Stage    int       `json:"stage"`
		Final    bool      `json:"final"`
		Done     bool      `json:"done"`
	}
	// Noted replies to completed, failed and aborted.
	Noted struct {
		Type     string    `json:"type"`
		Released bool      `json:"released"`
		Final    bool      `json:"final"`
		Done     bool      `json:"done"`
		Surplus  []Rollout `json:"surplus,omitempty"`
	}
	// Surplus replies to surplus.
	Surplus struct {
		Type     string    `json:"type"`
		Rollouts []Rollout `json:"rollouts"`
	}
	// Estimate replies to estimate.
	Estimate struct {
		Type        string   `json:"type"`
		Complete    bool     `json:"complete"`
		Rollouts    int      `json:"rollouts"`              // whose rewards count so far
		Of          int      `json:"of"`                    // that will count; 0 where that is not decided yet
		Provisional *float64 `json:"provisional,omitempty"` // expected mean, while it is not complete
		*Numbers
	}
	// Numbers are the numbers of a complete evaluation.
	Numbers struct {
		Mean               float64               `json:"mean"`
		StandardError      float64               `json:"standard_error"` // of rollouts, on these tasks
		Interval           [2]float64            `json:"interval"`
		StandardErrorTasks float64               `json:"standard_error_tasks"` // of what these tasks are a sample of
		IntervalTasks      [2]float64            `json:"interval_tasks"`
		Uniform            evaluation.Equivalent `json:"uniform"`
		PassK              []evaluation.PassK    `json:"pass_k,omitempty"`
		Known              *evaluation.Known     `json:"known,omitempty"`
		Notes              []string              `json:"notes"`
		Rows               []evaluation.Task     `json:"tasks,omitempty"`
	}
	// SnapshotReply replies to snapshot.
	SnapshotReply struct {
		Type     string    `json:"type"`
		Snapshot *Snapshot `json:"snapshot"`
	}
	// Fault replies to a message that has one.
	Fault struct {
		Type    string `json:"type"`
		Field   string `json:"field"`
		Message string `json:"message"`
	}
)

// kind is the type of a message, which must be an object in JSON.
func kind(line []byte) (string, error) {
	if !utf8.Valid(line) {
		return "", &FieldError{"line", "it is not UTF-8"}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return "", &FieldError{"line", "it is empty"}
	}
	var m typed
	if err := json.Unmarshal(line, &m); err != nil {
		return "", fieldError(err)
	}
	return m.Type, nil
}

// decode reads a message of a known type. A field that the type does not have is refused:
// it may be a misspelt one.
func decode(line []byte, into any) error {
	var fault *jsontext.SyntacticError
	twice := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowInvalidUTF8(true)).SkipValue()
	if errors.As(twice, &fault) && fault.Err == jsontext.ErrDuplicateName {
		return &FieldError{fault.JSONPointer.LastToken(), "it stands twice in one object"}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fieldError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &FieldError{"line", "there is more than one JSON value in it"}
	}
	return nil
}

// fieldError is an error of package json as one of a field.
func fieldError(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		field := strings.TrimPrefix(strings.TrimPrefix(kind.Field, "Spec."), "Rollout.") // Go's embedded structures
		return &FieldError{field, fmt.Sprintf("it is a %s, want %s", kind.Value, kind.Type)}
	}
	if _, name, found := strings.Cut(err.Error(), "unknown field "); found {
		return &FieldError{strings.Trim(name, `"`), "there is no such field in this message"}
	}
	return &FieldError{"line", "it is no JSON object: " + strings.TrimPrefix(err.Error(), "json: ")}
}

// byRollout is the rewards of a message, each from 0 to 1 and there once.
func byRollout(all []rewarded) (map[Rollout]float64, error) {
	rewards := make(map[Rollout]float64, len(all))
	for _, r := range all {
		_, again := rewards[r.Rollout]
		if r.Reward == nil || !(*r.Reward >= 0 && *r.Reward <= 1) || again {
			return nil, &FieldError{"rewards", fmt.Sprintf("rollout %d of task %q: want one reward from 0 to 1", r.Number, r.Task)}
		}
		rewards[r.Rollout] = *r.Reward
	}
	return rewards, nil
}

// Store keeps an evaluation in a folder: its setup, and what became of every rollout. A
// record is stored before the message that brings it is replied to.
type Store struct {
	Folder  string // for this process alone: the caller holds its lock
	journal *journal.Journal[record, Rollout]
}

// record is the end of a rollout; the last one of each counts.
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
		err = same(there, setup)
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
