package evaluation

import (
	"slices"
	"time"

	"speceval/method/controller"
	"speceval/method/estimate"
)

// Progress is how far an evaluation is.
type Progress struct {
	Pilots, AllPilots               int // rewards
	Continuations, AllContinuations int // the former with surplus ones
	UnderWay                        int // requests
	Scoring                         int // answers

	Mean    *Provisional // nil: too early to say
	Tokens  int64        // of answers that have ended, discarded and aborted ones too
	Dollars float64      // for all requests that have ended; 0: not known
}

// Provisional is a mean with its standard error by what is complete so far.
type Provisional struct{ Value, StandardError float64 }

// ended adds a request that has ended to what is shown.
func (e *engine) ended(q *Request) {
	dollars, _ := q.cost(e.Setup.Price)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tokens, e.dollars = e.tokens+q.tokens(), e.dollars+dollars
}

// watchEvery is the time between two reports of progress.
const watchEvery = time.Second

// watch reports progress until stop is called, and then once more.
func (e *engine) watch() (stop func()) {
	if e.Watch == nil {
		return func() {}
	}
	e.chore.Go(func() {
		for e.Clock.Sleep(e.ctx, watchEvery) == nil {
			e.Watch(e.progress())
		}
	})
	return func() {
		e.observe()
		e.Watch(e.progress())
	}
}

func (e *engine) progress() Progress {
	tasks, m := len(e.Setup.TaskIDs), e.Setup.Design.Pilots
	p := Progress{
		Pilots: int(e.counts.pilots.Load()), AllPilots: tasks * m,
		Continuations: int(e.counts.continuations.Load()), AllContinuations: tasks*(e.Setup.Budget-m) - e.Setup.Extends.all(),
		UnderWay: int(e.counts.underWay.Load()), Scoring: int(e.counts.scoring.Load()), Mean: e.provisional(),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.Tokens, p.Dollars = e.tokens, e.dollars
	return p
}

// provisional is the mean by the stages that are complete, each with its weight and the last
// with all that is left; before the first barrier by the rounds of the pilot that are. Of a
// stage under way nothing counts: what completes first are the short answers.
func (e *engine) provisional() *Provisional {
	if e.Setup.Extends != nil {
		return nil
	}
	e.mu.Lock()
	seen, all := e.observed, len(e.Setup.TaskIDs)
	if n := e.rounds(); len(seen) == 0 && n > 0 {
		seen = []controller.Stage{{Sizes: slices.Repeat([]int{n}, all), Weights: slices.Repeat([]float64{1}, all)}}
	}
	r := Result{Rows: make([]Task, all)}
	for i := range r.Rows {
		e.completed(&r.Rows[i], seen, i)
	}
	e.mu.Unlock()
	if len(seen) == 0 {
		return nil
	}
	if m, err := e.Setup.estimate(e.Prior, r.counted(), 0); err == nil {
		return &Provisional{m.Value, m.StandardError}
	}
	return nil
}

// observe notes the stages that are complete, for progress.
func (e *engine) observe() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if seen := e.control.Observed(); len(seen) > len(e.observed) {
		e.observed = slices.Clone(seen)
	}
}

// rounds is how many rollouts of the pilot are complete of every task.
func (e *engine) rounds() int {
	n := e.Setup.Design.Pilots
	for i := range e.Setup.TaskIDs {
		for k := range n {
			if _, there := e.rewards[e.numbered(i, k)]; !there {
				n = k
				break
			}
		}
	}
	return n
}

// completed gives a task those of these stages that it has, with their rewards.
func (e *engine) completed(t *Task, seen []controller.Stage, task int) {
	if e.Setup.Shares != nil {
		t.Share = e.Setup.Shares[task]
	}
	left := 1.0
	for _, stage := range seen {
		if n := stage.Sizes[task]; n > 0 {
			t.Stages = append(t.Stages, estimate.Stage{Rollouts: n, Weight: stage.Weights[task]})
			left -= stage.Weights[task]
		}
	}
	if len(seen) > 0 {
		t.Stages[len(t.Stages)-1].Weight += left
	}
	all, _ := t.Counts()
	for n := range all {
		t.take(int32(n), e.rewards[e.numbered(task, n)])
	}
}

// numbered is the id of a rollout of a task, from 0.
func (e *engine) numbered(task, n int) controller.ID {
	if m := e.Setup.Design.Pilots; n >= m {
		return controller.ID{Task: int32(task), Phase: controller.Continuation, Ordinal: int32(n + 1 - m)}
	}
	return controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: int32(n + 1)}
}
