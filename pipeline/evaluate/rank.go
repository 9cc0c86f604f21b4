package evaluate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/method/design"
	"speceval/method/ranking"
	"speceval/method/staged"
	"speceval/pipeline/config"
)

// Ranking is the question which of several models is the best, or in which order they are.
type Ranking struct {
	Models []string // ids of the configuration, or names under which servers have them
	Goal   string   // best or order
	Floor  int      // rollouts per task that every model has at least; 0: what the stages take
}

// contest is a Ranking while it is answered. Its stages have the models as tasks, and
// rollouts per task as rollouts.
type contest struct {
	Ranking
	goal     ranking.Goal
	tag      string // of its evaluations
	asked    evaluation.Spec
	stages   *staged.Stages
	subjects []*Subject
	host     Host

	scores  []float64            // of the tasks, in a stage of pairs; nil: each model by what it finds
	results []*evaluation.Result // of the models so far
	folders []string

	mu     sync.Mutex // guards what follows, and is held while the host is warned
	before evaluation.Progress
	now    []evaluation.Progress // of the stage, by model
}

// Rank evaluates models under one budget. Its rollouts go where they decide which model is the
// best, or in which order they are. In stages: of every model an evaluation by
// Uniform, and then evaluations that extend the ones before, of the sizes and with the weights
// that followed from all that was seen before. The error is an *evaluation.PausedError if the
// same request goes on from there.
func (b *Benchmark) Rank(ctx context.Context, q Ranking, r evaluation.Spec, h Host) (_ *show.Ranked, err error) {
	c, err := b.contest(q, r, h)
	if err != nil {
		return nil, err
	}
	var models []config.Model
	for _, s := range c.subjects {
		models = append(models, s.model)
	}
	e := b.equip(h, models...)
	defer e.close(&err)
	if _, err := e.scored(); err != nil {
		return nil, err
	}
	for {
		if err := c.stage(ctx, e); err != nil {
			return nil, err
		}
		if c.stages.Done() {
			return c.outcome(b)
		}
		if err := c.decide(); err != nil {
			return nil, err
		}
	}
}

// contest checks a question, before anything is asked of servers.
func (b *Benchmark) contest(q Ranking, r evaluation.Spec, h Host) (*contest, error) {
	goal, models := ranking.Goal(slices.Index([]string{"best", "order"}, q.Goal)), len(q.Models)
	switch {
	case goal < 0:
		return nil, requestf("--goal %s: want best or order", q.Goal)
	case models < 2:
		return nil, requestf("a rank is of two models or more: name them, speceval evaluate rank A B; evaluate --model is for one")
	case r.Budget == 0:
		return nil, requestf("say what to spend: --budget, in rollouts per task on average over the models")
	case r.Budget < 4 || models*r.Budget > design.MostBudget:
		return nil, requestf("--budget %d: want 4 rollouts per task or more, so that some are left to divide, and %d for all models at most", r.Budget, design.MostBudget)
	case q.Floor < 0 || q.Floor > r.Budget:
		return nil, requestf("--floor %d: want 0 to the budget, %d rollouts per task", q.Floor, r.Budget)
	case r.Coupled && (models > 2 || q.Floor > 0):
		return nil, requestf("--coupled is of two models, which have as many rollouts of each task: name two, without --floor")
	}
	r.Coupled = b.couples(r, h.Warn)
	c := &contest{
		Ranking: q, goal: goal, asked: r, host: h,
		results: make([]*evaluation.Result, models), folders: make([]string, models), now: make([]evaluation.Progress, models),
	}
	warn := once(h.Warn)
	c.host.Warn = func(message string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		warn(message)
	}
	plan := ranking.Plan(r.Budget)
	if r.Coupled {
		plan = ranking.Paired(r.Budget)
	}
	var names []string
	for _, name := range q.Models {
		s, err := b.With(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, s.model.ID) {
			return nil, requestf("model %s is there twice: name each one once", s.model.ID)
		}
		c.subjects, names = append(c.subjects, s), append(names, s.model.ID)
		if q.Floor > 0 {
			plan.Cells = append(plan.Cells, staged.Cell{Tasks: 1, Least: q.Floor})
		}
	}
	c.Models = names
	c.tag = fmt.Sprintf("rank%x", sha256.Sum256(fmt.Appendln(nil, names, q.Goal, r.Budget, q.Floor)))[:12]
	var err error
	c.stages, err = staged.New(models, r.Budget, plan)
	return c, err
}

// stage evaluates the models that have rollouts in the stage, side by side. If one fails the
// others stop.
func (c *contest) stage(ctx context.Context, e *equipment) error {
	var sizes []string
	for k, n := range c.stages.Sizes() {
		if c.now[k] = (evaluation.Progress{}); n > 0 {
			sizes = append(sizes, fmt.Sprintf("%d of %s", n, c.Models[k]))
		}
	}
	c.host.Say(fmt.Sprintf("stage %d, rollouts per task: %s", c.stages.Stage()+1, strings.Join(sizes, ", ")))
	over, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		select {
		case <-c.host.Drain:
			stop()
		case <-over.Done():
		}
	}()
	errs := make([]error, len(c.subjects))
	var models sync.WaitGroup
	for k, n := range c.stages.Sizes() {
		if n == 0 {
			continue
		}
		models.Go(func() {
			h := c.host
			h.Drain, h.Say, h.Watch = over.Done(), func(string) {}, func(p evaluation.Progress) { c.watch(k, p) }
			h.Warn = func(message string) { c.host.Warn(c.Models[k] + ": " + message) }
			if c.results[k], c.folders[k], errs[k] = c.evaluate(ctx, e, k, n, h); errs[k] != nil {
				stop()
			}
		})
	}
	models.Wait()
	var failed error // what has stopped the others before a pause that says what is kept, and this before a wait that was given up
	for _, err := range errs {
		if err != nil && (failed == nil || errors.Is(failed, context.Canceled) || errors.Is(failed, evaluation.ErrStopped) && !errors.Is(err, context.Canceled)) {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	c.before.Pilots = 0
	for k, r := range c.results {
		c.before.Pilots, c.before.Tokens = c.before.Pilots+r.Rollouts, c.before.Tokens+c.now[k].Tokens
		if n := c.stages.Sizes()[k]; n > 0 && r.Cost != nil {
			c.before.Dollars += r.Cost.Dollars
		} else if n > 0 {
			c.before.Dollars = math.NaN() // not known from here on
		}
	}
	return c.stages.Observe(make([]int, len(c.subjects))) // of its means nothing is read: the evaluations have theirs
}

// evaluate carries out a model's part of the stage, n rollouts per task.
func (c *contest) evaluate(ctx context.Context, e *equipment, k, n int, h Host) (*evaluation.Result, string, error) {
	s, before := c.subjects[k], c.results[k]
	if before == nil {
		first := c.asked
		first.Policy, first.Budget = "uniform", n
		return s.begin(ctx, e, first, h)
	}
	setup, err := s.extended(before, c.folders[k], before.Budget+n)
	if err != nil {
		return nil, "", err
	}
	if setup.Price, err = s.price(c.asked.Price); err != nil {
		return nil, "", err
	}
	if c.stages.Stage() == 1 { // of the name, by which later ones have it
		setup.Extends.Name = strings.Replace(setup.Extends.Name, "-seed", "-"+c.tag+"-seed", 1)
	}
	spent := 1 - c.stages.Rest()[k] // weight, with this stage
	setup.Design = evaluation.Design{Weight: 1 - c.stages.Weights()[k]/spent, Fractions: []float64{1}, Scores: c.scores, Source: "all that a rank has found of its models"}
	if there, err := evaluation.ReadSetup(setup.Path(s.out())); err == nil && (there.Design.Weight != setup.Design.Weight || !slices.Equal(there.Design.Scores, setup.Design.Scores)) {
		return nil, "", requestf("%s has begun by other results of the stages before, which were scored again since: take another --seed", there.FullName())
	}
	return s.evaluate(ctx, e, setup, evaluation.Spec{}, before, h)
}

// watch shows the progress of all models together.
func (c *contest) watch(k int, p evaluation.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[k] = p
	all := c.before
	all.At, all.AllPilots = p.At, len(c.subjects)*c.asked.Budget*len(c.subjects[0].tasks.Tasks)
	for _, p := range c.now {
		all.Pilots += p.Pilots + min(p.Continuations, p.AllContinuations)
		all.Tokens, all.Dollars = all.Tokens+p.Tokens, all.Dollars+p.Dollars
	}
	c.host.Watch(all)
}

// decide begins the next stage. Pairs have as many rollouts of both models, of the tasks where
// their difference varies most.
func (c *contest) decide() error {
	if c.asked.Coupled {
		d, err := c.subjects[0].Archive.coupled([2]string(c.folders))
		if err != nil {
			return err
		}
		c.scores = d.Variances
		return c.stages.Decide([]float64{1, 1})
	}
	standings := make([]ranking.Standing, len(c.results))
	for k, r := range c.results {
		var variances, shrinkage []float64
		for _, t := range r.Rows {
			variances, shrinkage = append(variances, t.Variance), append(shrinkage, t.Shrinkage)
		}
		now := ranking.Normal{Mean: r.Estimate, Variance: r.StandardError * r.StandardError}
		standings[k] = ranking.Standing{Normal: now, Spread: ranking.Spread(now.Variance, r.Shares(), variances, shrinkage), Rest: c.stages.Rest()[k]}
	}
	scores, err := ranking.Scores(c.goal, standings, c.stages.Left())
	if err != nil {
		return err
	}
	return c.stages.Decide(scores)
}

// outcome is the outcome of a contest that is over.
func (c *contest) outcome(b *Benchmark) (*show.Ranked, error) {
	comparison, err := b.Archive.Compare(c.folders, 0)
	if err != nil {
		return nil, err
	}
	r := &show.Ranked{Comparison: comparison, Goal: c.Goal, Budget: c.asked.Budget, Models: c.Models}
	if c.before.Dollars > 0 { // known
		r.Dollars = c.before.Dollars
	}
	var normals []ranking.Normal
	var single []float64
	for k, result := range c.results {
		r.Evaluations[k] = result.Benchmark + "/" + result.Model + "/" + filepath.Base(c.folders[k])
		normals = append(normals, ranking.Normal{Mean: result.Estimate, Variance: result.StandardError * result.StandardError})
		single = append(single, result.Uniform.Budget*normals[k].Variance)
	}
	if u, ok := ranking.Uniform(c.goal, normals, single); ok {
		r.Uniform = &u
	}
	if p := comparison.Pair; p != nil && p.Coupled != nil { // the errors of the means belong together
		v := p.StandardError * p.StandardError
		normals, r.Uniform = []ranking.Normal{{Mean: p.Difference, Variance: v}, {}}, new((single[0]+single[1])/v)
	}
	r.Chances, r.Wrong = ranking.Chances(normals), ranking.Wrong(c.goal, normals)
	return r, nil
}
