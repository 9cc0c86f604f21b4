package imitation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

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

// farewell stops listening and waits until the handlers have told their
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
		_ = server.Close() // what it may say is that something was closed before
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
