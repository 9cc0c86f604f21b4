package evaluate

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/method/staged"
)

// Suite says which benchmarks are evaluated as one, and what each weighs.
type Suite struct {
	Names   []string  // ids of the configuration, built in, or task files
	Weights []float64 // relative to their sum; none: alike
	Micro   bool      // in the place of Weights, by the numbers of tasks: all tasks weigh alike
}

// OpenSuite reads the tasks of several benchmarks, which are evaluated under one budget:
// the mean is that of the benchmarks' means by their weights, and rollouts go where they
// help it most. A single one is that benchmark. What is wrong is a *RequestError.
func (a Archive) OpenSuite(s Suite) (*Benchmark, error) {
	if len(s.Weights) > 0 && len(s.Weights) != len(s.Names) {
		return nil, requestf("%d of --weight for %d of --benchmark: want one for each, in their order, or none", len(s.Weights), len(s.Names))
	}
	if i := slices.IndexFunc(s.Weights, func(w float64) bool { return !(w > 0 && w < 1e9) }); i >= 0 {
		return nil, requestf("--weight %v: want a positive number", s.Weights[i])
	}
	if len(s.Names) <= 1 {
		return a.OpenBenchmark(strings.Join(s.Names, ""))
	}
	suite := &Benchmark{Archive: a}
	var ids []string
	total := 0.0
	for k, name := range s.Names {
		b, err := a.OpenBenchmark(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(ids, b.tasks.ID) {
			return nil, requestf("benchmark %s is there twice", b.tasks.ID)
		}
		weight := 1.0
		if s.Micro {
			weight = float64(len(b.tasks.Tasks))
		} else if len(s.Weights) > 0 {
			weight = s.Weights[k]
		}
		suite.join(b, weight)
		ids, total = append(ids, b.tasks.ID), total+weight
	}
	for k := range suite.parts {
		p := &suite.parts[k]
		p.Weight /= total
		suite.shares = append(suite.shares, slices.Repeat([]float64{p.Weight / float64(p.Tasks)}, p.Tasks)...)
	}
	if suite.tasks.ID = strings.Join(ids, "+"); len(suite.tasks.ID) > longestID {
		digest := sha256.Sum256([]byte(suite.tasks.ID))
		suite.tasks.ID = fmt.Sprintf("%.60s+%d-more-%x", ids[0], len(ids)-1, digest[:4])
	}
	return suite, nil
}

// longestID keeps the name of a suite's folder within what file systems take: where its
// benchmarks are longer, it is the first one with a digest of all.
const longestID = 120

// floors sets the rollouts that each benchmark of a suite has at least: a number per task, or
// policy.SuiteFloor of a budget.
func (b *Benchmark) floors(setup *evaluation.Setup, given *float64) error {
	floor := policy.SuiteFloor * float64(setup.Budget)
	switch {
	case given == nil && (len(b.parts) == 0 || setup.Stop != nil):
		return nil
	case given == nil:
	case len(b.parts) == 0:
		return requestf("--floor %v is of several benchmarks: name them with --benchmark", *given)
	case setup.Stop != nil:
		return requestf("--floor %v is part of a budget: give it a --budget", *given)
	case !(*given >= 0 && *given <= float64(setup.Budget)):
		return requestf("--floor %v: want 0 to the budget, %d rollouts per task", *given, setup.Budget)
	default:
		floor = *given
	}
	for _, p := range b.parts {
		if floor > 0 {
			setup.Design.Cells = append(setup.Design.Cells, staged.Cell{Tasks: p.Tasks, Least: policy.FloorOf(p.Tasks, floor)})
		}
	}
	return nil
}

// join adds a benchmark. Its tasks are named by it.
func (b *Benchmark) join(other *Benchmark, weight float64) {
	b.parts = append(b.parts, evaluation.Part{
		Benchmark: other.tasks.ID, Weight: weight, First: len(b.tasks.Tasks), Tasks: len(other.tasks.Tasks),
	})
	b.files = append(b.files, other.tasks)
	b.tasks.Path = strings.TrimPrefix(b.tasks.Path+", "+other.tasks.Path, ", ")
	for _, t := range other.tasks.Tasks {
		t.ID, t.Index = t.Benchmark+"/"+t.ID, len(b.tasks.Tasks)
		if t.Cluster != "" {
			t.Cluster = t.Benchmark + "/" + t.Cluster
		}
		b.tasks.Tasks = append(b.tasks.Tasks, t)
	}
}

// again opens the benchmarks of a stored result: those that are named, by files that are
// elsewhere, say, or those that it names itself.
func (a Archive) again(r *evaluation.Result, names []string) (*Benchmark, error) {
	if parts := max(1, len(r.Suite)); len(names) > 0 && len(names) != parts {
		return nil, requestf("%d names for %d benchmarks of %s: want one for each", len(names), parts, r.Benchmark)
	}
	s := Suite{Names: names}
	for _, p := range r.Suite {
		s.Weights = append(s.Weights, p.Weight)
		if len(names) == 0 {
			s.Names = append(s.Names, p.Benchmark)
		}
	}
	if len(s.Names) == 0 {
		s.Names = []string{r.Benchmark}
	}
	return a.OpenSuite(s)
}

// TasksOf returns the tasks of a stored result: of the configuration, or of files that are named,
// one for each benchmark.
func (a Archive) TasksOf(r *evaluation.Result, files []string) ([]benchmark.Task, error) {
	b, err := a.again(r, files)
	if err != nil {
		return nil, err
	}
	return b.tasks.Tasks, nil
}
