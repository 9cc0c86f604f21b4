package vllm

import "errors"

// OnLoss is the rule for an answer that is lost while it comes in: its replica dies, its
// connection is cut, the process that asked is killed.
type OnLoss string

// The rules, as configurations write them; "" is Continue. Under each, an answer is asked
// for again if a server has reported nothing of it, though it would have.
const (
	Continue OnLoss = "continue" // goes on from what has been seen, and asks again where no server can
	AskAgain OnLoss = "again"    // never goes on: for servers that repeat an answer by its seed
	Refuse   OnLoss = "refuse"   // goes on, and fails where no server can
)

// ErrLost: an answer was lost while it came in, no server continues it, and the rule is Refuse.
var ErrLost = errors.New("an answer was lost under way after its first token, or perhaps after it, and cannot be continued")

// ErrStopped: waiting has been ended, and the request had no server.
var ErrStopped = errors.New("waiting for a server was given up")
