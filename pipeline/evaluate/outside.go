package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/protocol"
	"speceval/pipeline/experiment"
)

// Bounds of donors: the time that a design takes, and sums that are exact.
const (
	mostDonors = 64
	mostOfTask = 1 << 30 // rollouts
)

// unnamed is a benchmark or model that has no name.
const unnamed = "unnamed"

// Setup is the evaluation that a program asks for, which runs its rollouts itself and tells the
// tasks by their ids alone; with was and its result r, one that adds rollouts to that. A fault of
// what it asks for is a *protocol.FieldError.
func (a Archive) Setup(m evaluation.Spec, was *evaluation.Setup, r *evaluation.Result) (setup *evaluation.Setup, notes []string, err error) {
	if was == nil {
		setup, notes, err = a.setup(m)
	} else {
		setup, err = extended(m, was, r)
	}
	if err == nil {
		added := setup.Budget
		if r != nil {
			added -= r.Rollouts / r.Tasks // of what is extended
		}
		setup.Design.Rounds = m.Rounds
		if least := added + max(1, len(setup.Design.Fractions)); m.Rounds != 0 && m.Rounds < least {
			err = protocol.Faultf("rounds", "%d rounds through all tasks have no room for the noisy ones at a budget of %d: want %d at least, and better %d", m.Rounds, setup.Budget, least, 4*added)
		} else if fault := setup.Check(); fault != nil {
			err = &RequestError{fault}
		}
	}
	var request *RequestError
	if errors.As(err, &request) {
		field := "start"
		if flag, of := strings.CutPrefix(err.Error(), "--"); of {
			flag, _, _ = strings.Cut(flag, " ")
			field = strings.ReplaceAll(strings.TrimSuffix(flag, ":"), "-", "_")
		}
		err = protocol.Faultf(field, "%v", err)
	}
	return setup, notes, err
}

// extended is the setup of an evaluation that adds rollouts to another one. What it is of is
// what that is of.
func extended(m evaluation.Spec, was *evaluation.Setup, r *evaluation.Result) (*evaluation.Setup, error) {
	asked := m
	asked.Budget, asked.Tasks, asked.Benchmark, asked.Model, asked.Places, asked.Rounds, asked.Ahead = 0, nil, "", "", 0, 0, nil
	if !reflect.DeepEqual(asked, evaluation.Spec{}) {
		return nil, protocol.Faultf("extend", "it goes with budget, places, rounds and ahead alone: the rest is as it was")
	}
	if m.Model != "" && m.Model != was.Model || m.Benchmark != "" && m.Benchmark != was.Benchmark {
		return nil, protocol.Faultf("extend", "it is of %s on %s, and not of %s on %s", was.Model, was.Benchmark, cmp.Or(m.Model, unnamed), cmp.Or(m.Benchmark, unnamed))
	}
	setup := &evaluation.Setup{
		Head: evaluation.Head{Benchmark: was.Benchmark, Model: was.Model, Seed: was.Seed}, TaskIDs: was.TaskIDs, Clusters: was.Clusters, PassK: was.PassK, Asked: was.Asked,
	}
	return setup, extendSetup(setup, was, r, was.Name(), m.Budget)
}

func (a Archive) setup(m evaluation.Spec) (*evaluation.Setup, []string, error) {
	if err := checkTasks(m.Tasks); err != nil {
		return nil, nil, err
	}
	var notes []string
	say := func(text string) { notes = append(notes, text) }
	s, err := a.subject(m)
	if err != nil {
		return nil, nil, err
	}
	setup, err := s.requested(context.Background(), m, say)
	if err != nil {
		return nil, nil, err
	}
	if setup.Shares, err = shares(m.Weights, len(m.Tasks)); err != nil {
		return nil, nil, err
	}
	if len(m.Clusters) != 0 && len(m.Clusters) != len(m.Tasks) {
		return nil, nil, protocol.Faultf("clusters", "of %d tasks, want %d", len(m.Clusters), len(m.Tasks))
	}
	setup.Clusters, setup.Asked = m.Clusters, map[string]string{}
	if setup.Design, err = s.designOf(context.Background(), &setup, m.Stages, max(1, m.Places)); err != nil {
		return nil, nil, err
	}
	return &setup, notes, nil
}

// subject is the model and the tasks of a program, with the donors that it has itself.
func (a Archive) subject(m evaluation.Spec) (*Subject, error) {
	file := experiment.TaskFile{ID: cmp.Or(m.Benchmark, unnamed)}
	for i, id := range m.Tasks {
		file.Tasks = append(file.Tasks, benchmark.Task{Benchmark: file.ID, ID: id, Index: i})
	}
	b := &Benchmark{Archive: a, tasks: file, files: []experiment.TaskFile{file}, outside: true}
	if len(m.Donors)+len(m.Prior) > mostDonors {
		return nil, protocol.Faultf("donors", "%d donors: want %d at most", len(m.Donors)+len(m.Prior), mostDonors)
	}
	for i, d := range m.Donors {
		name := cmp.Or(d.Name, unnamed)
		fault := func(format string, args ...any) (*Subject, error) {
			return nil, protocol.Faultf(fmt.Sprintf("donors[%d]", i), "%s: %s", name, fmt.Sprintf(format, args...))
		}
		if len(d.Rollouts) != len(m.Tasks) || len(d.Passes) != len(m.Tasks) {
			return fault("rollouts of %d and passes of %d tasks, want %d", len(d.Rollouts), len(d.Passes), len(m.Tasks))
		}
		for k, n := range d.Rollouts {
			if n < 0 || n > mostOfTask || d.Passes[k] < 0 || d.Passes[k] > n {
				return fault("%d passes of %d rollouts of its task %d: want 0 to all of them, and %d rollouts at most", d.Passes[k], n, k, mostOfTask)
			}
		}
		b.inline = append(b.inline, evaluation.Donor{Name: name, Source: "the program", Same: d.Same, Counts: evaluation.Counts{Passes: d.Passes, Rollouts: d.Rollouts}})
	}
	return b.With(cmp.Or(m.Model, unnamed))
}

// checkTasks says what is wrong with the ids of tasks, if anything.
func checkTasks(ids []string) error {
	if len(ids) < 2 {
		return protocol.Faultf("tasks", "%d ids: want 2 at least", len(ids))
	}
	seen := make(map[string]int, len(ids))
	for i, id := range ids {
		if at, there := seen[id]; there || id == "" {
			return protocol.Faultf(fmt.Sprintf("tasks[%d]", i), "the id %q is empty, or that of another task: tasks[%d]", id, at)
		}
		seen[id] = i
	}
	return nil
}

// shares are weights of tasks as shares of one; nil where all are alike.
func shares(weights []float64, tasks int) ([]float64, error) {
	if len(weights) == 0 {
		return nil, nil
	}
	sum := 0.0
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, protocol.Faultf(fmt.Sprintf("weights[%d]", i), "%v: want a positive number", w)
		}
		sum += w
	}
	if len(weights) != tasks {
		return nil, protocol.Faultf("weights", "of %d tasks, want %d", len(weights), tasks)
	}
	all := slices.Clone(weights)
	for i := range all {
		if all[i] /= sum; !(all[i] > 0) {
			return nil, protocol.Faultf(fmt.Sprintf("weights[%d]", i), "%v is negligible against the sum of all, %v", weights[i], sum)
		}
	}
	return all, nil
}
