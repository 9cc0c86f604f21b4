package evaluate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"speceval/internal/atomicfile"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/way"
	"speceval/internal/ownfile"
	"speceval/internal/variance"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
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
	own, err := way.Find(setup.Policy)
	if err != nil {
		return evaluation.Design{}, err
	}
	if own.Uniform() {
		return evaluation.Design{Pilots: setup.Budget, Weight: 1, Source: "every task alike"}, nil
	}
	after := stages - 1
	if stages == 0 {
		after = own.After(len(setup.TaskIDs)*setup.Budget, places)
	}
	if after == 1 && len(setup.Donors) == 0 && !own.Adapts {
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

// mostDesign is the size, in bytes, of the largest file of a design that is read.
const mostDesign = 1 << 20

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
	if d, err = replayedDesign(out, path, tasks, budget); err != nil || d.Tasks > 0 {
		return d, variance.DesignsFile, err
	}
	source = fmt.Sprintf("%s/designs/tasks=%d,budget=%d.json", evaluation.Folder, tasks, budget)
	path = filepath.Join(out, filepath.FromSlash(source))
	if d, err = keptDesign(path, tasks, budget, say); err != nil || d.Tasks > 0 {
		return d, source, err
	}
	say(fmt.Sprintf("computing the design for %d tasks and %d rollouts per task; it is kept in %s", tasks, budget, path))
	if d, err = design.Compute(ctx, design.Settings{Tasks: tasks, Budget: budget, Seed: designSeed}); err != nil {
		return d, "", err
	}
	return d, source, keepDesign(out, path, d)
}

// kept is a design in a file, with the hash of what else is in it: who edits the one
// without the other has the design computed again.
type kept struct {
	design.Design
	SHA256 string `json:"sha256"`
}

// sum is the hash of a design.
func sum(d design.Design) (string, error) {
	text, err := json.Marshal(d)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// keepDesign keeps a design for later evaluations.
func keepDesign(out, path string, d design.Design) error {
	hash, err := sum(d)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(kept{d, hash}, "", "  ")
	if err != nil {
		return err
	}
	if err := ownfile.MakeFolder(out, filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.WriteText(path, string(text)+"\n")
}

// replayedDesign finds a design that the replay stage has selected; the zero
// Design if it has none.
func replayedDesign(out, path string, tasks, budget int) (design.Design, error) {
	if fault, err := dag.Fault(out, dag.Ref{Stage: "replay", Unit: "designs"}, variance.DesignsFile); err != nil || fault != "" {
		return design.Design{}, fmt.Errorf("%s %s: run the replay stage again, or move the file away", path, cmp.Or(fault, fmt.Sprint(err)))
	}
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
// Design if there is none, or none whose hash is its own.
func keptDesign(path string, tasks, budget int, say func(string)) (d design.Design, err error) {
	text, err := ownfile.ReadFile(path, mostDesign)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	var there kept
	if err == nil {
		err = json.Unmarshal(text, &there)
	}
	d = there.Design
	if hash, wrong := sum(d); err == nil && wrong == nil && hash != there.SHA256 {
		why := "is not as it was made: damaged, or edited"
		if there.SHA256 == "" {
			why = "was made by a version that kept no hash"
		}
		say(fmt.Sprintf("%s %s: it is computed again", path, why))
		return design.Design{}, nil
	}
	if err == nil && (d.Tasks != tasks || d.Budget != budget || d.Pilots < 1 || d.Pilots >= budget || !(d.Weight > 0 && d.Weight < 1)) {
		err = fmt.Errorf("it is no design for %d tasks and %d rollouts per task", tasks, budget)
	}
	if err != nil {
		return design.Design{}, fmt.Errorf("%s: %w: remove it, and it is computed again", path, err)
	}
	return d, nil
}
