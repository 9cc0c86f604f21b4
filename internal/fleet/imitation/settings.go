package imitation

import (
	"cmp"
	"io"
	"time"

	"speceval/internal/fleet"
)

// Version is the imitated version, and that it is no real one.
const Version = "0.23.0+simulated"

// Settings are one replica. The zero value of a field is a default; only Model
// has to be set.
type Settings struct {
	Model           string // name that it serves
	MaxModelLen     int    // tokens of prompt and answer; 0: 32768
	MaxSequences    int    // that run at a time, the others wait; 0: 256
	Thinking        bool   // the chat template opens the thinking unless enable_thinking is false
	ReasoningParser string // "qwen3", or "" for none: the thinking is part of the content
	Key             string // bearer token that paths below /v1 need; "": none

	Timing fleet.Timing  // 0: fleet.Small
	Speed  float64       // of time: 1 as the model, 100 a hundred times faster; 0: nothing ever waits
	Author *fleet.Author // writes the answers; nil: noise

	StreamInterval int // tokens of a chunk at least, as --stream-interval; 0: 1

	Faults Faults
	// Unrepeatable ignores the seeds of requests: each draws anew, as on a server
	// whose answers depend on the rest of its load.
	Unrepeatable bool
	// Plain is a server that is none of vLLM: it has its models and chats, and of
	// a chat it ignores the fields that only vLLM knows.
	Plain bool

	Restart time.Duration // from a crash, or a hang, to a new start; 0: never
	Seed    uint64        // of drawn faults and of answers to requests without a seed
	Index   int           // number of this replica, for the log and its seeds

	// Log gets an Entry as a line of JSON for every chat or completion when it ends; nil
	// for none. Replicas may share a Writer that is safe for concurrent use.
	Log io.Writer
}

// completed fills in the defaults.
func (s Settings) completed() Settings {
	s.MaxModelLen = cmp.Or(s.MaxModelLen, 32768)
	s.MaxSequences = cmp.Or(s.MaxSequences, 256)
	s.Timing = cmp.Or(s.Timing, fleet.Small)
	s.StreamInterval = cmp.Or(s.StreamInterval, 1)
	if s.Author == nil {
		s.Author = fleet.MustAuthor(fleet.AuthorSettings{Model: s.Model}) // no task, no fault
	}
	return s
}

// Entry is a line of the log: one request for a chat or a completion.
type Entry struct {
	Seconds float64 `json:"seconds"` // from the replica's start to the arrival
	Replica int     `json:"replica"`
	Seed    *int64  `json:"seed"`    // null if there was none
	ID      string  `json:"id"`      // X-Request-Id; "" if there was none
	Fault   string  `json:"fault"`   // drawn for it, see ParseFaults; "" for none
	Tokens  int     `json:"tokens"`  // generated
	Outcome string  `json:"outcome"` // "stop", "length"; "aborted" by the client; "cut", "garbage", "500", "dead" engine; "refused"
}
