// Package imitation is an HTTP server that behaves as vLLM 0.23.0 does, on top
// of the simulated fleet: one Replica is one server process with one engine.
// Its answers and their times follow the real server; of errors the status, type,
// param and code. It reads the fields that this program sends and ignores others.
// Faults can be injected, at a rate or once, and it restarts as under a supervisor.
package imitation

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/policy/seed"
)

// wall is the time at which servers and their clients meet.
var wall clock.Wall

// Replica is one imitated server. It is an http.Handler, for tests in a server
// of their own, and can listen itself, which is needed to refuse connections
// after a crash. Close ends it.
type Replica struct {
	Settings
	born    time.Time
	logging sync.Mutex
	end     context.Context
	stop    context.CancelFunc
	gone    sync.WaitGroup // goroutines
	serving sync.WaitGroup // requests in their handlers

	mu       sync.Mutex
	process  *engine // nil while the server is down
	faults   Faults
	requests int    // chats and completions so far
	address  string // where it listens; "" if it does not
	server   *http.Server
}

// New starts a replica that answers through ServeHTTP at once.
func New(s Settings) *Replica {
	r := &Replica{Settings: s.completed(), faults: s.Faults, born: wall.Now()}
	r.end, r.stop = context.WithCancel(context.Background())
	r.process = newEngine(r.end, r.Settings)
	r.gone.Go(r.supervise)
	return r
}

// Listen serves at a TCP address like "127.0.0.1:8000"; port 0 is any free one.
func (r *Replica) Listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r, IdleTimeout: 5 * time.Second, MaxHeaderBytes: 4 << 20}
	r.mu.Lock()
	r.address, r.server = listener.Addr().String(), server
	r.mu.Unlock()
	r.gone.Go(func() {
		_ = server.Serve(listener) // ends with an error when the server is closed
	})
	return nil
}

// URL is where the replica listens, "http://127.0.0.1:8000".
func (r *Replica) URL() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return "http://" + r.address
}

// Close ends the replica: running requests get the error of a dying engine, all
// connections are closed, and all goroutines have ended when it returns.
func (r *Replica) Close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.shut(0)
	r.serving.Wait()
	r.gone.Wait()
}

// Crash lets the engine die now.
func (r *Replica) Crash() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		r.process.kill()
	}
}

// SetFaults replaces the probabilities of faults for the requests to come.
func (r *Replica) SetFaults(f Faults) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = f
}

// supervise runs a process, and another one after it has died.
func (r *Replica) supervise() {
	for {
		r.process.run()
		r.shut(time.Second)
		r.mu.Lock()
		r.process = nil
		address := r.address
		r.mu.Unlock()
		if r.Restart <= 0 || wall.Sleep(r.end, r.Restart) != nil {
			return
		}
		for address != "" && r.Listen(address) != nil {
			if wall.Sleep(r.end, 100*time.Millisecond) != nil { // until the address is free
				return
			}
		}
		r.mu.Lock()
		r.process = newEngine(r.end, r.Settings)
		r.mu.Unlock()
	}
}

// shut stops listening, waits for handlers that are about to send errors to their
// clients, and closes all connections.
func (r *Replica) shut(wait time.Duration) {
	r.mu.Lock()
	server := r.server
	r.server = nil
	r.mu.Unlock()
	if server == nil {
		return
	}
	limit, cancel := context.WithTimeout(r.end, wait)
	defer cancel()
	_ = server.Shutdown(limit) // Close ends the rest
	_ = server.Close()
}

// enter is the process for a new request, nil if there is none.
func (r *Replica) enter() *engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || r.end.Err() != nil {
		return nil
	}
	r.serving.Add(1)
	return r.process
}

// arrival numbers a request and draws its fault.
func (r *Replica) arrival() (number int, fault mishap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number = r.requests
	r.requests++
	if r.faults != (Faults{}) {
		fault = r.faults.draw(seed.Root(r.Seed).Child("faults").Index(r.Index).Index(number).Stream())
	}
	return number, fault
}

// note writes an entry into the log, when its request has ended.
func (r *Replica) note(e Entry) {
	r.logging.Lock()
	defer r.logging.Unlock()
	if r.Log != nil {
		_ = json.NewEncoder(r.Log).Encode(e) // a log that cannot be written stops no server
	}
}
