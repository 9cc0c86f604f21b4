package slurm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

func TestUnitsRunAsArrays(t *testing.T) {
	l := newLab(t)
	l.settings.Throttle = 3
	l.settings.Resources["s"] = Resources{Workers: 1, Resources: config.Resources{
		Partition: "lab", Account: "us", QOS: "high", CPUs: 4, MemoryMiB: 1000, Minutes: 10, GPUs: 8, Exclusive: true,
		Arguments: []string{"--constraint=h20"},
	}}
	l.wantDone(l.execute(t.Context(), l.tasks(30)), 30) // 300 s: five elements of a minute, the site allows four
	if len(l.jobs) != 2 {
		t.Fatalf("%d arrays, want 2", len(l.jobs))
	}
	words := l.jobs[0].words
	for _, want := range []string{
		"--parsable", "--requeue", "--open-mode=append", "--array=0-3%3", "--cpus-per-task=4", "--mem=1000", "--time=10", "--gpus-per-node=8",
		"--exclusive", "--partition=lab", "--account=us", "--qos=high", "--constraint=h20", "--output=" + filepath.Join(l.jobs[0].dir, "element-%a.log"),
	} {
		has(t, words, want)
	}
	text, err := os.ReadFile(words[len(words)-1])
	says(t, err, "")
	same(t, "the end of the script", strings.HasSuffix(string(text), `exec /bin/speceval --out 'o'\''k' unit --element `+l.jobs[0].dir+"\n"), true)
	same(t, "a bound where it has the node for itself", strings.Contains(string(text), "GOMAXPROCS"), false)
	for _, j := range l.jobs {
		if b, err := ReadBatch(j.dir); err != nil || !b.Ended || b.Job != j.id {
			t.Errorf("afterwards the batch is %+v, %v", b, err)
		}
	}
}

// TestHowElementsEnd has the only unit of an element end in some way in its
// first attempts, and tells how it is tried again.
func TestHowElementsEnd(t *testing.T) {
	begins := func(state State) func(*acting) State {
		return func(r *acting) State { r.begin(r.members[0]); return state }
	}
	fails := func(final bool) func(*acting) State {
		return func(r *acting) State { r.fail(r.members[0], final); return Failed }
	}
	silent := func(state State) func(*acting) State { return func(*acting) State { return state } }
	const first, often = 1, 100
	for _, test := range []struct {
		name     string
		times    int // that it ends so, and then well
		play     func(*acting) State
		attempts int
		words    string // of the last sbatch
		err      string // "": it succeeds
	}{
		{"fails once", first, fails(false), 2, "--mem=1000", ""},
		{"fails always", often, fails(false), 3, "--time=10", "failed 3 times, the last time: it is broken (job 102_0 on n1; its log is "},
		{"fails for good", often, fails(true), 1, "", "it is broken (job 100_0 on n1"},
		{"crashes", often, begins(Failed), 3, "", "job 102_0 on n1 failed"},
		{"ends too soon", often, silent(Completed), 3, "", "ended without it"},
		{"dies before it has begun", often, silent(Failed), 3, "", "failed"},
		{"memory", 2, begins(OutOfMemory), 3, "--mem=4000", ""},
		{"memory always", often, begins(OutOfMemory), 3, "--mem=4000", "ran out of memory"},
		{"time", 2, begins(Timeout), 3, "--time=40", ""},
		{"node", 5, begins(NodeFail), 6, "--mem=1000", ""},
		{"node always", often, begins(NodeFail), 11, "", "lost its node"},
		{"preempted", 3, begins(Preempted), 4, "--time=10", ""},
		{"cancelled", often, begins(Cancelled), 1, "", "was cancelled"},
		{"gone", 2, begins(Forgotten), 3, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.play = func(r *acting) State {
				if len(l.jobs) <= test.times {
					return test.play(r)
				}
				return completes(r)
			}
			err := l.execute(t.Context(), l.tasks(1))["u0"]
			says(t, err, test.err)
			same(t, "attempts", len(l.jobs), test.attempts)
			has(t, l.jobs[len(l.jobs)-1].words, test.words)
		})
	}
}

func TestTimeEndsAtThePartitionsLimit(t *testing.T) {
	l := newLab(t)
	l.settings.Retries = 10
	l.play = func(r *acting) State { r.begin(r.members[0]); return Timeout }
	err := l.execute(t.Context(), l.tasks(1))["u0"]
	if !strings.Contains(fmt.Sprint(err), "no longer time limit") || len(l.jobs) != 4 { // 10, 20, 40 and 60 minutes
		t.Errorf("%d attempts, %v", len(l.jobs), err)
	}
}

// TestOneBadUnitOfMany has one unit of an element fail, and another element die
// in the middle: the others are done, and only they are tried again that must.
func TestOneBadUnitOfMany(t *testing.T) {
	l := newLab(t)
	l.play = func(r *acting) State {
		for i, m := range r.members {
			switch {
			case m.Unit == "u1":
				r.fail(m, false)
			case len(l.jobs) == 1 && r.index == 1 && i == 2:
				r.begin(m)
				return OutOfMemory
			default:
				r.do(m)
			}
		}
		return Failed
	}
	got := l.execute(t.Context(), l.tasks(12))
	for unit, err := range got {
		same(t, unit+" has failed", err != nil, unit == "u1")
	}
	tried := make(map[string]int)
	for _, j := range l.jobs {
		for _, element := range j.batch.Elements {
			for _, m := range element {
				tried[m.Unit]++
				if j != l.jobs[0] && j.batch.Attempt > 1 && len(element) > 1 {
					t.Errorf("suspects are tried again together: %v", element)
				}
			}
		}
	}
	again := 0
	for _, n := range tried {
		again += n - 1
	}
	if tried["u1"] != 3 || again != 2+4 { // of the six units of the second element
		t.Errorf("the broken unit was tried %d times, want 3, and units %d times more, want 6", tried["u1"], again)
	}
}

// TestAUnitIsDoneBeforeItsElement has an element go on with its second unit until
// the first is booked.
func TestAUnitIsDoneBeforeItsElement(t *testing.T) {
	l := newLab(t)
	booked := false
	l.heard = func(string) {
		l.pretend.mu.Lock()
		defer l.pretend.mu.Unlock()
		booked = true
	}
	l.play = func(r *acting) State {
		if !booked {
			r.do(r.members[0])
			return Running
		}
		return completes(r)
	}
	l.wantDone(l.execute(t.Context(), l.tasks(2)), 2)
}

// TestFilesComeLate has a manifest be seen only some time after its job ended.
func TestFilesComeLate(t *testing.T) {
	l := newLab(t)
	l.settings.SettleSeconds = 3600
	task := l.unit("u0", 1)
	looks := 0
	task.Done = func() (bool, error) { looks++; return looks > 20, nil }
	l.wantDone(l.through(t.Context(), nil, l.attached(t.Context()), []dag.Task{task}), 1)
	same(t, "jobs", len(l.jobs), 1)
}

func TestSomeStagesRunHere(t *testing.T) {
	l := newLab(t)
	ran := 0
	here := dag.Task{Ref: dag.Ref{Stage: "report", Unit: "tables"}, Run: func(context.Context) error { ran++; return nil }}
	x := Routed{Here: Local{1}, Elsewhere: l.attached(t.Context()), IsHere: func(stage string) bool { return stage == "report" }}
	got := l.through(t.Context(), nil, x, append(l.tasks(5), here))
	l.wantDone(got, 6)
	if ran != 1 || len(l.jobs) != 1 {
		t.Errorf("%d units ran here, %d jobs", ran, len(l.jobs))
	}
}

func TestHowUnitsStand(t *testing.T) {
	l := newLab(t)
	l.play = func(r *acting) State {
		if r.index > 0 {
			return Running
		}
		r.do(r.members[0])
		r.fail(r.members[1], true)
		r.begin(r.members[2])
		return Running
	}
	l.atQueue(func(j *job) {
		if j.elements[0].looks == 3 {
			close(l.drain)
		}
	})
	l.execute(t.Context(), l.tasks(8)) // four in each of two elements
	l.answers, l.play = nil, func(*acting) State { return Running }
	stand := func(run Command) (all []runlog.Event, states map[string]int) {
		all, err := Standings(t.Context(), run, l.settings.Folder)
		says(t, err, "")
		states = make(map[string]int)
		for _, s := range all {
			states[s.What]++
		}
		return all, states
	}
	for _, run := range []Command{l.command, answers{}.command} { // the other does not answer
		all, states := stand(run)
		same(t, "states", states, map[string]int{runlog.Queued: 5, runlog.Started: 1, runlog.Failed: 1})
		failed := all[slices.IndexFunc(all, func(s runlog.Event) bool { return s.What == runlog.Failed })]
		same(t, "a failure", []string{failed.Error, failed.Job, failed.Log}, []string{"it is broken", "100_0", LogPath(l.jobs[0].dir, 0)})
	}
	l.jobs[0].elements[0].state, l.jobs[0].elements[0].looks = Pending, 0
	_, states := stand(l.command)
	same(t, "units that run in an element that waits to run again", states[runlog.Started], 0)
	l.jobs[0].elements[0].state = NodeFail
	all, _ := stand(l.command)
	if len(all) != 6 || all[1].Error != "lost its node" {
		t.Errorf("after the node has died: %+v", all)
	}
}

func TestUnitsToDoAgainAreApart(t *testing.T) {
	l := newLab(t)
	tasks := l.tasks(4)
	tasks[1].Redo = true
	l.wantDone(l.execute(t.Context(), tasks), 4)
	for _, j := range l.jobs {
		for _, m := range slices.Concat(j.batch.Elements...) {
			same(t, m.Unit+" is in a batch that does fresh units again", j.batch.Redo, m.Unit == "u1")
		}
	}
}
