package vllm

import (
	"errors"
	"fmt"
	"strings"
)

// OnLoss is what to do about an answer that is lost while it comes in: its replica
// dies, its connection is cut, the process that asked is killed.
type OnLoss int

// The rules. An answer of which a server has told nothing, though it would have, is
// asked for again under each.
const (
	Continue OnLoss = iota // goes on from what has been seen, and asks again where no server can
	AskAgain               // never goes on: for servers that repeat an answer by its seed
	Refuse                 // goes on, and fails where no server can
)

// ErrLost: an answer was lost while it came in, no server continues it, and the rule is Refuse.
var ErrLost = errors.New("an answer was lost under way, of which something was seen or may have been, and cannot be continued")

// ErrStopped: waiting has been ended, and the request had no server.
var ErrStopped = errors.New("waiting for a server was given up")

// onLoss are the names of the rules.
var onLoss = [...]string{Continue: "continue", AskAgain: "again", Refuse: "refuse"}

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
