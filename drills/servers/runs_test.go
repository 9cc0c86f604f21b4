package servers

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/lab"
	"speceval/internal/coupled"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/method/controller"
)

// madeShape is the worker of the made runs.
var madeShape = shape{replicas: 2, window: 3, origin: "simulated"}

// madeRuns is results of every strategy on two tasks at a budget of 3 with a pilot
// of 1, in which nothing is wrong. HBN allocates 1 and 3 continuations. Requests
// follow each other in pairs, a second each.
func madeRuns() *results {
	p := profile.Profile{Benchmark: "quiz", Model: "m", TaskIDs: []string{"a", "b"}, PassCounts: []int{3, 8}, TestedK: 16}
	r := &results{
		setting:  setting{profile: p, digest: p.SHA256(), seed: 42, budget: 3, allocation: coupled.AllocationDigest(p.TaskIDs, []int{1, 3})},
		requests: map[runKey][]request{},
	}
	for _, s := range policy.Strategies {
		strategy := s.Name
		allocation := []int{1, 3}
		one := run{Strategy: strategy, Provenance: "simulated", NTasks: 2, Budget: 3, Pilots: 1, Accepted: 6}
		switch strategy {
		case policy.UniformAtBudget.Name:
			allocation = []int{2, 2}
		case policy.UniformEquivalent.Name:
			allocation, one.Budget, one.Accepted = []int{3, 3}, 4, 8
		}
		one.Allocation = coupled.AllocationDigest(p.TaskIDs, allocation)
		requests := r.submit(strategy, allocation)
		if strategy == policy.HBNAsync.Name { // the second pilot takes long, a surplus is aborted then
			spare := r.request(strategy, 0, controller.Continuation, 2, 0)
			spare.Submitted, spare.Finished, spare.State, spare.Prefetched = 0.2, 1, aborted, true
			spare.Passed, spare.RewardReady, spare.AbortedTokens = nil, nil, new(int32)
			requests = slices.Insert(requests, 2, spare)
			one.Aborted, one.Prefetched = 1, 1
		}
		one.Pilot, one.Allocated = 1, 1
		for _, q := range requests {
			one.Time, one.Released = max(one.Time, q.Finished), max(one.Released, q.Finished)
		}
		r.runs = append(r.runs, one)
		r.requests[runKey{strategy, 0}] = requests
	}
	return r
}

// submit makes the accepted requests of a one.
func (r *results) submit(strategy string, allocation []int) []request {
	all := []request{r.request(strategy, 0, controller.Pilot, 1, 0), r.request(strategy, 1, controller.Pilot, 1, 0)}
	for task, n := range allocation {
		for ordinal := range n {
			all = append(all, r.request(strategy, task, controller.Continuation, ordinal+1, len(all)/2))
		}
	}
	return all
}

func (r *results) request(strategy string, task int, phase controller.Phase, ordinal, at int) request {
	id := controller.ID{Task: int32(task), Phase: phase, Ordinal: int32(ordinal)}
	passed := coupled.NewRewards(r.profile, r.digest, r.seed).Reward(id)
	end := float64(at + 1)
	return request{
		Strategy: strategy, ID: id.String(), Task: r.profile.TaskIDs[task], Phase: phase.String(), Ordinal: id.Ordinal, Replica: int32(task),
		Submitted: float64(at), Finished: end, RewardReady: &end, CompletionTokens: 10, State: accepted, Passed: &passed,
	}
}

func TestChecksPassWhatIsRight(t *testing.T) {
	var out bytes.Buffer
	if err := lab.Report(&out, runChecks([]*results{madeRuns()}, madeShape)); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := errors.Join(speculated([]*results{madeRuns()}, true), sameSelection([]*results{madeRuns()}, []*results{madeRuns()})); err != nil {
		t.Error(err)
	}
}

// TestChecksCatch spoils right results.
func TestChecksCatch(t *testing.T) {
	sync, async := runKey{policy.HBNSync.Name, 0}, runKey{policy.HBNAsync.Name, 0}
	for name, test := range map[string]struct {
		spoil func(r *results)
		want  string
	}{
		"a run is missing":   {func(r *results) { r.runs = r.runs[1:] }, "has 0 runs of uniform, want 1"},
		"another provenance": {func(r *results) { r.runs[2].Provenance = "measured" }, "hbn-async is measured"},
		"one too few":        {func(r *results) { r.requests[sync] = r.requests[sync][:5] }, "6 accepted by its row, 5 by its requests"},
		"fewer than its budget": {func(r *results) {
			r.requests[sync] = r.requests[sync][:5]
			r.runs[1].Accepted = 5
		}, "5 accepted by its row, 5 by its requests, want 2 × 3"},
		"an allocation of its row":   {func(r *results) { r.runs[1].Allocation = "0000" }, "its row has the allocation 0000"},
		"another budget":             {func(r *results) { r.runs[0].Budget = 2 }, "its row has 2 tasks and budget 2"},
		"a state that does not add":  {func(r *results) { r.runs[2].Aborted = 0 }, "its row has"},
		"an id twice":                {func(r *results) { r.requests[sync][3].ID = r.requests[sync][2].ID }, "5 ids for 6 requests"},
		"a gap":                      {func(r *results) { r.requests[sync][5] = r.request(sync.strategy, 1, controller.Continuation, 4, 2) }, "1 of 6 accepted rollouts come after a gap"},
		"another reward":             {func(r *results) { flip(&r.requests[sync][3]) }, "by the hash the other one"},
		"a reward of an aborted one": {func(r *results) { r.requests[async][2].Passed = new(bool) }, "with a reward or without one"},
		"a pilot of another task":    {func(r *results) { r.requests[sync][0] = r.request(sync.strategy, 1, controller.Pilot, 2, 0) }, "0 pilots of task a"},
		"another allocation":         {func(r *results) { r.allocation = "0000" }, "want 0000"},
		"an uneven Uniform": {func(r *results) {
			r.requests[runKey{policy.UniformAtBudget.Name, 0}] = r.requests[sync]
			r.runs[0].Allocation = r.allocation
		}, "1 to 3 continuations"},
		"before the barrier":      {func(r *results) { r.requests[sync][2].Submitted = 0.9 }, "before the last pilot reward at 1 s"},
		"before the last pilot":   {func(r *results) { r.requests[async][1].Submitted = 0.5 }, "the last pilot at 0.5 s"},
		"a surplus after the end": {func(r *results) { r.requests[async][3].State = discarded; r.runs[2].Accepted-- }, "was submitted after the allocation"},
		"a window too full": {func(r *results) {
			for i := range r.requests[sync] {
				r.requests[sync][i].Replica, r.requests[sync][i].Submitted, r.requests[sync][i].Finished = 1, 0, 5
			}
		}, "4 requests at replica 1"},
		"no such replica":  {func(r *results) { r.requests[sync][0].Replica = 2 }, "at replica 2"},
		"a time too short": {func(r *results) { r.runs[1].Time = 1.5 }, "it took 1.5 s, its last selected reward was there at"},
		"ended too soon":   {func(r *results) { r.runs[2].Released = 2 }, "all was over at 2 s"},
		"started too late": {func(r *results) { r.requests[sync][0].Started = &r.runs[1].Time }, "times of "},
		"too much work":    {func(r *results) { r.runs[1].Handling = 99 }, "the router was at work for 99 s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := madeRuns()
			test.spoil(r)
			var out bytes.Buffer
			if err := lab.Report(&out, runChecks([]*results{r}, madeShape)); err == nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, without %q:\n%s", err, test.want, out.String())
			}
		})
	}
}

func flip(q *request) {
	other := !*q.Passed
	q.Passed = &other
}

func TestSelectionsMustBeTheSame(t *testing.T) {
	other := madeRuns()
	other.requests[runKey{policy.HBNAsync.Name, 0}][4].ID = "another"
	if err := sameSelection([]*results{madeRuns()}, []*results{other}); err == nil || !strings.Contains(err.Error(), "hbn-async, repeat 0 accepted others") {
		t.Errorf("another selection: %v", err)
	}
}

func TestSpeculationMustHappen(t *testing.T) {
	idle := madeRuns()
	idle.runs[2].Prefetched = 0
	if err := speculated([]*results{madeRuns(), idle}, true); err == nil {
		t.Error("nothing was prefetched: no error")
	}
	idle = madeRuns()
	idle.runs[2].Aborted, idle.runs[2].Discarded = 0, 1
	if err := speculated([]*results{idle}, true); err == nil {
		t.Error("nothing was aborted: no error")
	}
	if err := speculated([]*results{idle}, false); err != nil {
		t.Error(err)
	}
}

func TestTokensGrow(t *testing.T) {
	var samples []sample
	for i, tokens := range []float64{100, 150, 20, 30} { // started again after the second
		samples = append(samples, sample{replica: 0, tokens: tokens}, sample{replica: 1, tokens: float64(10 * i)})
	}
	if made := tokensMade(samples); made != 50+20+10+30 {
		t.Errorf("%v tokens", made)
	}
}

// TestSurplusGone has a server drop an aborted request two samples after the abort.
func TestSurplusGone(t *testing.T) {
	r := madeRuns()
	start := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	one := &r.runs[2]
	one.Started = start.Format(time.RFC3339Nano)
	*r.requests[runKey{policy.HBNAsync.Name, 0}][2].AbortedTokens = 7
	var samples []sample
	for i, has := range []int{2, 2, 2, 1, 1} {
		samples = append(samples, sample{at: start.Add(seconds(0.9 + 0.2*float64(i))), replica: 0, requests: has})
	}
	gone, runs, err := surplusGone([]*results{r}, samples)
	if err != nil || runs != 1 || gone.Round(time.Millisecond) != 500*time.Millisecond {
		t.Errorf("gone after %v in %d runs, %v", gone, runs, err)
	}
	if _, _, err := surplusGone([]*results{r}, samples[:3]); err == nil {
		t.Error("the request was never seen to go: no error")
	}
}

func TestAllocationsAreRead(t *testing.T) {
	settings := []setting{madeRuns().setting}
	const head = "a message\nbenchmark,model,budget,allocation_sha256\n"
	if err := readAllocations(head+"quiz,m,2,xy\nquiz,m,3,abc\n", settings); err != nil || settings[0].allocation != "abc" {
		t.Errorf("allocation %q, %v", settings[0].allocation, err)
	}
	for _, text := range []string{"", head, head + "quiz,m,2,xy\n"} {
		if err := readAllocations(text, settings); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestWhatWasKeptAndVoided(t *testing.T) {
	r := &results{setting: setting{profile: profile.Profile{Benchmark: "quiz", Model: "m"}, budget: 8}}
	kept := map[string]string{}
	for _, strategy := range policy.Strategies {
		one := run{Strategy: strategy.Name, Started: strategy.Name + " began"}
		r.runs = append(r.runs, one)
		kept[r.runName(one)] = one.Started
	}
	last := r.runName(r.runs[3])
	all := []*results{r}
	good := &systems{kept: kept, voids: []string{"one"}}
	if err := good.checkKept(all); err == nil {
		t.Error("every run was kept: no error")
	}
	delete(kept, last)
	if err := good.checkKept(all); err != nil {
		t.Error(err)
	}
	if err := good.checkVoids(); err != nil {
		t.Error(err)
	}
	kept[r.runName(r.runs[0])] = "another time"
	if err := good.checkKept(all); err == nil || !strings.Contains(err.Error(), "uniform, repeat 0 was begun at another time") {
		t.Errorf("a run was made again: %v", err)
	}
	if err := (&systems{}).checkVoids(); err == nil {
		t.Error("no run was void: no error")
	}
}

func TestTokensOfServers(t *testing.T) {
	one := func(tokens float64, requests int) []sample {
		return []sample{{tokens: tokens, requests: requests}}
	}
	var out bytes.Buffer
	for made, good := range map[float64]bool{0: true, systemsWarmUp: true, systemsWarmUp + 1: false, -1: false} {
		if err := tokens(&out, []*results{{}}, nil, made, systemsWarmUp, true); (err == nil) != good {
			t.Errorf("%.0f tokens of no run: %v", made, err)
		}
	}
	s := &systems{after: one(100, 0), again: one(101, 0)}
	if err := s.checkAgain(); err == nil {
		t.Error("another run made a token: no error")
	}
	if err := (&systems{after: one(5, 1)}).checkIdle(); err == nil {
		t.Error("a request is left: no error")
	}
}
