// A Relay gives the signals that ask a process to end to what listens for
// them. Where nothing listens, while a file is parsed for example, it reports that the
// process is to end at once.

package process

import (
	"context"
	"os"
	"sync"
	"time"
)

// patience is how long a signal waits for a listener: what is between two signals
// listens again.
const patience = 100 * time.Millisecond

// Relay passes signals on.
type Relay struct {
	Signals <-chan os.Signal // signals that were passed on

	once  sync.Once
	ended chan struct{}
}

// NewRelay is a Relay of signals, until they are closed.
func NewRelay(signals <-chan os.Signal) *Relay {
	passed := make(chan os.Signal)
	r := &Relay{Signals: passed, ended: make(chan struct{})}
	go func() {
		for s := range signals {
			waiting, stop := context.WithTimeout(context.Background(), patience)
			select {
			case passed <- s:
			case <-waiting.Done(): // no listener
				r.once.Do(func() { close(r.ended) })
			}
			stop()
		}
	}()
	return r
}

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
