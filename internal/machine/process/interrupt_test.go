package process_test

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/machine/clock"
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
	r := process.NewRelay(signals, clock.Wall{})
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
		r := process.NewRelay(signals, clock.Wall{})
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

func TestListenersThatTakeLong(t *testing.T) {
	for _, test := range []struct {
		takes time.Duration
		want  int
	}{{9 * time.Second, 0}, {11 * time.Second, 130}} {
		synctest.Test(t, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			defer close(signals)
			r := process.NewRelay(signals, clock.Wall{})
			code := r.Run(func() int {
				signals <- os.Interrupt
				<-r.Signals
				done := make(chan struct{})
				defer close(done)
				go r.Within(10*time.Second, done)
				time.Sleep(test.takes)
				return 0
			}, instead)
			if code != test.want {
				t.Errorf("after %v: exit code %d, want %d", test.takes, code, test.want)
			}
			time.Sleep(time.Minute)
		})
	}
}
