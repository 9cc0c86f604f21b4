package controller

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// short writes rollouts briefly: "1/3" is the third continuation of task 1.
func short(ids []ID) []string {
	var s []string
	for _, id := range ids {
		s = append(s, fmt.Sprintf("%d/%d", id.Task, id.Ordinal))
	}
	return s
}

func always(ID) bool { return true }

// TestStagesOfAsync goes through three stages of two tasks, b = 11 and m = 1, of which
// task 0 is to have a quarter of what is left and then a third.
func TestStagesOfAsync(t *testing.T) {
	scores := fixed{1, 9}
	c := begin(t, Settings{Policy: Async, Tasks: 2, Budget: 11, Pilots: 1, Weight: 0.1, Fractions: []float64{0.4, 1}, Prior: scores})
	pilots := take(c, 2)

	// Before anything is known, all that is left goes to both alike.
	if got, want := short(take(c, 4)), []string{"0/1", "1/1", "0/2", "1/2"}; !slices.Equal(got, want) {
		t.Fatalf("speculates %v, want %v", got, want)
	}
	complete(t, c, pilots[:1], always)
	first := c.Snapshot()
	complete(t, c, pilots[1:], never)
	if c.Stage() != 1 || c.Allocation() != nil || c.Done() || len(c.Observed()) != 1 {
		t.Fatalf("after the pilot stage %d, allocation %v", c.Stage(), c.Allocation())
	}
	if c.Apply(first) {
		t.Error("an allocation from before the barrier is put in force")
	}

	// Shares of 5 and 15, of which 2 and 6 are executed now: two of each have been
	// submitted. Then come 3 and 9 at proportional speed.
	if got, want := short(take(c, 4)), []string{"1/3", "1/4", "1/5", "1/6"}; !slices.Equal(got, want) {
		t.Fatalf("the second stage submits %v, want %v", got, want)
	}
	if got, want := short(take(c, 4)), []string{"1/7", "1/8", "0/3", "1/9"}; !slices.Equal(got, want) {
		t.Fatalf("beyond it come %v, want %v", got, want)
	}
	for _, id := range []ID{{0, Continuation, 3}, {1, Continuation, 9}} {
		if c.Selected(id) || c.Surplus(id) {
			t.Errorf("%v is selected or surplus", id)
		}
		if err := c.Ended(id); err == nil {
			t.Errorf("%v ends, and may be selected yet", id)
		}
	}

	// What is not selected is no news; what is, is.
	complete(t, c, []ID{{0, Continuation, 3}}, always)
	if c.Snapshot() != nil {
		t.Error("there is a snapshot of a reward that must not be looked at")
	}
	complete(t, c, []ID{{0, Continuation, 1}}, always)
	p := c.Snapshot()
	if p == nil {
		t.Fatal("there is no snapshot")
	}
	p.forecast.score(p.news)
	if counts := p.forecast.counts; !slices.Equal(counts.observed, []int{2, 1}) || !slices.Equal(counts.successes, []int{2, 0}) {
		t.Fatalf("the snapshot is %+v", counts)
	}
	copy(scores, []float64{4, 1}) // from now on the prior is of another mind
	if p.Solve(); !slices.Equal(p.solved, []int{8, 4}) || !c.Apply(p) {
		t.Fatalf("provisionally allocates %v of the 12 that the stage leaves", p.solved)
	}
	if got, want := short(take(c, 5)), []string{"0/4", "0/5", "0/6", "0/7", "0/8"}; !slices.Equal(got, want) {
		t.Fatalf("then come %v, want %v", got, want)
	}

	// The second barrier.
	complete(t, c, []ID{{0, Continuation, 2}, {1, Continuation, 1}, {1, Continuation, 2}, {1, Continuation, 3}, {1, Continuation, 4}, {1, Continuation, 5}}, never)
	if released, err := c.Completed(ID{1, Continuation, 6}, true); err != nil || !released {
		t.Fatalf("the last of the second stage releases %v, %v", released, err)
	}
	if got := c.Allocation(); !slices.Equal(got, []int{10, 10}) {
		t.Fatalf("allocation %v, want 2+8 and 6+4", got)
	}
	if c.Snapshot() != nil || c.Apply(p) {
		t.Error("there is speculation after the last decision")
	}
	rest := take(c, 100)
	if got, want := short(rest), []string{"1/10", "0/9", "0/10"}; !slices.Equal(got, want) {
		t.Fatalf("the last stage submits %v, want %v", got, want)
	}
	complete(t, c, rest[1:], never)
	complete(t, c, []ID{{0, Continuation, 8}}, never)
	complete(t, c, []ID{{0, Continuation, 4}, {0, Continuation, 5}, {0, Continuation, 6}, {0, Continuation, 7}}, always)
	complete(t, c, []ID{{1, Continuation, 7}, {1, Continuation, 8}, {1, Continuation, 9}}, never)
	if c.Done() {
		t.Error("done with one rollout missing")
	}
	complete(t, c, []ID{{1, Continuation, 10}}, always)
	one := 0.1*1 + 0.9*2/5*1/2 + 0.9*3/5*5/8
	other := 0.1*0 + 0.9*6/15*1/6 + 0.9*9/15*1/4
	if got := c.Estimate(); !c.Done() || math.Abs(got-(one+other)/2) > 1e-15 {
		t.Errorf("done %v, estimate %v, want %v", c.Done(), got, (one+other)/2)
	}
	if len(c.Observed()) != 3 {
		t.Errorf("%d stages", len(c.Observed()))
	}
}

// TestBarriersFallTogether has all that the second stage selects, and the third, before
// the pilot ends.
func TestBarriersFallTogether(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 2, Budget: 5, Pilots: 1, Fractions: []float64{0.5, 0.5, 1}, Prior: fixed{1, 1}})
	pilots := take(c, 2)
	complete(t, c, take(c, 8), never)
	complete(t, c, pilots[:1], never)
	if released, err := c.Completed(pilots[1], true); err != nil || !released || !c.Done() || c.Stage() != 3 {
		t.Errorf("the last pilot releases %v to stage %d, done %v (%v)", released, c.Stage(), c.Done(), err)
	}
	if _, ok := c.Next(); ok {
		t.Error("there is more to submit")
	}
}

// TestTasksThatFinishEarly have all they will get; the plan has more stages than they.
func TestTasksThatFinishEarly(t *testing.T) {
	c := begin(t, Settings{Policy: Sync, Tasks: 2, Budget: 2, Pilots: 1, Fractions: []float64{0.5, 0.5, 1}, Prior: fixed{1, 1}})
	complete(t, c, take(c, 2), never)
	if got := c.Allocation(); !slices.Equal(got, []int{1, 1}) || c.Stage() != 1 {
		t.Errorf("the only further rollout of each task is stage %d, allocation %v", c.Stage(), got)
	}
	complete(t, c, take(c, 2), always)
	if !c.Done() || len(c.Observed()) != 2 {
		t.Errorf("done %v after %d stages", c.Done(), len(c.Observed()))
	}
}

// TestScoresThatAreNone end the execution at the barrier, with an error; a provisional
// allocation by them changes nothing.
func TestScoresThatAreNone(t *testing.T) {
	scores := fixed{1, math.NaN()}
	c := begin(t, Settings{Policy: Async, Tasks: 2, Budget: 3, Pilots: 1, Prior: scores})
	pilots := take(c, 3)
	complete(t, c, pilots[:1], never)
	p := c.Snapshot()
	if p.Solve(); !c.Apply(p) {
		t.Error("it is not put in force")
	}
	if got, want := short(take(c, 100)), []string{"1/1", "0/2", "1/2"}; !slices.Equal(got, want) {
		t.Errorf("the queue is %v, want %v", got, want)
	}
	if _, err := c.Completed(pilots[1], true); err == nil || c.Done() {
		t.Errorf("the barrier is passed, error %v", err)
	}
}

// TestSolvingRunsBeside passes barriers while a provisional allocation is worked out:
// the race detector looks on.
func TestSolvingRunsBeside(t *testing.T) {
	c := begin(t, Settings{Policy: Async, Tasks: 20, Budget: 9, Pilots: 2, Fractions: []float64{0.3, 0.5, 1}})
	var running []ID
	var solving *Provisional
	var solved chan struct{}
	stage := 0
	for !c.Done() {
		running = append(running, take(c, 30-len(running))...)
		id := running[0]
		running = running[1:]
		if c.Surplus(id) {
			if err := c.Ended(id); err != nil {
				t.Fatal(err)
			}
			continue
		}
		complete(t, c, []ID{id}, func(id ID) bool { return (id.Task+id.Ordinal)%3 == 0 })
		if solving != nil && c.Stage() > stage { // it was begun before the barrier
			<-solved
			if c.Apply(solving) {
				t.Error("an allocation from before the barrier is put in force")
			}
			solving = nil
		}
		if stage = c.Stage(); solving == nil {
			if solving = c.Snapshot(); solving != nil {
				solved = make(chan struct{})
				go func(p *Provisional, done chan struct{}) { p.Solve(); close(done) }(solving, solved)
			}
		}
	}
	if stage != 3 {
		t.Errorf("ended in stage %d", stage)
	}
}

// TestADroppedStageIsSurplus drops the third stage, of which one rollout has completed, one
// has failed, and the others are outstanding.
func TestADroppedStageIsSurplus(t *testing.T) {
	c := begin(t, Settings{Policy: Sync, Tasks: 2, Budget: 7, Pilots: 1, Weight: 0.1, Fractions: []float64{0.5, 1}, Prior: fixed{1, 1}})
	if err := c.Drop(); err == nil {
		t.Error("the pilot is dropped")
	}
	complete(t, c, take(c, 2), always)
	complete(t, c, take(c, 6), always)
	last := take(c, 9)
	complete(t, c, last[:1], never)
	if err := c.Failed(last[1]); err != nil || c.Stage() != 2 || len(last) != 6 {
		t.Fatalf("%v, %d rollouts of stage %d", err, len(last), c.Stage())
	}
	if err := c.Drop(); err != nil || !c.Done() || !slices.Equal(c.Allocation(), []int{3, 3}) {
		t.Fatalf("%v, done %v, allocation %v", err, c.Done(), c.Allocation())
	}
	if id, ok := c.Next(); ok {
		t.Errorf("%v is submitted", id)
	}
	complete(t, c, last[2:3], never)
	if err := c.Ended(last[3]); err != nil || !c.Surplus(last[0]) {
		t.Errorf("%v ends: %v", last[3], err)
	}
	if seen := c.Observed(); c.Estimate() != 1 || len(seen) != 2 || math.Abs(seen[1].Weights[0]-0.9) > 1e-15 {
		t.Errorf("estimate %v by %+v", c.Estimate(), seen)
	}
}
