package process_test

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/machine/process"
)

// endless is what listens to nothing.
func endless() int { select {} }

func instead() int { return 130 }

func TestWithoutListenerTheProcessEnds(t *testing.T) {
	signals := make(chan os.Signal, 2)
	defer close(signals)
	signals <- syscall.SIGTERM
	done := make(chan int, 1)
	r := process.NewRelay(signals)
	go func() { done <- r.Run(endless, instead) }()
	select {
	case code := <-done:
		if code != 130 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestListenersGetSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		defer close(signals)
		r := process.NewRelay(signals)
		code := r.Run(func() int {
			signals <- os.Interrupt
			signals <- syscall.SIGTERM
			first := <-r.Signals
			time.Sleep(50 * time.Millisecond) // it answers the first
			second := <-r.Signals
			if first != os.Interrupt || second != syscall.SIGTERM {
				t.Errorf("got %v, %v", first, second)
			}
			return 7
		}, instead)
		if code != 7 {
			t.Errorf("exit code %d", code)
		}
	})
}
