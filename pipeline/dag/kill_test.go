package dag

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"syscall"
	"testing"
	"time"
)

// runAndDie runs the lab in dir and kills this process, without any chance to
// tidy up, in the middle of the victim's write.
func runAndDie(dir, victim string) {
	l := &lab{dir: dir, workers: 1, t: new(testing.T)}
	l.cross()
	l.hook = func(_ context.Context, unit string, job *Job) error {
		if unit != victim {
			return nil
		}
		return job.Write(l.unit(unit).Outputs[0], -1, func(w io.Writer) error {
			w.Write(make([]byte, 1<<17))
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		})
	}
	g, err := New(l.stages)
	if err != nil {
		panic(err)
	}
	s, err := g.Scan(context.Background(), dir)
	if err != nil {
		panic(err)
	}
	p, err := s.Plan(Selection{})
	if err != nil {
		panic(err)
	}
	r := Runner{Executor: pool(1), Observer: NoObserver{}, Now: time.Now}
	panic(fmt.Sprint("still alive: ", r.Run(context.Background(), nil, p)))
}

// TestKilled kills a run at each unit in turn, and checks that a second run
// does what is left and gives the bytes of a run in one go.
func TestKilled(t *testing.T) {
	whole := crossing(t)
	order := whole.run(Selection{})
	for i, victim := range order {
		dir := t.TempDir()
		cmd := other(t, "victim", dir, "SPECEVAL_TEST_VICTIM="+victim)
		err := cmd.Run()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("killed at %s, the process ended with %v", victim, err)
		}
		l := crossing(t)
		l.dir = dir
		wantUnits(t, "after the kill at "+victim, l.run(Selection{}), order[i:]...)
		if got := l.contents(); !maps.Equal(got, whole.contents()) {
			t.Errorf("killed at %s: files %v, in one go %v", victim, got, whole.contents())
		}
	}
}
