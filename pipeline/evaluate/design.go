package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"speceval/internal/atomicfile"
	"speceval/internal/evaluation"
	"speceval/internal/variance"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// designSeed is that of all designs that are computed for evaluations, so that a
// design does not depend on which evaluation came first.
const designSeed = 42

// designOf is the design of an evaluation on servers with so many places: the one that
// it has begun with, and otherwise what follows from its tasks, rollouts and donors.
// stages is their number if that is not to be chosen; 0: choose.
func (b *Benchmark) designOf(ctx context.Context, setup *evaluation.Setup, stages, places int, say func(string)) (evaluation.Design, error) {
	there, err := evaluation.ReadSetup(setup.Path(b.out()))
	if err == nil {
		return there.Design, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return evaluation.Design{}, err
	}
	way, err := evaluation.FindWay(setup.Policy)
	if err != nil {
		return evaluation.Design{}, err
	}
	if way.Uniform() {
		return evaluation.Design{Pilots: setup.Budget, Weight: 1, Source: "every task alike"}, nil
	}
	after := stages - 1
	if stages == 0 {
		after = way.After(len(setup.TaskIDs)*setup.Budget, places)
	}
	if after == 1 && len(setup.Donors) == 0 && !way.Adapts {
		d, source, err := storedOrComputed(ctx, b.out(), len(setup.TaskIDs), setup.Budget, say)
		return stopped(setup, evaluation.Design{Pilots: d.Pilots, Weight: d.Weight, Risk: &d.Risk, Source: source}), err
	}
	prior, err := setup.Informed()
	if err != nil {
		return evaluation.Design{}, err
	}
	d, err := inStages(ctx, prior, setup.Budget, after+1)
	return stopped(setup, evaluation.Design{
		Pilots: d.Plan.Pilots, Weight: d.Plan.Weight, Fractions: d.Plan.Fractions, Risk: &d.Risk,
		Source: fmt.Sprintf("computed for %d stages", after+1),
	}), err
}

// mostStopped is the greatest weight of a pilot where the rest follows from what it
// finds: at the largest variance that a rollout can have, 1/4, it then leaves room for
// the rest below the standard error of the plan.
const mostStopped = 0.9 * neyman.MeanVariance / 0.25

// stopped is a design for an evaluation that may stop by what it finds.
func stopped(setup *evaluation.Setup, d evaluation.Design) evaluation.Design {
	if setup.Stop != nil {
		d.Weight = min(d.Weight, mostStopped)
	}
	return d
}

// designTasks is how many tasks a design of ours simulates over all its panels, so that
// it takes some tenths of a second for any number of them.
const designTasks = 3200

// inStages is the design for tasks that are known so far, in so many stages.
func inStages(ctx context.Context, prior *informed.Prior, budget, stages int) (design.InStages, error) {
	return design.ComputeInStages(ctx, design.StagesSettings{
		Prior: prior, Budget: budget, Stages: stages, Seed: designSeed,
		Replicates: 2, Panels: min(64, max(2, designTasks/(2*prior.Tasks()))),
	})
}

// storedOrComputed is HBN's design for so many tasks and rollouts: of the replay
// stage where it has one, of an earlier evaluation, or computed and kept. source is
// its file in the output folder.
func storedOrComputed(ctx context.Context, out string, tasks, budget int, say func(string)) (d design.Design, source string, err error) {
	path := filepath.Join(out, filepath.FromSlash(variance.DesignsFile))
	if d, err = replayedDesign(path, tasks, budget); err != nil || d.Tasks > 0 {
		return d, variance.DesignsFile, err
	}
	source = fmt.Sprintf("%s/designs/tasks=%d,budget=%d.json", evaluation.Folder, tasks, budget)
	path = filepath.Join(out, filepath.FromSlash(source))
	if d, err = keptDesign(path, tasks, budget); err != nil || d.Tasks > 0 {
		return d, source, err
	}
	say(fmt.Sprintf("computing the design for %d tasks and %d rollouts per task; it is kept in %s", tasks, budget, path))
	if d, err = design.Compute(ctx, design.Settings{Tasks: tasks, Budget: budget, Seed: designSeed}); err != nil {
		return d, "", err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return d, "", err
	}
	return d, source, atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// replayedDesign finds a design that the replay stage has selected; the zero
// Design if it has none.
func replayedDesign(path string, tasks, budget int) (design.Design, error) {
	all, err := variance.ReadDesigns(path)
	if errors.Is(err, fs.ErrNotExist) {
		return design.Design{}, nil
	}
	if err != nil {
		return design.Design{}, fmt.Errorf("%w: run the replay stage again, or move the file away", err)
	}
	for _, d := range all {
		if d.Policy == variance.HBN && d.Selected && int(d.NTasks) == tasks && int(d.Budget) == budget {
			return design.Design{Tasks: tasks, Budget: budget, Pilots: int(d.M), Weight: d.W, Risk: d.Risk, RiskSE: d.RiskSE}, nil
		}
	}
	return design.Design{}, nil
}

// keptDesign reads a design that an earlier evaluation has computed; the zero
// Design if there is none.
func keptDesign(path string, tasks, budget int) (d design.Design, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err == nil && (d.Tasks != tasks || d.Budget != budget || d.Pilots < 1 || d.Pilots >= budget || !(d.Weight > 0 && d.Weight < 1)) {
		err = fmt.Errorf("it is no design for %d tasks and %d rollouts per task", tasks, budget)
	}
	if err != nil {
		return design.Design{}, fmt.Errorf("%s: %w: remove it, and it is computed again", path, err)
	}
	return d, nil
}
