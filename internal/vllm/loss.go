package vllm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// OnLoss is what to do about an answer that is lost while it comes in: its replica
// dies, its connection is cut, the process that asked is killed.
type OnLoss int

// The rules. An answer of which a server has told nothing, though it would have, is
// asked for again under each.
const (
	// Continue goes on from what has been seen, and asks again where no server can.
	Continue OnLoss = iota
	// AskAgain never goes on: for servers that repeat an answer by its seed.
	AskAgain
	// Refuse goes on, and fails where no server can.
	Refuse
)

// ErrLost: an answer was lost while it came in, no server goes on with it, and the rule
// is Refuse.
var ErrLost = errors.New("an answer was lost under way, of which something was seen or may have been, and cannot be continued")

// onLoss are the names of the rules.
var onLoss = [...]string{Continue: "continue", AskAgain: "again", Refuse: "refuse"}

// OnLossNames are the names of the rules, the default first.
func OnLossNames() []string { return onLoss[:] }

func (o OnLoss) String() string { return onLoss[o] }

// ParseOnLoss is the rule of a name.
func ParseOnLoss(name string) (OnLoss, error) {
	for o, n := range onLoss {
		if n == name {
			return OnLoss(o), nil
		}
	}
	return 0, fmt.Errorf("%q: want one of %s", name, strings.Join(onLoss[:], ", "))
}

// Worked tells whether the server may have worked on the answer before it failed, so
// that the failure may tell something of the answer: that it was long, say.
func (e *Error) Worked() bool {
	switch {
	case e.Unsent, e.Kind.Permanent(), e.Limited():
		return false
	}
	return e.Kind != ServerFault || e.Status != http.StatusServiceUnavailable
}
