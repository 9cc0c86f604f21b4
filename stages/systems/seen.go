package systems

import (
	"speceval/internal/fleet"
	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/store/group"
	"speceval/method/controller"
	"speceval/pipeline/dag"
)

// timedSetting is a setting with its runs on servers under coupled rewards.
type timedSetting struct {
	*setting
	executions []execution
	runs       []measurement.Run
	requests   []measurement.Request // of Uniform and its equivalent alone
	prompts    []int                 // tokens, by task
	seen       map[rollout]int

	scales []float64 // by repeat: of the times that the speed says, that Uniform's come out in sum
}

// rollout is one of Uniform's in one run.
type rollout struct {
	strategy string
	repeat   int
	id       controller.ID
}

// timed reads the settings of a model that have runs. Of requests only Uniform's
// are kept.
func timed(job *dag.Job, settings []*setting) ([]*timedSetting, error) {
	var found []*timedSetting
	for _, s := range settings {
		t := &timedSetting{setting: s}
		var err error
		if t.runs, err = dag.ReadRows[measurement.Run](job, s.runsFile(measuredKind)); err != nil {
			return nil, err
		}
		if len(t.runs) == 0 {
			continue
		}
		plan, err := s.readPlan(job)
		if err != nil {
			return nil, err
		}
		if t.executions, err = s.executions(job, plan, t.measuredRepeats()); err != nil {
			return nil, err
		}
		rows, err := dag.ReadRows[measurement.Request](job, s.requestsFile(measuredKind))
		if err != nil {
			return nil, err
		}
		t.keepUniform(rows)
		found = append(found, t)
	}
	return found, nil
}

// keepUniform keeps the requests of Uniform, and their lengths.
func (t *timedSetting) keepUniform(rows []measurement.Request) {
	tasks := make(map[string]int32, t.pair.N())
	for i, id := range t.pair.TaskIDs {
		tasks[id] = int32(i)
	}
	t.seen, t.prompts = make(map[rollout]int), make([]int, t.pair.N())
	for _, r := range rows {
		if !ofUniform(r.Strategy) {
			continue
		}
		task := tasks[r.Task]
		id := controller.ID{Task: task, Phase: controller.Pilot, Ordinal: r.Ordinal}
		if r.Phase != controller.Pilot.String() {
			id.Phase = controller.Continuation
		}
		t.seen[rollout{r.Strategy, int(r.Repeat), id}] = int(r.CompletionTokens)
		t.prompts[task] = int(r.PromptTokens)
		t.requests = append(t.requests, r)
	}
}

// served is the requests that each replica served in each of Uniform's runs, in seconds
// without the scales.
func (t *timedSetting) served() []fleet.Served {
	type replicaKey struct {
		strategy        string
		repeat, replica int32
	}
	var all []fleet.Served
	for _, requests := range group.By(t.requests, func(r measurement.Request) replicaKey { return replicaKey{r.Strategy, r.Repeat, r.Replica} }) {
		scale, served := t.scales[requests[0].Repeat], fleet.Served(nil)
		for _, r := range requests {
			served = append(served, fleet.ServedRequest{
				Submitted: r.Submitted / scale, Finished: r.Finished / scale, Prompt: int(r.PromptTokens), Tokens: int(r.CompletionTokens),
			})
		}
		all = append(all, served)
	}
	return all
}

// lengths gives a rollout the length that it had in one of Uniform's runs of
// the setting: strategies share rollouts with their seeds, so that it is the
// same text. One that Uniform had no use for has the length of some rollout of
// its task, in any of Uniform's runs of the profile.
func (o *observed) lengths(s *timedSetting, e execution, draw int) func(controller.ID) (prompt, tokens int) {
	strategy := policy.UniformAtBudget.Name
	if e.strategy.Equivalent {
		strategy = e.strategy.Name
	}
	repeat := draw % s.measuredRepeats()
	if o.tasks == nil {
		o.tasks = make(map[benchmarkTask][]int)
		for _, other := range o.settings { // in the order of the settings and their rows
			for _, r := range other.requests {
				k := benchmarkTask{other.pair.Benchmark, r.Task}
				o.tasks[k] = append(o.tasks[k], int(r.CompletionTokens))
			}
		}
	}
	random := s.seed().Child("predictions").Index(s.budget).Child(e.strategy.Name).Index(draw).Stream()
	return func(id controller.ID) (prompt, tokens int) {
		if tokens, there := s.seen[rollout{strategy, repeat, id}]; there {
			return s.prompts[id.Task], tokens
		}
		all := o.tasks[benchmarkTask{s.pair.Benchmark, s.pair.TaskIDs[id.Task]}]
		own := random.At(uint64(id.Task)<<33 | uint64(id.Phase)<<32 | uint64(uint32(id.Ordinal)))
		return s.prompts[id.Task], all[int(own.Float64()*float64(len(all)))]
	}
}

// benchmarkTask names a task.
type benchmarkTask struct{ benchmark, task string }
