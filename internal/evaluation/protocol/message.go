// Package protocol is how other programs use the policies: messages, one JSON object a
// line, about an evaluation whose rollouts the other program runs. docs/protocol.md has
// every message with an example.
//
// A session is the evaluation: which rollouts are given, in flight and completed, and
// what they come to. A Server reads messages, lets a session answer, and records every
// change before it replies, so that a server that is killed goes on where it was.
package protocol

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/evaluation"
)

// Version of the protocol.
const Version = 1

// FieldError is a fault of a message. Nothing has changed by it.
type FieldError struct{ Field, Message string }

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// Faultf is a fault of a field.
func Faultf(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// Rollout names a rollout of an evaluation.
type Rollout struct {
	Task   string `json:"task"`
	Number int    `json:"rollout"` // within the task, from 1
}

// typed is a message as far as its type.
type typed struct {
	Type string `json:"type"`
}

// Messages that a program sends, but for those of a type alone.
type (
	startMessage struct {
		typed
		Protocol int       `json:"protocol"`
		Extend   *Snapshot `json:"extend"` // of a complete evaluation of the same tasks
		evaluation.Spec
	}
	nextMessage struct {
		typed
		Most int `json:"most"`
	}
	rolloutMessage struct {
		typed
		Rollout
	}
	completedMessage struct {
		typed
		rewarded
		Tokens int64   `json:"tokens"`
		Cost   float64 `json:"cost"` // in dollars, for max_usd
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
	// Noted replies to completed and failed.
	Noted struct {
		Type     string    `json:"type"`
		Released bool      `json:"released"`
		Final    bool      `json:"final"`
		Done     bool      `json:"done"`
		Surplus  []Rollout `json:"surplus,omitempty"` // in flight, and will not count: with the last decision
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

// decode reads a message, which must be one JSON object. A field that it does not have is
// refused with known: it may be a misspelt one. One that stands twice always is.
func decode(line []byte, into any, known bool) error {
	err := json.Unmarshal(line, into, json.RejectUnknownMembers(known))
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) && errors.Is(syntax.Err, jsontext.ErrDuplicateName):
		return Faultf(syntax.JSONPointer.LastToken(), "it stands twice in one object")
	case errors.As(err, &semantic) && semantic.JSONPointer == "":
		return Faultf("line", "it is no JSON object, but %s", semantic.JSONKind)
	case errors.As(err, &semantic):
		field, _, _ := strings.Cut(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/")
		if errors.Is(semantic.Err, json.ErrUnknownName) {
			return Faultf(semantic.JSONPointer.LastToken(), "there is no such field in this message")
		}
		return Faultf(field, "%s is %s, want %v", semantic.JSONPointer, semantic.JSONKind, semantic.GoType)
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsontext: "), "json: ")
	return Faultf("line", "it is no JSON object: %s", text)
}
