package controller

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"speceval/method/neyman"
)

// aime24 is the tie order of its tasks under master seed 42, task 0 being "60".
var aime24 = []int{
	0, 5, 10, 20, 26, 6, 1, 9, 16, 4, 8, 23, 18, 15, 19, 27, 25, 22, 13, 17, 12, 24, 28, 14, 21, 2, 7, 29, 3, 11,
}

func ranks(order []int) []int {
	rank := make([]int, len(order))
	for r, task := range order {
		rank[task] = r
	}
	return rank
}

func begin(t *testing.T, s Settings) *Controller {
	t.Helper()
	if s.Prior == nil {
		prior, err := neyman.NewPrior(16)
		if err != nil {
			t.Fatal(err)
		}
		s.Prior = Cold(prior)
	}
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fixed is a prior that gives every task the same score whatever comes.
type fixed []float64

func (f fixed) Posterior(int) Posterior { return f }

func (f fixed) Scores(_, _ []int, scores []float64) { copy(scores, f) }

// take submits at most n rollouts.
func take(c *Controller, n int) []ID {
	var ids []ID
	for len(ids) < n {
		id, ok := c.Next()
		if !ok {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// force puts a provisional allocation in force that no rewards led to.
func force(c *Controller, version int, allocation []int) bool {
	c.spec.version = max(c.spec.version, version)
	return c.Apply(&Provisional{version: version, done: true, solved: allocation})
}

func complete(t *testing.T, c *Controller, ids []ID, reward func(ID) bool) {
	t.Helper()
	for _, id := range ids {
		if _, err := c.Completed(id, reward(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func never(ID) bool { return false }

func TestSettingsAreChecked(t *testing.T) {
	prior, _ := neyman.NewPrior(2)
	good := Settings{Policy: Async, Tasks: 3, Budget: 4, Pilots: 2, Prior: Cold(prior)}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Settings){
		"policy":       func(s *Settings) { s.Policy = 3 },
		"no tasks":     func(s *Settings) { s.Tasks = 0 },
		"m = b":        func(s *Settings) { s.Pilots = 4 },
		"m = 0":        func(s *Settings) { s.Pilots = 0 },
		"no prior":     func(s *Settings) { s.Prior = nil },
		"half a order": func(s *Settings) { s.Order = []int{0, 1} },
		"weight":       func(s *Settings) { s.Weight = 1.5 },
		"fractions":    func(s *Settings) { s.Fractions = []float64{0.5} },
		"no stage":     func(s *Settings) { s.Fractions = []float64{} },
	} {
		s := good
		spoil(&s)
		if _, err := New(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUniformSubmitsInRounds(t *testing.T) {
	c := begin(t, Settings{Policy: Uniform, Tasks: 3, Budget: 4, Pilots: 2})
	ids := take(c, 100)
	var got []string
	for _, id := range ids {
		got = append(got, fmt.Sprintf("%d%c%d", id.Task, id.Phase.String()[0], id.Ordinal))
	}
	want := []string{"0p1", "1p1", "2p1", "0p2", "1p2", "2p2", "0c1", "1c1", "2c1", "0c2", "1c2", "2c2"}
	if !slices.Equal(got, want) {
		t.Errorf("submits %v, want %v", got, want)
	}
	complete(t, c, ids[:11], func(ID) bool { return true })
	if c.Done() {
		t.Error("done with one rollout missing")
	}
	complete(t, c, ids[11:], never)
	if !c.Done() || math.Abs(c.Estimate()-11.0/12) > 1e-15 {
		t.Errorf("done %v, estimate %v", c.Done(), c.Estimate())
	}
	if c.TaskShares = []float64{0.5, 0.375, 0.125}; math.Abs(c.Estimate()-(1-0.125/4)) > 1e-15 {
		t.Errorf("by shares the estimate is %v", c.Estimate())
	}
}

// TestSpeculationIsProportional uses the allocation 42, 2, 22, …, 22: any prefix
// of the queue must hold tasks in proportion, without gaps.
func TestSpeculationIsProportional(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 30, Budget: 32, Pilots: 10, Order: ranks(aime24)})
	pilots := take(c, 300)
	allocation := slices.Repeat([]int{22}, 30)
	allocation[0], allocation[1] = 42, 2
	if !force(c, 3, allocation) || force(c, 2, allocation) {
		t.Fatal("version 3 must be put in force, and then version 2 must not")
	}
	ids := take(c, 330)
	count := make([]int, 30)
	for _, id := range ids {
		count[id.Task]++
		if int(id.Ordinal) != count[id.Task] {
			t.Fatalf("%v leaves a gap", id)
		}
	}
	want := slices.Repeat([]int{11}, 30)
	want[0], want[1] = 21, 1
	if !slices.Equal(count, want) {
		t.Errorf("the first half of the queue has %v, want %v", count, want)
	}
	if rest := take(c, 700); len(rest) != 330 {
		t.Errorf("the queue has %d more, want 330", len(rest))
	}
	if more := take(c, 1); len(more) > 0 {
		t.Errorf("%v comes after the end", more)
	}
	force(c, 4, allocation)
	if more := take(c, 1); len(more) > 0 {
		t.Errorf("%v is submitted again", more)
	}
	shifted := slices.Clone(allocation)
	shifted[0], shifted[2] = 41, 23
	force(c, 5, shifted)
	if more := take(c, 5); !slices.Equal(more, []ID{{2, Continuation, 23}}) {
		t.Errorf("a new allocation brings %v, want continuation 23 of task 2", more)
	}
	complete(t, c, pilots, never)
	if force(c, 9, allocation) {
		t.Error("a provisional allocation is put in force after the barrier")
	}
}

// TestTiesInTheQueue gives tasks 0 and 1 the same ℓ/L̃ over and over: the lesser
// ordinal comes first, and then the lesser rank.
func TestTiesInTheQueue(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 3, Budget: 4, Pilots: 1, Order: []int{0, 2, 1}})
	take(c, 3)
	force(c, 1, []int{4, 2, 4})
	var got []string
	for _, id := range take(c, 100) {
		got = append(got, fmt.Sprintf("%d/%d", id.Task, id.Ordinal))
	}
	want := []string{"0/1", "2/1", "1/1", "0/2", "2/2", "0/3", "2/3", "1/2", "0/4", "2/4"}
	if !slices.Equal(got, want) {
		t.Errorf("the queue is %v, want %v", got, want)
	}
}

func TestNoSpeculationBeforeTheLastPilot(t *testing.T) {
	for _, late := range []bool{false, true} {
		c := begin(t, Settings{Policy: Async, Tasks: 30, Budget: 8, Pilots: 4, Order: ranks(aime24), Late: late})
		pilots := take(c, 120)
		if last := pilots[119]; last != (ID{29, Pilot, 4}) {
			t.Fatalf("the 120th is %v", last)
		}
		want := []ID{{0, Continuation, 1}, {5, Continuation, 1}, {10, Continuation, 1}, {20, Continuation, 1}, {26, Continuation, 1}, {6, Continuation, 1}}
		got := take(c, 6)
		if late {
			if len(got) > 0 {
				t.Fatalf("late: %v before a completion", got)
			}
			complete(t, c, pilots[:1], never)
			got = take(c, 6)
		}
		if !slices.Equal(got, want) {
			t.Errorf("late %v: the queue begins %v, want %v", late, got, want)
		}
		if rest := take(c, 1000); len(rest) != 114 {
			t.Errorf("late %v: %d more by the prior, want 114", late, len(rest))
		}
	}
}

// TestRecoveryIsByID lets three continuations of a task complete of which one is
// selected: it is the first, though it was the slowest.
func TestRecoveryIsByID(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 2, Budget: 4, Pilots: 1, Prior: fixed{0, 1}, Weight: 0.25})
	pilots := take(c, 2)
	spec := take(c, 6)
	if len(spec) != 6 {
		t.Fatalf("%d speculative rollouts, want 6", len(spec))
	}
	for _, id := range []ID{{0, Continuation, 3}, {0, Continuation, 2}, {0, Continuation, 1}} {
		complete(t, c, []ID{id}, func(id ID) bool { return id.Ordinal > 1 })
	}
	complete(t, c, pilots[:1], never)
	released, err := c.Completed(pilots[1], true)
	if err != nil || !released {
		t.Fatalf("the last pilot releases %v, %v", released, err)
	}
	if !slices.Equal(c.Allocation(), []int{1, 5}) {
		t.Fatalf("allocation %v", c.Allocation())
	}
	for ordinal, surplus := range map[int32]bool{1: false, 2: true, 3: true} {
		if c.Surplus(ID{0, Continuation, ordinal}) != surplus {
			t.Errorf("continuation %d of task 0: surplus %v", ordinal, !surplus)
		}
	}
	complete(t, c, spec[1:2], never)
	complete(t, c, spec[3:4], never)
	complete(t, c, spec[5:6], func(ID) bool { return true })
	complete(t, c, take(c, 100), never)
	if want := (0.25*(0+1) + 0.75*(0+1.0/5)) / 2; !c.Done() || math.Abs(c.Estimate()-want) > 1e-15 {
		t.Errorf("done %v, estimate %v, want %v", c.Done(), c.Estimate(), want)
	}
}

func TestUnknownRolloutsAreRefused(t *testing.T) {
	c := begin(t, Settings{Policy: Sync, Tasks: 2, Budget: 4, Pilots: 2})
	pilots := take(c, 3)
	complete(t, c, pilots[:1], never)
	for _, id := range []ID{
		pilots[0], {1, Pilot, 2}, {0, Pilot, 3}, {0, Pilot, 0}, {2, Pilot, 1}, {-1, Pilot, 1}, {0, Continuation, 1},
	} {
		if _, err := c.Completed(id, true); err == nil {
			t.Errorf("%v completes without being outstanding", id)
		}
	}
	if err := c.Failed(pilots[1]); err != nil {
		t.Fatal(err)
	}
	if got := take(c, 1); !slices.Equal(got, pilots[1:2]) {
		t.Errorf("after a failure comes %v, want %v again", got, pilots[1])
	}
}

// TestFailedSurplusIsDropped lets a speculative rollout fail and become surplus
// before it could be submitted again.
func TestFailedSurplusIsDropped(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 2, Budget: 4, Pilots: 1, Prior: fixed{1, 4}})
	pilots := take(c, 2)
	spec := take(c, 6)
	complete(t, c, spec[:4], never)
	for _, id := range spec[4:] {
		if err := c.Failed(id); err != nil {
			t.Fatal(err)
		}
	}
	complete(t, c, pilots, never)
	if !slices.Equal(c.Allocation(), []int{2, 4}) {
		t.Fatalf("allocation %v", c.Allocation())
	}
	got := take(c, 100)
	if want := []ID{{1, Continuation, 3}, {1, Continuation, 4}}; !slices.Equal(got, want) {
		t.Errorf("%v and %v failed, then task 0 keeps two: %v is submitted, want %v", spec[4], spec[5], got, want)
	}
}

// TestPartialAllocation is the worked example of aime24 × qwen3_5_4b at b = 8
// with 35 of 120 pilots known.
func TestPartialAllocation(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 30, Budget: 8, Pilots: 4, Order: ranks(aime24)})
	pilots := take(c, 120)
	observed := append(slices.Repeat([]int{2}, 10), slices.Repeat([]int{1}, 15)...)
	successes := []int{2, 0, 0, 0, 0, 2, 0, 2, 2, 2, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1}
	for _, id := range pilots {
		if int(id.Task) < len(observed) && int(id.Ordinal) <= observed[id.Task] {
			complete(t, c, []ID{id}, func(id ID) bool { return int(id.Ordinal) <= successes[id.Task] })
		}
	}
	p := c.Snapshot()
	if c.Snapshot() != nil {
		t.Error("there is a second snapshot of the same rewards")
	}
	scores := make([]float64, 30)
	copy(scores, p.forecast.score(p.news))
	for task, want := range map[int]float64{29: 0.0382687865019, 10: 0.0465603418156, 11: 0.0344508078459, 1: 0.0360546628860, 0: 0.0260630249845} {
		if math.Abs(scores[task]-want) > 1e-12 {
			t.Errorf("the score of task %d is %.13f, want %.13f", task, scores[task], want)
		}
	}
	if !c.Apply(p) {
		t.Fatal("it is not put in force")
	}
	want := []int{3, 4, 4, 4, 4, 3, 4, 3, 3, 3, 5, 4, 4, 5, 4, 4, 5, 5, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4}
	if p.Solve(); !slices.Equal(p.solved, want) {
		t.Errorf("allocates %v, want %v", p.solved, want)
	}
	var tasks []int32
	for _, id := range take(c, 12) {
		tasks = append(tasks, id.Task+60)
	}
	if queue := []int32{70, 76, 73, 77, 81, 80, 86, 66, 61, 64, 83, 78}; !slices.Equal(tasks, queue) {
		t.Errorf("the queue begins %v, want %v", tasks, queue)
	}
}

// TestCompletePartialIsFinal holds the partial posterior of a complete pilot to
// the final one, which is that of Cold, to the bit.
func TestCompletePartialIsFinal(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	const pilots = 4
	successes := []int{4, 0, 0, 0, 0, 3, 0, 4, 4, 4, 0, 4, 4, 0, 3, 4, 0, 2, 1, 4, 2, 0, 4, 4, 4, 0, 4, 1, 0, 0}
	final, err := Allocate(prior.Pilot(pilots), prior.NewWork(), pilots, successes, 120)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Repeat([]int{3}, 30)
	for _, task := range []int{5, 14, 17, 18, 20, 27} {
		want[task] = 8
	}
	if !slices.Equal(final, want) {
		t.Errorf("allocates %v, want %v", final, want)
	}
	observed, scores := slices.Repeat([]int{pilots}, 30), make([]float64, 30)
	prior.Partial(pilots).Scores(observed, successes, prior.NewWork(), scores)
	if got, err := neyman.Allocate(scores, 120); err != nil || !slices.Equal(got, final) {
		t.Errorf("the partial posterior allocates %v, the final %v", got, final)
	}
	counts := make([]int, pilots+1)
	for _, s := range successes {
		counts[s]++
	}
	quadratic := prior.Pilot(pilots).Scores(counts, prior.NewWork())
	Cold(prior).Posterior(pilots).Scores(observed, successes, scores)
	for i, s := range successes {
		if scores[i] != quadratic.At(s) {
			t.Fatalf("Cold scores task %d %v, the complete pilot %v", i, scores[i], quadratic.At(s))
		}
	}
}
