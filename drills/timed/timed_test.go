package timed

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/coupled"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/method/controller"
)

// shape is the worker of the made runs.
var shape = Shape{Replicas: 2, Window: 3, Repeats: 1, Provenance: "simulated"}

// made is results of every strategy on two tasks at a budget of 3 with a pilot
// of 1, in which nothing is wrong. HBN allocates 1 and 3 continuations. Requests
// follow each other in pairs, a second each.
func made() *Results {
	p := profile.Profile{Benchmark: "quiz", Model: "m", TaskIDs: []string{"a", "b"}, PassCounts: []int{3, 8}, TestedK: 16}
	r := &Results{
		Setting:  Setting{Profile: p, Digest: p.SHA256(), Seed: 42, Budget: 3, Allocation: coupled.AllocationDigest(p.TaskIDs, []int{1, 3})},
		requests: map[key][]Request{},
	}
	for _, s := range policy.Strategies {
		strategy := s.Name
		allocation := []int{1, 3}
		run := Run{Strategy: strategy, Provenance: "simulated", NTasks: 2, Budget: 3, Pilots: 1, Accepted: 6}
		switch strategy {
		case policy.UniformAtBudget.Name:
			allocation = []int{2, 2}
		case policy.UniformEquivalent.Name:
			allocation, run.Budget, run.Accepted = []int{3, 3}, 4, 8
		}
		run.Allocation = coupled.AllocationDigest(p.TaskIDs, allocation)
		requests := r.submit(strategy, allocation)
		if strategy == policy.HBNAsync.Name { // the second pilot takes long, a surplus is aborted then
			spare := r.request(strategy, 0, controller.Continuation, 2, 0)
			spare.Submitted, spare.Finished, spare.State, spare.Prefetched = 0.2, 1, aborted, true
			spare.Passed, spare.RewardReady, spare.AbortedTokens = nil, nil, new(int32)
			requests = slices.Insert(requests, 2, spare)
			run.Aborted, run.Prefetched = 1, 1
		}
		run.Pilot, run.Allocated = 1, 1
		for _, q := range requests {
			run.Time, run.Released = max(run.Time, q.Finished), max(run.Released, q.Finished)
		}
		r.Runs = append(r.Runs, run)
		r.requests[key{strategy, 0}] = requests
	}
	return r
}

// submit makes the accepted requests of a run.
func (r *Results) submit(strategy string, allocation []int) []Request {
	all := []Request{r.request(strategy, 0, controller.Pilot, 1, 0), r.request(strategy, 1, controller.Pilot, 1, 0)}
	for task, n := range allocation {
		for ordinal := range n {
			all = append(all, r.request(strategy, task, controller.Continuation, ordinal+1, len(all)/2))
		}
	}
	return all
}

func (r *Results) request(strategy string, task int, phase controller.Phase, ordinal, at int) Request {
	id := controller.ID{Task: int32(task), Phase: phase, Ordinal: int32(ordinal)}
	passed := coupled.NewRewards(r.Profile, r.Digest, r.Seed).Reward(id)
	end := float64(at + 1)
	return Request{
		Strategy: strategy, ID: id.String(), Task: r.Profile.TaskIDs[task], Phase: phase.String(), Ordinal: id.Ordinal, Replica: int32(task),
		Submitted: float64(at), Finished: end, RewardReady: &end, CompletionTokens: 10, State: accepted, Passed: &passed,
	}
}

func TestChecksPassWhatIsRight(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, Checks([]*Results{made()}, shape)); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := errors.Join(Speculated([]*Results{made()}, true), SameSelection([]*Results{made()}, []*Results{made()})); err != nil {
		t.Error(err)
	}
}

// TestChecksCatch spoils right results.
func TestChecksCatch(t *testing.T) {
	sync, async := key{policy.HBNSync.Name, 0}, key{policy.HBNAsync.Name, 0}
	for name, test := range map[string]struct {
		spoil func(r *Results)
		want  string
	}{
		"a run is missing":           {func(r *Results) { r.Runs = r.Runs[1:] }, "has 0 runs of uniform, want 1"},
		"another provenance":         {func(r *Results) { r.Runs[2].Provenance = "measured" }, "hbn-async is measured"},
		"one too few":                {func(r *Results) { r.requests[sync] = r.requests[sync][:5] }, "6 accepted by its row, 5 by its requests"},
		"another budget":             {func(r *Results) { r.Runs[0].Budget = 2 }, "it says 2 tasks and budget 2"},
		"a state that does not add":  {func(r *Results) { r.Runs[2].Aborted = 0 }, "its row says"},
		"an id twice":                {func(r *Results) { r.requests[sync][3].ID = r.requests[sync][2].ID }, "5 ids for 6 requests"},
		"a gap":                      {func(r *Results) { r.requests[sync][5] = r.request(sync.strategy, 1, controller.Continuation, 4, 2) }, "1 of 6 accepted rollouts come after a gap"},
		"another reward":             {func(r *Results) { flip(&r.requests[sync][3]) }, "the hash says otherwise"},
		"a reward of an aborted one": {func(r *Results) { r.requests[async][2].Passed = new(bool) }, "with a reward or without one"},
		"a pilot of another task":    {func(r *Results) { r.requests[sync][0] = r.request(sync.strategy, 1, controller.Pilot, 2, 0) }, "0 pilots of task a"},
		"another allocation":         {func(r *Results) { r.Allocation = "0000" }, "want 0000"},
		"an uneven Uniform": {func(r *Results) {
			r.requests[key{policy.UniformAtBudget.Name, 0}] = r.requests[sync]
			r.Runs[0].Allocation = r.Allocation
		}, "1 to 3 continuations"},
		"before the barrier":      {func(r *Results) { r.requests[sync][2].Submitted = 0.9 }, "before the last pilot reward at 1 s"},
		"before the last pilot":   {func(r *Results) { r.requests[async][1].Submitted = 0.5 }, "the last pilot at 0.5 s"},
		"a surplus after the end": {func(r *Results) { r.requests[async][3].State = discarded; r.Runs[2].Accepted-- }, "was submitted after the allocation"},
		"a window too full": {func(r *Results) {
			for i := range r.requests[sync] {
				r.requests[sync][i].Replica, r.requests[sync][i].Submitted, r.requests[sync][i].Finished = 1, 0, 5
			}
		}, "4 requests at replica 1"},
		"no such replica":  {func(r *Results) { r.requests[sync][0].Replica = 2 }, "at replica 2"},
		"a time too short": {func(r *Results) { r.Runs[1].Time = 1.5 }, "it took 1.5 s, its last selected reward was there at"},
		"ended too soon":   {func(r *Results) { r.Runs[2].Released = 2 }, "all was over at 2 s"},
		"started too late": {func(r *Results) { r.requests[sync][0].Started = &r.Runs[1].Time }, "times of "},
		"too much work":    {func(r *Results) { r.Runs[1].Handling = 99 }, "the router was at work for 99 s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := made()
			test.spoil(r)
			var out bytes.Buffer
			if err := Print(&out, Checks([]*Results{r}, shape)); err == nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, without %q:\n%s", err, test.want, out.String())
			}
		})
	}
}

func flip(q *Request) {
	other := !*q.Passed
	q.Passed = &other
}

func TestSelectionsMustBeTheSame(t *testing.T) {
	other := made()
	other.requests[key{policy.HBNAsync.Name, 0}][4].ID = "another"
	if err := SameSelection([]*Results{made()}, []*Results{other}); err == nil || !strings.Contains(err.Error(), "hbn-async, repeat 0 accepted others") {
		t.Errorf("another selection: %v", err)
	}
}

func TestSpeculationMustHappen(t *testing.T) {
	idle := made()
	idle.Runs[2].Prefetched = 0
	if err := Speculated([]*Results{made(), idle}, true); err == nil {
		t.Error("nothing was prefetched, and that is well")
	}
	idle = made()
	idle.Runs[2].Aborted, idle.Runs[2].Discarded = 0, 1
	if err := Speculated([]*Results{idle}, true); err == nil {
		t.Error("nothing was aborted, and that is well")
	}
	if err := Speculated([]*Results{idle}, false); err != nil {
		t.Error(err)
	}
}

func TestTokensGrow(t *testing.T) {
	var samples []Sample
	for i, tokens := range []float64{100, 150, 20, 30} { // started again after the second
		samples = append(samples, Sample{Replica: 0, Tokens: tokens}, Sample{Replica: 1, Tokens: float64(10 * i)})
	}
	if grown := Grown(samples); grown != 50+20+10+30 {
		t.Errorf("%v tokens", grown)
	}
}

// TestGone has a server drop an aborted request two looks after the abort.
func TestGone(t *testing.T) {
	r := made()
	start := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	run := &r.Runs[2]
	run.Started = start.Format(time.RFC3339Nano)
	*r.requests[key{policy.HBNAsync.Name, 0}][2].AbortedTokens = 7
	var samples []Sample
	for i, has := range []int{2, 2, 2, 1, 1} {
		samples = append(samples, Sample{At: start.Add(seconds(0.9 + 0.2*float64(i))), Replica: 0, Requests: has})
	}
	gone, runs, err := Gone([]*Results{r}, samples)
	if err != nil || runs != 1 || gone.Round(time.Millisecond) != 500*time.Millisecond {
		t.Errorf("gone after %v in %d runs, %v", gone, runs, err)
	}
	if _, _, err := Gone([]*Results{r}, samples[:3]); err == nil {
		t.Error("the request was never seen to go, and that is well")
	}
}

func TestAllocationsAreRead(t *testing.T) {
	settings := []Setting{made().Setting}
	const head = "a message\nbenchmark,model,budget,allocation_sha256\n"
	if err := ReadAllocations(head+"quiz,m,2,xy\nquiz,m,3,abc\n", settings); err != nil || settings[0].Allocation != "abc" {
		t.Errorf("allocation %q, %v", settings[0].Allocation, err)
	}
	for _, text := range []string{"", head, head + "quiz,m,2,xy\n"} {
		if err := ReadAllocations(text, settings); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
