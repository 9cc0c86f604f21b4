// Package imitation is an HTTP server that behaves as vLLM 0.23.0 does, on top
// of the simulated fleet: one Replica is one server process with one engine.
// Its answers and their times follow the real server; of errors the status, type,
// param and code. A 400 refuses what it does not imitate. Faults can be injected,
// at a rate or once, and it restarts as under a supervisor.
package imitation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/fleet"
	"speceval/internal/seed"
)

// Replica is one imitated server. It is an http.Handler, for tests in a server
// of their own, and can listen itself, which is needed to refuse connections
// after a crash. Close ends it.
type Replica struct {
	Settings
	fingerprint string
	journal     *journal
	paths       []route
	end         context.Context
	stop        context.CancelFunc
	gone        sync.WaitGroup // goroutines

	mu       sync.Mutex
	process  *engine // nil while the server is down
	faults   Faults
	requests int // chats and completions so far
	ids      seed.Stream
	address  string // where it listens; "" if it does not
	server   *http.Server
	serving  sync.WaitGroup // requests in their handlers
}

var _ http.Handler = (*Replica)(nil)

// New starts a replica that answers through ServeHTTP at once.
func New(s Settings) *Replica {
	r := &Replica{Settings: s.completed(), faults: s.Faults}
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %v %q", r.Model, r.MaxModelLen, r.MaxSequences, r.Thinking, r.ReasoningParser))
	r.fingerprint = "vllm-" + Version + "-" + hex.EncodeToString(digest[:4])
	r.ids = seed.Root(r.Seed).Child("ids").Index(r.Settings.Index).Stream()
	r.journal = newJournal(r.Settings)
	r.paths = r.routes()
	r.end, r.stop = context.WithCancel(context.Background())
	r.boot()
	r.gone.Go(r.supervise)
	return r
}

// boot starts a new process.
func (r *Replica) boot() {
	e := newEngine(r.Settings)
	r.mu.Lock()
	r.process = e
	r.mu.Unlock()
	r.gone.Go(e.run)
}

// Listen serves at a TCP address like "127.0.0.1:8000"; port 0 is any free one.
func (r *Replica) Listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.address = listener.Addr().String()
	r.mu.Unlock()
	r.serve(listener)
	return nil
}

// URL is where the replica listens, "http://127.0.0.1:8000"; "" if it does not.
func (r *Replica) URL() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.address == "" {
		return ""
	}
	return "http://" + r.address
}

func (r *Replica) serve(listener net.Listener) {
	server := &http.Server{Handler: r, IdleTimeout: r.KeepAlive, MaxHeaderBytes: 4 << 20}
	if r.KeepAlive < 0 {
		server.IdleTimeout = 0
	}
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	r.gone.Go(func() {
		_ = server.Serve(listener) // ends with an error when the server is closed
	})
}

// Close ends the replica: running requests get the error of a dying engine, all
// connections are closed, and all goroutines have ended when it returns.
func (r *Replica) Close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	if e := r.current(); e != nil {
		e.kill()
	}
	r.hangUp()
	r.serving.Wait()
	r.gone.Wait()
}

// Crash lets the engine die now.
func (r *Replica) Crash() {
	if e := r.current(); e != nil {
		e.kill()
	}
}

// Hang lets the engine stop computing until Resume, or until it is restarted.
func (r *Replica) Hang() {
	if e := r.current(); e != nil {
		e.hold()
	}
}

// Resume ends a hang.
func (r *Replica) Resume() {
	if e := r.current(); e != nil {
		e.release()
	}
}

// SetFaults replaces the probabilities of faults for the requests to come.
func (r *Replica) SetFaults(f Faults) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = f
}

// current is the running process, or nil.
func (r *Replica) current() *engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// lastWords is how long a dying server has to tell its clients.
const lastWords = time.Second

// supervise restarts the process when it has died, or has hung for long.
func (r *Replica) supervise() {
	for e := r.current(); ; e = r.current() {
		select {
		case hang := <-e.stuck:
			if r.Restart <= 0 || r.Clock.Sleep(hang, r.Restart) != nil {
				continue // it went on, or died by itself
			}
			r.hangUp() // as if killed: no last words
			e.kill()
		case <-e.died:
			r.farewell()
		}
		<-e.died
		r.mu.Lock()
		r.process = nil
		r.mu.Unlock()
		r.hangUp()
		if r.Restart <= 0 || r.Clock.Sleep(r.end, r.Restart) != nil || !r.reopen() {
			return
		}
	}
}

// farewell stops listening and waits until the handlers have sent their
// clients of the death, but not long for those that do not read.
func (r *Replica) farewell() {
	r.mu.Lock()
	server := r.server
	r.mu.Unlock()
	if server != nil {
		limit, cancel := context.WithTimeout(r.end, lastWords)
		defer cancel()
		_ = server.Shutdown(limit) // what is left is closed after it
	}
}

// hangUp stops listening and closes all connections.
func (r *Replica) hangUp() {
	r.mu.Lock()
	server := r.server
	r.server = nil
	r.mu.Unlock()
	if server != nil {
		_ = server.Close() // an error says only that something was closed before
	}
}

// reopen starts a new process and listens again where the old one did; it
// tries until the address is free, and is false when the replica is closed
// before that.
func (r *Replica) reopen() bool {
	r.mu.Lock()
	address := r.address
	r.mu.Unlock()
	if address == "" {
		r.boot()
		return true
	}
	for {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			r.boot()
			r.serve(listener)
			return true
		}
		if r.Clock.Sleep(r.end, 100*time.Millisecond) != nil {
			return false
		}
	}
}

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
