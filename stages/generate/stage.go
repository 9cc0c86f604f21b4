// Package generate is the stage that samples rollouts of every task from vLLM
// servers (paper, Appendix B.1): one unit a benchmark and model, K rollouts of
// each task, each under a seed of its own. What has arrived is stored and never
// asked for again; an answer that is lost under way goes on from what was seen of
// it. Where profiles stand in for rollouts the stage has nothing to run.
package generate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/sampler"
	"speceval/internal/machine/clock"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/pipeline/dag"
)

// Name and version of the stage.
const (
	name    = "generate"
	about   = "rollouts of every task, sampled from vLLM servers"
	version = 1
)

// partRows is the number of rollouts of a part, but for the last of a unit: at
// K = 1024 those of eight tasks, some ten to a hundred megabytes.
const partRows = 8192

// Settings are the settings of the stage.
type Settings struct {
	Seed       uint64
	Rollouts   int // K, of every task
	Benchmarks []Benchmark
	Models     []Model

	// Config is the part of the configuration that every rollout depends on.
	Config map[string]string
	// OnLoss is the rule for an answer that is lost while it comes in.
	OnLoss vllm.OnLoss
	// Servers finds replicas that serve a model, called for every unit that
	// has something to ask. Waiting for them ends when drain is closed.
	Servers func(ctx context.Context, model string, drain <-chan struct{}) (Servers, error)
	Clock   clock.Clock
}

// Benchmark is a benchmark to sample.
type Benchmark struct {
	ID     string
	Tasks  []benchmark.Task
	Source dag.Source // of what is asked
}

// Model is who is asked.
type Model struct {
	ID       string
	Sampling vllm.Sampling
	Config   string // canonical text of what its rollouts depend on
	// Expect returns the expected use of a benchmark's requests, for plans.
	Expect func(benchmark string, requests int) []dag.Quantity
}

// Servers are sampler.Servers that are leased.
type Servers interface {
	sampler.Servers
	// Resent counts the requests that were sent again, of everybody.
	Resent() int
	// Versions are the versions of the servers, without repetition, sorted.
	Versions() []string
	// Release gives the servers back.
	Release()
}

// Satisfied is the stage where profiles stand in for rollouts; standIn says
// which, for plans.
func Satisfied(standIn string) dag.Stage {
	return dag.Stage{Name: name, About: about, Version: version, Satisfied: standIn}
}

// Stage is the stage with a unit for every model on every benchmark, one model
// after the other, so that servers change models as seldom as can be.
func Stage(s Settings) dag.Stage {
	stage := dag.Stage{Name: name, About: about, Version: version, Shared: map[string]string{rolloutsKey: askedAgain}}
	for _, b := range s.Benchmarks {
		stage.Shared[b.Source.Name] = askedAgain
	}
	root := seed.Root(s.Seed).Child(name)
	for m := range s.Models {
		for b := range s.Benchmarks {
			c := &sampledRollouts{
				Settings: &s, benchmark: &s.Benchmarks[b], model: &s.Models[m],
				asked: sampler.Corpus{
					Benchmark: s.Benchmarks[b].ID, Model: s.Models[m].ID, Tasks: s.Benchmarks[b].Tasks, Sampling: s.Models[m].Sampling,
					Seed: root.Child(s.Benchmarks[b].ID).Child(s.Models[m].ID),
				},
			}
			stage.Units = append(stage.Units, c.unit())
		}
	}
	return stage
}

// rolloutsKey is the configuration key of Rollouts. askedAgain says what a change of it, or of a prompt, costs.
const (
	rolloutsKey = "corpus.rollouts_per_task"
	askedAgain  = "all tasks are asked again, those too that stay as they are, and the rollouts that are there move aside"
)

// sampledRollouts is the rollouts of one model on one benchmark.
type sampledRollouts struct {
	*Settings
	benchmark *Benchmark
	model     *Model
	asked     sampler.Corpus
}

func (c *sampledRollouts) unit() dag.Unit {
	u := dag.Unit{
		ID:      c.benchmark.ID + "/" + c.model.ID,
		Config:  maps.Clone(c.Config),
		Seed:    c.asked.Seed.Label(),
		Sources: []dag.Source{c.benchmark.Source},
		Run:     c.run,
	}
	u.Config["model"] = c.model.Config
	for p := range c.parts() {
		u.Outputs = append(u.Outputs, c.output(p))
	}
	if c.model.Expect != nil {
		u.Expect = c.model.Expect(c.benchmark.ID, c.total())
	}
	return u
}

// total is the number of rollouts.
func (c *sampledRollouts) total() int { return len(c.benchmark.Tasks) * c.Rollouts }

// parts is the number of files that they are kept in.
func (c *sampledRollouts) parts() int { return (c.total() + partRows - 1) / partRows }

// output is the file of a part.
func (c *sampledRollouts) output(part int) string {
	return fmt.Sprintf("generate/benchmark=%s/model=%s/part-%04d.parquet", c.benchmark.ID, c.model.ID, part)
}

// id is the rollout at a place of the corpus. Places count the rollouts of the
// first task, then the rollouts of the second.
func (c *sampledRollouts) id(place int) rollout.ID {
	return rollout.ID{Task: int32(place / c.Rollouts), Rollout: int32(place % c.Rollouts)}
}

// place is where a rollout is.
func (c *sampledRollouts) place(id rollout.ID) int { return int(id.Task)*c.Rollouts + int(id.Rollout) }

const (
	// manyFailures is how many requests in a row may fail before a unit ends:
	// something is wrong that no further request mends.
	manyFailures = 100
	// shownTasks bounds the tasks that an error names.
	shownTasks = 10
)

// faults are the requests of a unit that failed for good. A task that servers
// refuse is left alone; the others go on. Its methods may be called
// concurrently.
type faults struct {
	mu    sync.Mutex
	tasks map[int]*taskFault
	row   int // failures since the last success
}

// taskFault is the failures of a task.
type taskFault struct {
	first    error
	count    int
	rejected bool
}

// noteFailure notes a failed request. fatal is not nil if the unit should end: no other request can
// do better where servers want another key, know no such model, or none is left.
func (f *faults) noteFailure(task int, err error) (fatal error) {
	failure, lost := (*vllm.Error)(nil), errors.Is(err, vllm.ErrLost)
	if !lost && (!errors.As(err, &failure) || failure.Kind == vllm.Unauthorized || failure.Kind == vllm.UnknownModel) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tasks == nil {
		f.tasks = make(map[int]*taskFault)
	}
	if f.tasks[task] == nil {
		f.tasks[task] = &taskFault{first: err}
	}
	t := f.tasks[task]
	t.count++
	if lost || failure.Kind == vllm.Rejected || failure.Kind == vllm.NotContinued { // of this task or rollout alone
		t.rejected = t.rejected || !lost && failure.Kind == vllm.Rejected
		return nil
	}
	if f.row++; f.row >= manyFailures {
		return fmt.Errorf("%d requests in a row failed, the last one: %w", f.row, err)
	}
	return nil
}

func (f *faults) success() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.row = 0
}

// refused reports whether a request of the task was rejected: the others would
// be too, since only their seeds differ.
func (f *faults) refused(task int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tasks[task]
	return t != nil && t.rejected
}

// err names the tasks whose rollouts are not complete, and why; nil if there are none.
func (f *faults) err(c *sampledRollouts) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.tasks) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tasks have rollouts missing; all others are stored, and running again asks for the missing ones alone", len(f.tasks), len(c.benchmark.Tasks))
	for i, task := range slices.Sorted(maps.Keys(f.tasks)) {
		if i == shownTasks {
			fmt.Fprintf(&b, "\nand %d more", len(f.tasks)-shownTasks)
			break
		}
		t := f.tasks[task]
		if t.rejected {
			fmt.Fprintf(&b, "\n%s is refused: %v", c.benchmark.Tasks[task].ID, t.first)
		} else {
			fmt.Fprintf(&b, "\n%s, %d failed requests, the first: %v", c.benchmark.Tasks[task].ID, t.count, t.first)
		}
	}
	return errors.New(b.String())
}
