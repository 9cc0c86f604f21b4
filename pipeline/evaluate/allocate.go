package evaluate

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"speceval/internal/evaluation"
	"speceval/method/design"
	"speceval/method/estimate"
)

// countsOf are the rollouts of a source by task, how many there are in all, and of the task
// with the fewest. It is an error if an allocation made them: what is added to them by a
// further one needs to know their stages.
func countsOf(s Source) (counts []estimate.Stage, all, fewest int, err error) {
	fewest = math.MaxInt
	for _, stages := range s.Stages {
		if s.Allocated || len(stages) > 1 {
			return nil, 0, 0, requestf("%s: its rollouts come from an allocation, so that their plain means are biased: extend that evaluation, or name it with --prior", s.Name)
		}
		own := estimate.Sum(stages)
		counts, all, fewest = append(counts, own), all+own.Rollouts, min(fewest, own.Rollouts)
	}
	return counts, all, fewest, nil
}

// Allocated is the next allocation.
type Allocated struct {
	Benchmark string  `json:"benchmark"`
	Model     string  `json:"model"`
	Budget    int     `json:"budget"`
	Stage     string  `json:"stage"`    // pilot: every task alike, and then ask again; rest: all that is left
	Rollouts  int     `json:"rollouts"` // to run now
	Weight    float64 `json:"weight"`   // of the mean of what was there; 0 in a pilot
	Tasks     []Share `json:"tasks"`
	Levels    []Level `json:"levels"`

	counts  []estimate.Stage // that are there
	known   *evaluation.Setup
	subject *Subject
}

// Share is the part of one task.
type Share struct {
	ID     string  `json:"task_id"`
	Had    int     `json:"rollouts"`
	Passes float64 `json:"passes"` // the sum of their rewards
	Next   int     `json:"next"`
}

// Level is the tasks that get the same number of rollouts, for tools that repeat all tasks
// of a run alike.
type Level struct {
	Repeats int      `json:"repeats"`
	IDs     []string `json:"task_ids"`
}

// Allocate divides what the budget of a spec leaves among the tasks of a source, some of
// which may have no rollouts yet.
func (archive Archive) Allocate(p Source, known evaluation.Spec) (*Allocated, error) {
	if known.Budget == 0 {
		return nil, requestf("say how many rollouts a task has on average in the end: --budget")
	}
	if err := checkTasks(p.IDs); err != nil {
		return nil, requestf("the counts: %w", err)
	}
	counts, all, fewest, err := countsOf(p)
	if err != nil {
		return nil, err
	}
	s, err := archive.subject(evaluation.Spec{Benchmark: p.Benchmark, Model: p.Model, Tasks: p.IDs})
	if err != nil {
		return nil, err
	}
	setup, err := s.requested(context.Background(), known, archive.warn)
	if err != nil {
		return nil, err
	}
	a := &Allocated{Benchmark: p.Benchmark, Model: p.Model, Budget: known.Budget, Stage: "rest", counts: counts, known: &setup, subject: s}
	var next []int
	if fewest == 0 {
		a.Stage = "pilot"
		next, err = a.pilot()
	} else {
		next, err = a.rest(all)
	}
	if err != nil {
		return nil, err
	}
	for i, own := range counts {
		a.Rollouts += next[i]
		a.Tasks = append(a.Tasks, Share{p.IDs[i], own.Rollouts, own.Rewards, next[i]})
	}
	a.Levels = []Level{}
	levels := make(map[int][]string)
	for _, t := range a.Tasks {
		levels[t.Next] = append(levels[t.Next], t.ID)
	}
	delete(levels, 0)
	for _, repeats := range slices.Backward(slices.Sorted(maps.Keys(levels))) {
		a.Levels = append(a.Levels, Level{repeats, levels[repeats]})
	}
	return a, nil
}

// pilot counts the rollouts that tasks lack of a pilot.
func (a *Allocated) pilot() (next []int, err error) {
	priors, err := a.known.Priors()
	if err != nil {
		return nil, err
	}
	d, err := inStages(context.Background(), design.StagesSettings{Prior: priors, Budget: a.Budget, Stages: 2})
	for _, s := range a.counts {
		next = append(next, max(0, d.Plan.Pilots-s.Rollouts))
	}
	return next, err
}

// rest divides all that is left, by the rollouts that are there and what is known.
func (a *Allocated) rest(all int) ([]int, error) {
	tasks := len(a.counts)
	if left := tasks*a.Budget - all; left < tasks {
		return nil, requestf("--budget %d: there are %d rollouts of %d tasks already, and every task gets one more at least: want %d or more", a.Budget, all, tasks, (all+2*tasks-1)/tasks)
	}
	was := &evaluation.Result{Head: evaluation.Head{Budget: max(1, all/tasks)}, Rollouts: all}
	a.known.Design = extension(was, tasks, a.Budget)
	a.known.Design.Fractions = []float64{1}
	a.Weight = a.known.Design.Weight
	a.known.Extends = &evaluation.Extends{Name: "counts"}
	for _, s := range a.counts {
		s.Weight = 1
		a.known.Extends.Stages = append(a.known.Extends.Stages, []estimate.Stage{s})
	}
	if err := a.known.Check(); err != nil {
		return nil, &RequestError{err}
	}
	c, err := a.known.Controller(a.subject.Prior(), false, nil, nil)
	if err != nil {
		return nil, err
	}
	return c.Allocation(), nil
}

// CSV writes a row for each task.
func (a *Allocated) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"task_id", "rollouts", "passes", "next"}}
	for _, t := range a.Tasks {
		rows = append(rows, []string{t.ID, strconv.Itoa(t.Had), strconv.FormatFloat(t.Passes, 'g', -1, 64), strconv.Itoa(t.Next)})
	}
	return c.WriteAll(rows)
}

// Combined is the mean by what was there and by what the allocation asked for.
type Combined struct {
	Rollouts      int        `json:"rollouts"`
	Mean          float64    `json:"mean"`
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"` // 95%
	evaluation.SampleError
	Uniform evaluation.Equivalent `json:"uniform"`
}

// With is the estimate once the tasks have what they were to get, of which there must be
// exactly that.
func (a *Allocated) With(more Source) (*Combined, error) {
	if a.Stage != "rest" {
		return nil, requestf("the tasks have no pilot yet: add it to the counts, and ask again")
	}
	counts, _, _, err := countsOf(more)
	if err != nil {
		return nil, err
	}
	given := make(map[string]estimate.Stage, len(counts))
	for i, id := range more.IDs {
		if _, there := given[id]; there {
			return nil, requestf("the further rollouts have task %s twice: add its counts up", id)
		}
		given[id] = counts[i]
	}
	stages := make([][]estimate.Stage, len(a.Tasks))
	for i, t := range a.Tasks {
		first, second := a.counts[i], given[t.ID]
		if second.Rollouts != t.Next {
			return nil, requestf("task %s has %d further rollouts, and was to get %d: the mean is unbiased with exactly those", t.ID, second.Rollouts, t.Next)
		}
		delete(given, t.ID)
		first.Weight, second.Weight = a.Weight, 1-a.Weight
		stages[i] = []estimate.Stage{first, second}
	}
	for id := range given {
		return nil, requestf("task %s is none of those that got something", id)
	}
	r, err := a.known.Of(stages, a.subject.Prior())
	if err != nil {
		return nil, err
	}
	return &Combined{a.Budget * len(stages), r.Estimate, r.StandardError, r.Interval, r.SampleError, r.Uniform}, nil
}

// Text writes the estimate for people.
func (c *Combined) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, `  mean         %.4f ± %.4f, 95%% interval %.4f to %.4f
  other tasks  ± %.4f, %.4f to %.4f, for what these tasks are a sample of
  rollouts     %d
  Uniform      would have needed %.1f rollouts per task for this error (%.1f to %.1f)
`, c.Mean, c.StandardError, c.Interval[0], c.Interval[1], c.StandardErrorTasks, c.IntervalTasks[0], c.IntervalTasks[1],
		c.Rollouts, c.Uniform.Budget, c.Uniform.Interval[0], c.Uniform.Interval[1])
	return err
}
