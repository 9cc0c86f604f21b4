package evaluation_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/sampler"
	"speceval/internal/evaluation"
	"speceval/internal/machine/clock"
	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/method/neyman"
)

// lab is an evaluation on servers that answer by the seed of the request: right as
// often as the task's probability says, and late where they are wrong.
type lab struct {
	t        *testing.T
	settings evaluation.Settings
	passes   []float64 // by task
	places   int
	held     bool // continuations, until one is aborted
	mute     bool // nothing is seen of an answer before its end

	mu       sync.Mutex
	asked    []vllm.Request
	answered int
	aborted  int
	scored   int
	fail     func(n int, r vllm.Request) error // of the n-th request, from 1; nil: never
	unable   func(n int) error                 // of the n-th answer to score; nil: never
	spoil    func(n int, c *vllm.Completion)   // changes the n-th answer, from 1; nil: none
	said     []string                          // by the evaluation, where a test asks
	grade    func(r *rollout.Response) float64 // reward of an answer that is not right; nil: 0
	random   *rand.Rand
}

func newLab(t *testing.T, name string, budget, pilots int, passes ...float64) *lab {
	t.Helper()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, passes: passes, places: 7, random: rand.New(rand.NewPCG(1, 1))}
	setup := evaluation.Setup{
		Head:   evaluation.Head{Benchmark: "quiz", Model: "a/b", Policy: name, Budget: budget, Seed: 42},
		Design: evaluation.Design{Pilots: pilots, Weight: 0.4, Source: "made up"},
		Asked:  map[string]string{"prompts": "p1", "sampling.temperature": "0.6"},
	}
	if name == "uniform" {
		setup.Design = evaluation.Design{Pilots: budget, Weight: 1}
	}
	way, err := policy.FindExecution(name)
	if err != nil {
		t.Fatal(err)
	}
	if way.Adapts {
		setup.Design.Fractions = pilot.Fractions(policy.Staged.InStages.After)
	}
	if way.Donors {
		donor := evaluation.Donor{Name: "quiz another", Source: "elsewhere"}
		for range passes {
			donor.Passes, donor.Rollouts = append(donor.Passes, 9), append(donor.Rollouts, 16)
		}
		setup.Donors = []evaluation.Donor{donor}
	}
	var tasks []benchmark.Task
	for i := range passes {
		id := fmt.Sprint("t", i)
		setup.TaskIDs = append(setup.TaskIDs, id)
		tasks = append(tasks, benchmark.Task{Benchmark: "quiz", ID: id, Index: i, UserPrompt: fmt.Sprint("question ", i), Scorer: "math", Answer: "1"})
	}
	l.settings = evaluation.Settings{
		Setup: setup, Folder: setup.Path(t.TempDir()), Prior: prior,
		Corpus: sampler.Corpus{
			Benchmark: "quiz", Model: "a/b", Tasks: tasks, Sampling: vllm.Sampling{Model: "served", MaxTokens: 10},
			Seed: seed.Root(42).Child("quiz"),
		},
		Servers: l, Score: l.score, Rules: "r1", Provenance: "measured", Clock: clock.Wall{}, Host: evaluation.Host{Commit: "c"},
	}
	return l
}

// task is the number of the task that is asked.
func (l *lab) task(r vllm.Request) int {
	var i int
	fmt.Sscanf(r.Messages[len(r.Messages)-1].Content, "question %d", &i)
	return i
}

// rolloutOf is the number of the rollout among its task's.
func rolloutOf(r vllm.Request) int {
	n, _ := strconv.Atoi(r.ID[strings.LastIndexByte(r.ID, '/')+1:])
	return n
}

// lateBarrier holds the last pilot of a task back until a number of other requests have been
// answered: those of speculation, say, so that there will be surplus that has completed.
func (l *lab) lateBarrier(others int) {
	l.fail = func(_ int, r vllm.Request) error {
		if strings.HasSuffix(r.ID, "/t0/2") {
			l.await(func() bool { return l.answered >= others })
		}
		return nil
	}
}

// await waits until a condition on what the lab has counted holds.
func (l *lab) await(holds func() bool) {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		l.mu.Lock()
		there := holds()
		l.mu.Unlock()
		if there {
			return
		}
	}
	l.t.Error("what a test waits for has not come")
}

// Stream answers after a short time.
func (l *lab) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	l.mu.Lock()
	l.asked = append(l.asked, r)
	n := len(l.asked)
	wait := time.Duration(l.random.IntN(300)) * time.Microsecond
	l.mu.Unlock()
	if l.fail != nil {
		if err := l.fail(n, r); err != nil {
			return vllm.Completion{}, "http://a:1", err
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, r.Seed)
	text := "wrong"
	if float64(h.Sum64()%1e6)/1e6 < l.passes[l.task(r)] {
		text = "right"
	} else {
		wait *= 4
	}
	if !l.mute {
		seen(vllm.Piece{Usage: vllm.Usage{Prompt: 3, Completion: 1}})
	}
	if l.held && rolloutOf(r) >= l.settings.Setup.Design.Pilots {
		l.await(func() bool { return l.aborted > 0 || ctx.Err() != nil })
	}
	err := (clock.Wall{}).Sleep(ctx, wait)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.aborted++
		return vllm.Completion{}, "http://a:1", err
	}
	l.answered++
	c := vllm.Completion{Text: text, Finish: "stop", Usage: vllm.Usage{Prompt: 3, Completion: 5, Reasoning: -1}}
	if l.spoil != nil {
		l.spoil(n, &c)
	}
	return c, "http://a:1", nil
}

func (l *lab) Places() int     { return l.places }
func (l *lab) ThinkEnd() int32 { return -1 }
func (l *lab) Continues() bool { return false }

func (l *lab) score(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
	l.mu.Lock()
	l.scored++
	n := l.scored
	l.mu.Unlock()
	if l.unable != nil {
		if err := l.unable(n); err != nil {
			return nil, err
		}
	}
	s := &rollout.Score{
		Benchmark: r.Benchmark, Model: r.Model, TaskIndex: r.TaskIndex, TaskID: r.TaskID, Rollout: r.Rollout,
		Correct: r.Text == "right", Answer: r.Text, Scorer: "by eye " + l.settings.Rules,
	}
	if l.grade != nil && !s.Correct {
		s.Partial = l.grade(r)
	}
	return s, nil
}

func (l *lab) run() *evaluation.Result {
	l.t.Helper()
	r, err := evaluation.Run(l.t.Context(), l.settings)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// in is the settings of the lab in another folder.
func (l *lab) in(folder string) evaluation.Settings {
	s := l.settings
	s.Folder = folder
	return s
}

// open reads the evaluation from its folder.
func (l *lab) open() *evaluation.Stored {
	l.t.Helper()
	s, err := evaluation.Open(l.settings.Folder)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// paused runs and wants a pause, for a cause that says so.
func (l *lab) paused(ctx context.Context, want string) *evaluation.PausedError {
	l.t.Helper()
	_, err := evaluation.Run(ctx, l.settings)
	var paused *evaluation.PausedError
	if !errors.As(err, &paused) || !strings.Contains(err.Error(), want) {
		l.t.Fatalf("error %v, want a pause that says %q", err, want)
	}
	return paused
}

// calm takes faults away, and what was counted.
func (l *lab) calm() {
	l.fail, l.unable, l.asked, l.scored = nil, nil, nil, 0
}
