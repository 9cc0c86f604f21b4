package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/machine/clock"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// pretend is a Slurm whose jobs a test plays. An element goes one step on at each poll of
// the queue.
type pretend struct {
	t        *testing.T
	mu       sync.Mutex
	play     func(a *acting) State                                                    // what an element does when it runs, and its last state
	answers  func(program string, words []string) (text string, err error, ours bool) // instead of the cluster's own
	jobs     []*job
	commands []string
	cancels  []string
	manifest map[string]bool // keys of units that are done
}

type job struct {
	id, name, dir string
	batch         *Batch
	words         []string
	elements      []*playedElement
}

type playedElement struct {
	state State
	why   string
	looks int
	gone  bool // from squeue, as an element that is cancelled while it waits
}

// acting is an element that runs. It can do a unit, begin one, or fail at one.
type acting struct {
	*pretend
	job     *job
	index   int
	members []Member
	log     *runlog.Logger
}

func (r *acting) do(m Member) {
	r.begin(m)
	r.manifest[m.Key] = true
	r.log.Done(r.job.batch.Ref(m), &dag.Manifest{Key: m.Key})
}

func (r *acting) begin(m Member) { r.log.Log(runlog.Of(runlog.Started, r.job.batch.Ref(m), m.Key)) }

func (r *acting) fail(m Member, final bool) {
	r.log.Failed(r.job.batch.Ref(m), m.Key, errors.New("it is broken"), final)
}

// completes does all units of an element.
func completes(r *acting) State {
	for _, m := range r.members {
		r.do(m)
	}
	return Completed
}

func (c *pretend) command(ctx context.Context, program string, words ...string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	c.commands = append(c.commands, program+" "+strings.Join(words, " "))
	if c.answers != nil {
		if text, err, ours := c.answers(program, words); ours {
			return text, err
		}
	}
	switch program {
	case "sbatch":
		if slices.Contains(words, "--test-only") {
			return "", nil
		}
		return c.sbatch(words), nil
	case "squeue":
		return c.squeue(words), nil
	case "scancel":
		for _, word := range words[1:] {
			c.cancel(strings.TrimPrefix(words[0], "--name="), word)
		}
		return "", nil
	case "scontrol":
		switch words[1] {
		case "config":
			return "MaxArraySize            = 4\nSLURM_VERSION           = 22.05.8\n", nil
		case "partition":
			return "PartitionName=main Default=YES AllowAccounts=ALL MaxTime=01:00:00\nPartitionName=lab Default=NO AllowAccounts=us MaxTime=1-00:00:30\n", nil
		}
	}
	return "", errors.New("Slurm accounting storage is disabled")
}

// option is the value of an option of a command.
func option(words []string, name string) string {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

func (c *pretend) sbatch(words []string) string {
	dir := filepath.Dir(words[len(words)-1])
	batch, err := ReadBatch(dir)
	if err != nil {
		c.t.Error(err)
	}
	j := &job{id: strconv.Itoa(100 + len(c.jobs)), name: option(words, "--job-name"), dir: dir, batch: batch, words: words}
	if want := fmt.Sprintf("0-%d", len(batch.Elements)-1); strings.Split(option(words, "--array"), "%")[0] != want {
		c.t.Errorf("array %s, want %s", option(words, "--array"), want)
	}
	for range batch.Elements {
		j.elements = append(j.elements, &playedElement{state: Pending})
	}
	c.jobs = append(c.jobs, j)
	return "welcome to the cluster\n" + j.id + ";lab\n"
}

func (c *pretend) squeue(words []string) string {
	var b strings.Builder
	asked := strings.Split(option(words, "--jobs"), ",")
	name := option(words, "--name")
	for _, j := range c.jobs {
		if name != "" && j.name == name {
			fmt.Fprintln(&b, j.id)
		}
		if name != "" || !slices.Contains(asked, j.id) {
			continue
		}
		for i, e := range j.elements {
			if !e.gone {
				c.step(j, i)
			}
			if !e.gone {
				fmt.Fprintf(&b, "%s|%d|%s|%s|n1|%s\n", j.id, i, e.state, e.why, j.name)
			}
		}
	}
	return b.String()
}

// step brings an element one state on.
func (c *pretend) step(j *job, i int) {
	e := j.elements[i]
	e.looks++
	switch {
	case e.state == Pending && e.looks > 1 && e.why == "":
		e.state = Running
	case e.state == Running:
		file, err := os.OpenFile(EventsPath(j.dir, i), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			c.t.Error(err)
			return
		}
		defer file.Close()
		e.state = c.play(&acting{c, j, i, j.batch.Elements[i], runlog.New(file, time.Now, "n1", j.id)})
	}
}

func (c *pretend) cancel(title, name string) {
	id, index, _ := strings.Cut(name, "_")
	for _, j := range c.jobs {
		if j.id == id && j.name == title {
			c.cancels = append(c.cancels, name)
		}
		for i, e := range j.elements {
			if j.id == id && (index == "" || index == strconv.Itoa(i)) && !e.state.Ended() {
				e.state = Cancelled
			}
		}
	}
}

// lab is units that are run on the cluster.
type lab struct {
	*pretend
	settings Settings
	drain    chan struct{}
	handing  sync.RWMutex // locked while tasks are handed to the executor
	mu       sync.Mutex
	said     []string
	heard    func(unit string) // takes each unit that has ended; may be nil
}

func newLab(t *testing.T) *lab {
	l := &lab{pretend: &pretend{t: t, play: completes, manifest: make(map[string]bool)}, drain: make(chan struct{})}
	l.settings = Settings{
		Run: l.command, Folder: filepath.Join(t.TempDir(), dag.JobsDir), Directory: "/", Program: []string{"/bin/speceval", "--out", "o'k"},
		Executor: config.Executor{Kind: config.ExecutorSlurm, ArraySize: 1000, ElementMinutes: 1, Retries: 2, PollSeconds: 0.005, SettleSeconds: 0.005},
		Build:    "abc", Grace: time.Millisecond,
		Resources: map[string]Resources{"s": {Resources: config.Resources{CPUs: 1, MemoryMiB: 1000, Minutes: 10}, Workers: 1}},
		Clock:     patient{handing: &l.handing}, Drain: l.drain, Now: time.Now,
		Report: func(text string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.said = append(l.said, text)
		},
	}
	return l
}

// unit is a task whose unit takes so many seconds.
func (l *lab) unit(name string, seconds float64) dag.Task {
	key := "key-of-" + name
	return dag.Task{Ref: dag.Ref{Stage: "s", Unit: name}, Key: key, Seconds: seconds,
		Run: func(context.Context) error { panic("it runs here") }, Advance: func(dag.Progress) {},
		Done: func() (bool, error) {
			l.pretend.mu.Lock()
			defer l.pretend.mu.Unlock()
			return l.manifest[key], nil
		}}
}

// tasks are n units of ten seconds.
func (l *lab) tasks(n int) []dag.Task {
	var all []dag.Task
	for i := range n {
		all = append(all, l.unit(fmt.Sprintf("u%d", i), 10))
	}
	return all
}

// atQueue has something happen whenever the queue is asked for once a job is there.
func (l *lab) atQueue(do func(first *job)) {
	l.answers = func(program string, _ []string) (string, error, bool) {
		if program == "squeue" && len(l.jobs) > 0 {
			do(l.jobs[0])
		}
		return "", nil, false
	}
}

// execute runs tasks and returns how each ended.
func (l *lab) execute(ctx context.Context, tasks []dag.Task) map[string]error {
	l.t.Helper()
	return l.through(ctx, l.drain, l.attached(ctx), tasks)
}

// place is the fault of a run without jobs of its own.
func (l *lab) place() error {
	_, _, _, err := PlaceOf(l.t.Context(), new(dag.Plan), 1, Settings{Run: l.settings.Run, Folder: l.settings.Folder})
	return err
}

// attached is an executor of the stage s.
func (l *lab) attached(ctx context.Context) *Jobs {
	l.t.Helper()
	x, err := Attach(ctx, l.settings, "s")
	says(l.t, err, "")
	return x
}

// refuses fails unless the configuration is refused, by an error with a part.
func (l *lab) refuses(part string) {
	l.t.Helper()
	_, err := Attach(l.t.Context(), l.settings, "s")
	says(l.t, err, part)
	var refused *RefusedError
	same(l.t, "is a refusal", errors.As(err, &refused), true)
}

// patient is a clock that does not go on while tasks are handed to an executor.
type patient struct {
	clock.Wall
	handing *sync.RWMutex
}

func (p patient) Sleep(ctx context.Context, d time.Duration) error {
	err := p.Wall.Sleep(ctx, d)
	p.handing.RLock()
	defer p.handing.RUnlock()
	return err
}

// through hands tasks to an executor as a run does, and returns how they ended.
func (l *lab) through(ctx context.Context, drain <-chan struct{}, x dag.Executor, tasks []dag.Task) map[string]error {
	ready, results := make(chan dag.Task), make(chan dag.Result)
	var open sync.WaitGroup
	l.handing.Lock()
	go func() {
		defer close(ready)
		for _, task := range tasks {
			open.Add(1)
			select {
			case ready <- task:
				continue
			case <-drain:
			case <-ctx.Done():
			}
			open.Done()
			break
		}
		l.handing.Unlock()
		open.Wait()
	}()
	go func() {
		defer close(results)
		x.Execute(ctx, ready, results)
	}()
	got := make(map[string]error)
	for r := range results {
		if l.heard != nil {
			l.heard(r.Task.Ref.Unit)
		}
		got[r.Task.Ref.Unit] = r.Err
		open.Done()
	}
	return got
}

// wantDone fails the test unless all units of n are done.
func (l *lab) wantDone(got map[string]error, n int) {
	l.t.Helper()
	same(l.t, "results", len(got), n)
	for unit, err := range got {
		same(l.t, unit, err, nil)
	}
}

// same fails where a value is not the wanted one.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// has fails unless a word, if it is one, is among the words of a command.
func has(t testing.TB, words []string, word string) {
	t.Helper()
	if word != "" && !slices.Contains(words, word) {
		t.Errorf("%q, want %s in it", words, word)
	}
}

// says fails unless an error has a part, or is none where there is none to have.
func says(t testing.TB, err error, part string) {
	t.Helper()
	if (err != nil) != (part != "") || err != nil && !strings.Contains(err.Error(), part) {
		t.Errorf("error %v, want %q", err, part)
	}
}
