package slurm

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"speceval/pipeline/dag"
)

func TestARerunFindsItsJobs(t *testing.T) {
	l := newLab(t)
	holding := true
	l.play = func(r *acting) State {
		if holding {
			return Running
		}
		return completes(r)
	}
	l.atQueue(func(j *job) {
		if j.elements[0].looks == 5 {
			close(l.drain)
		}
	})
	for unit, err := range l.execute(t.Context(), l.tasks(8)) {
		if !errors.Is(err, dag.ErrDrained) {
			t.Errorf("after an interrupt %s ended with %v", unit, err)
		}
	}
	if len(l.cancels) > 0 || len(l.jobs) != 1 {
		t.Fatalf("one interrupt: cancelled %v, %d jobs", l.cancels, len(l.jobs))
	}
	says(t, l.place(), "[100], 8 units")

	l.answers, l.settings.Drain = nil, nil
	again := l.attached(t.Context()) // finds them at work
	holding = false
	l.wantDone(l.through(t.Context(), nil, again, l.tasks(8)), 8)
	same(t, "jobs", len(l.jobs), 1)
	same(t, "afterwards", l.place(), nil)
}

// TestAUnitOfAnEarlierJob has a unit become ready that a job of an earlier run had. The job,
// if it still counts, then fails.
func TestAUnitOfAnEarlierJob(t *testing.T) {
	for _, test := range []struct {
		name, key      string
		attempt        int
		ended          bool
		waits, results int // to be submitted; that have failed for good
	}{
		{"of another key", "old key", 1, false, 1, 0}, {"that has ended", "key-of-u0", 1, true, 1, 0},
		{"at the last attempt", "key-of-u0", 3, false, 0, 1}, {"at the first", "key-of-u0", 1, false, 1, 0},
	} {
		l := newLab(t)
		c, results := l.attached(t.Context()), make(chan dag.Result, 1)
		a := newArray(&Batch{Job: "7", Name: "b", Stage: "s", Attempt: test.attempt, Elements: [][]Member{{{"u0", test.key}}}}, t.TempDir())
		c.results = results
		c.arrays = []*array{a}
		e := a.open[0]
		if test.ended {
			c.poll(t.Context()) // Slurm knows no job 7
		}
		c.book(l.unit("u0", 1))
		for _, p := range e.pieces {
			c.again(e, p, verdict{why: "failed"}, nil)
		}
		if len(c.waiting) != test.waits || len(results) != test.results {
			t.Errorf("%s: %d wait, %d have failed", test.name, len(c.waiting), len(results))
		}
	}
}

func TestASecondInterruptCancels(t *testing.T) {
	l := newLab(t)
	l.play = func(*acting) State { return Running }
	ctx, cancel := context.WithCancel(t.Context())
	l.settings.Drain, l.settings.Grace = l.drain, time.Hour
	l.atQueue(func(j *job) {
		if j.elements[0].looks == 4 {
			close(l.drain)
			cancel()
		}
	})
	for unit, err := range l.execute(ctx, l.tasks(8)) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v", unit, err)
		}
	}
	same(t, "cancelled", l.cancels, []string{"100"})
}

// TestALostAnswer has sbatch submit a job and not live to tell, and squeue not answer the first
// question for it.
func TestALostAnswer(t *testing.T) {
	for _, died := range []bool{false, true} {
		l := newLab(t)
		away := true
		l.answers = func(program string, words []string) (string, error, bool) {
			if program == "sbatch" && len(l.jobs) == 0 && !slices.Contains(words, "--test-only") {
				l.sbatch(words)
				return "", errors.New("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"), true
			}
			if away && option(words, "--name") != "" {
				away = false
				return "", errors.New("Unable to contact slurm controller"), true
			}
			return "", nil, false
		}
		if died { // the coordinator, before it could look for the job
			ctx, cancel := context.WithCancel(t.Context())
			l.settings.Report = func(string) { cancel() }
			l.execute(ctx, l.tasks(3))
			l.answers = nil
			l.jobs[0].elements[0].state = Pending // nobody has cancelled it: its name was not known
		}
		l.wantDone(l.execute(t.Context(), l.tasks(3)), 3)
		same(t, "jobs", len(l.jobs), 1)
	}
}

// TestAClusterThatDoesNotAnswerIsNoAnswer has the cluster not say whether a batch has a job:
// its units may be at work, and no run begins.
func TestAClusterThatDoesNotAnswerIsNoAnswer(t *testing.T) {
	l := newLab(t)
	for i, name := range []string{"first", "second"} {
		b := &Batch{Format: batchFormat, Name: name, Stage: "s", Submitted: l.settings.Now().Add(time.Duration(i) * time.Second), Elements: [][]Member{{{Unit: name}}}}
		says(t, b.write(l.settings.Folder), "")
	}
	l.answers = func(program string, words []string) (string, error, bool) {
		if program == "squeue" && option(words, "--name") == "first" {
			return "", errors.New("Unable to contact slurm controller"), true
		}
		return "", nil, false
	}
	_, err := Attach(t.Context(), l.settings, "s")
	says(t, err, "look for job first")
}
