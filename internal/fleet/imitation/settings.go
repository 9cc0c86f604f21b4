package imitation

import (
	"io"
	"time"

	"speceval/internal/clock"
	"speceval/internal/fleet"
)

// Version is what /version says: the imitated version, and that it is none.
const Version = "0.23.0+simulated"

// Settings are one replica. The zero value of a field is a default; only Model
// has to be set.
type Settings struct {
	Model           string // name that it serves
	Root            string // what /v1/models calls its origin; "": Model
	MaxModelLen     int    // tokens of prompt and answer; 0: 32768
	MaxSequences    int    // that run at a time, the others wait; 0: 256
	Thinking        bool   // the chat template opens the thinking unless enable_thinking is false
	ReasoningParser string // "qwen3", or "" for none: the thinking is part of the content
	PrefixCaching   bool   // as /metrics tells it; nothing gets faster
	Key             string // bearer token that paths below /v1 need; "": none
	Development     bool   // serve the routes of VLLM_SERVER_DEV_MODE=1 that reset caches

	Timing fleet.Timing  // 0: fleet.Small
	Speed  float64       // of time: 1 as the model, 100 a hundred times faster; 0: nothing ever waits
	Author *fleet.Author // writes the answers; nil: noise

	StreamInterval int           // tokens of a chunk at least, as --stream-interval; 0: 1
	KeepAlive      time.Duration // idle connections are closed after it; 0: 5 s, below: never

	Faults Faults
	Slow   float64 // factor of step times for the fault "slow"; 0: 10
	// Unrepeatable ignores the seeds of requests: each draws anew, as on a server
	// whose answers depend on what else it works on.
	Unrepeatable bool
	// Plain is a server that is none of vLLM: it has its models and chats, and of
	// a chat it ignores what only vLLM knows. Its version says that it is simulated.
	Plain bool

	Restart time.Duration // from a crash, or a hang, to a new start; 0: never
	Seed    uint64        // of drawn faults and of answers to requests without a seed
	Index   int           // number of this replica, for the log and its seeds

	// Log gets one JSON object a line for every request of a chat or completion,
	// in order of arrival; see Entry. Replicas may share a Writer that is safe for
	// concurrent use; nil for none.
	Log   io.Writer
	Clock clock.Clock // nil: clock.Wall
}

// completed fills in the defaults.
func (s Settings) completed() Settings {
	if s.Root == "" {
		s.Root = s.Model
	}
	if s.MaxModelLen == 0 {
		s.MaxModelLen = 32768
	}
	if s.MaxSequences == 0 {
		s.MaxSequences = 256
	}
	if s.Timing == (fleet.Timing{}) {
		s.Timing = fleet.Small
	}
	if s.Author == nil {
		s.Author, _ = fleet.NewAuthor(fleet.AuthorSettings{Model: s.Model}) // no task, no fault
	}
	if s.StreamInterval == 0 {
		s.StreamInterval = 1
	}
	if s.KeepAlive == 0 {
		s.KeepAlive = 5 * time.Second
	}
	if s.Slow == 0 {
		s.Slow = 10
	}
	if s.Clock == nil {
		s.Clock = clock.Wall{}
	}
	return s
}
