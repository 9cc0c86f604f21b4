// A Relay gives the signals that ask a process to end to what listens for
// them. Where nothing listens, while a file is parsed for example, it reports that the
// process is to end at once.

package process

import (
	"context"
	"os"
	"sync"
	"time"

	"speceval/internal/machine/clock"
)

// patience is how long a signal waits for a listener: what is between two signals
// listens again.
const patience = 100 * time.Millisecond

// Relay passes signals on.
type Relay struct {
	Signals <-chan os.Signal // signals that were passed on

	clock clock.Clock
	once  sync.Once
	ended chan struct{}
}

// NewRelay is a Relay of signals, until they are closed.
func NewRelay(signals <-chan os.Signal, c clock.Clock) *Relay {
	passed := make(chan os.Signal)
	r := &Relay{Signals: passed, clock: c, ended: make(chan struct{})}
	go func() {
		for s := range signals {
			waiting, stop := r.after(patience)
			select {
			case passed <- s:
			case <-waiting: // no listener
				r.end()
			}
			stop()
		}
	}()
	return r
}

// Within ends the process unless done is closed within d.
func (r *Relay) Within(d time.Duration, done <-chan struct{}) {
	waiting, stop := r.after(d)
	defer stop()
	select {
	case <-done:
	case <-waiting:
		r.end()
	}
}

// after is closed after d, or when stopped.
func (r *Relay) after(d time.Duration) (over <-chan struct{}, stop context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		_ = r.clock.Sleep(ctx, d)
	}()
	return waiting, stop
}

func (r *Relay) end() { r.once.Do(func() { close(r.ended) }) }

// Run is the outcome of what the process does, or of what is done where it is to end
// at once, while the former goes on until the process ends.
func (r *Relay) Run(do, instead func() int) int {
	outcome := make(chan int, 1)
	go func() { outcome <- do() }()
	select {
	case code := <-outcome:
		return code
	case <-r.ended:
		return instead()
	}
}
