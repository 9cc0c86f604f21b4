package systems_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/systems"
)

// theTruth is how fast the servers of a course are.
var theTruth = virtual.Settings{
	Timing: fleet.Small, Replicas: replicas, Window: 8, Latency: 6 * time.Millisecond,
	Handling: 50 * time.Microsecond, Computation: 100 * time.Microsecond,
}

// course is a lab whose measured runs are those under a virtual clock, with a
// known speed. Strategies share rollouts and their lengths, as on servers.
type course struct {
	*lab
	spoil func(runs []measurement.Run, requests []measurement.Request) // before they are stored; nil: nothing
}

const courseModel = "qwen3_5_4b"

func newCourse(t *testing.T) *course {
	c := &course{lab: newLab(t)}
	p := profile.Profile{Benchmark: "quiz", Model: courseModel, TestedK: 16}
	for i := range 40 {
		p.TaskIDs, p.PassCounts = append(p.TaskIDs, fmt.Sprint(i)), append(p.PassCounts, max(0, i%24-7))
	}
	c.know(p)
	c.settings.Budgets = []int{6, 16}
	c.designs, c.ratios = nil, nil
	for budget, m := range map[int32]int32{6: 2, 16: 5} {
		c.designs = append(c.designs, variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: 40, Budget: budget, M: m, W: 0.4, Selected: true})
		c.ratios = append(c.ratios, variance.Ratio{Subject: variance.Subject{Benchmark: "quiz", Model: courseModel, NTasks: 40, Budget: budget, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 0.8})
	}
	c.settings.Simulated.Repeats = 1
	c.settings.Simulated.Worker = func(_ profile.Profile, budget int, _ seed.Seed) (virtual.Settings, error) {
		s, random := theTruth, seed.Root(uint64(budget)).Stream()
		s.Lengths = func(id controller.ID) (prompt, tokens int) {
			own := random.At(uint64(id.Task)<<20 | uint64(id.Phase)<<16 | uint64(id.Ordinal))
			spread := own.Float64() + own.Float64() + own.Float64() - 1.5
			return 20 + int(id.Task), 1 + int(math.Exp(4+float64(1.5*spread)+float64(id.Task%5)/4))
		}
		return s, nil
	}
	c.settings.Measured = &systems.Measured{
		Repeats: []int{1, 1}, Replicas: replicas, Window: theTruth.Window,
		Tasks: map[string]systems.Tasks{"quiz": {Source: dag.Source{Name: "quiz.jsonl", SHA256: "q"}}},
	}
	return c
}

// courses are the stages, with simulated runs in the place of measured ones.
func (c *course) courses() []dag.Stage {
	stages := c.stages()
	for i := range stages[2].Units {
		u := &stages[2].Units[i]
		if kind, of, _ := strings.Cut(u.ID, "/"); kind == "measured" {
			u.Needs = append(u.Needs, dag.Ref{Stage: "systems", Unit: "simulated/" + of})
			u.Provenance, u.Run = measurement.Simulated, c.measure(u.Outputs)
		}
	}
	return stages
}

// predict runs everything and returns what is predicted.
func (c *course) predict() map[string]measurement.Prediction {
	c.t.Helper()
	dagtest.Run(c.t, c.courses(), c.dir)
	all := map[string]measurement.Prediction{}
	for _, p := range read[measurement.Prediction](c.t, c.dir, measurement.PredictionsFile) {
		all[fmt.Sprintf("%s at %d", p.Strategy, p.Budget)] = p
	}
	return all
}

// measure makes the outputs of a measured unit out of a simulated one's.
func (c *course) measure(outputs []string) func(context.Context, *dag.Job) error {
	return func(_ context.Context, job *dag.Job) error {
		runs := read[measurement.Run](c.t, c.dir, strings.Replace(outputs[0], "measured", "simulated", 1))
		requests := read[measurement.Request](c.t, c.dir, strings.Replace(outputs[1], "measured", "simulated", 1))
		repeats := int32(c.settings.Measured.Repeats[slices.Index(c.settings.Budgets, int(runs[0].ReferenceBudget))])
		runs = slices.DeleteFunc(runs, func(r measurement.Run) bool { return r.Repeat >= repeats })
		requests = slices.DeleteFunc(requests, func(r measurement.Request) bool { return r.Repeat >= repeats })
		if c.spoil != nil {
			c.spoil(runs, requests)
		}
		err := job.Write(outputs[0], len(runs), func(w io.Writer) error { return rowfile.Write(w, runs, nil) })
		if err != nil {
			return err
		}
		return job.Write(outputs[1], len(requests), func(w io.Writer) error { return rowfile.Write(w, requests, nil) })
	}
}

// TestPredictionsComeTrue: the fit may be off by half a percent of a step, and
// the lengths of rollouts that Uniform never ran are drawn: HBN's times must
// come within 2%, or four standard deviations of a draw if that is more.
func TestPredictionsComeTrue(t *testing.T) {
	c := newCourse(t)
	all := c.predict()
	if len(all) != 8 {
		t.Fatalf("%d predictions, want 8", len(all))
	}
	for what, p := range all {
		off := math.Abs(p.Predicted - p.Measured)
		switch p.Strategy {
		case policy.UniformAtBudget.Name, policy.UniformEquivalent.Name:
			if off > 0.005*p.Measured {
				t.Errorf("%s took %v s, executed again %v s", what, p.Measured, p.Predicted)
			}
		default:
			if off > max(0.02*p.Measured, 4*p.PredictedSD) || p.PredictedSD > 0.05*p.Predicted {
				t.Errorf("%s took %v s, predicted are %v s, with a spread of %v", what, p.Measured, p.Predicted, p.PredictedSD)
			}
		}
		if p.NTasks != 40 || p.Runs != 1 || p.Draws < 8 || math.Abs(p.Scale-1) > 0.01 || !math.IsNaN(p.MeasuredSE) || !math.IsNaN(p.DifferenceSE) {
			t.Errorf("%s: %+v", what, p)
		}
	}
	speeds := read[measurement.Speed](t, c.dir, measurement.SpeedsFile)
	if len(speeds) != 1 {
		t.Fatalf("%d speeds, want 1", len(speeds))
	}
	s, step := speeds[0], theTruth.Timing.Steps(fleet.Load{Sequences: 8}, 1).Seconds()
	if s.Model != courseModel || s.Runs != 4 || s.Requests != 40*(6+7+16+20) || math.Abs(s.Base+8*s.Sequence-step) > 0.005*step {
		t.Errorf("%+v, a step of 8 takes %v s", s, step)
	}
}

// TestEverySettingHasItsScale has a machine that was slower at one budget: what
// is predicted there must be as much longer.
func TestEverySettingHasItsScale(t *testing.T) {
	want := newCourse(t).predict()
	c := newCourse(t)
	c.spoil = func(runs []measurement.Run, requests []measurement.Request) {
		if runs[0].ReferenceBudget != 16 {
			return
		}
		for i := range runs {
			runs[i].Time *= 1.5
		}
		for i := range requests {
			requests[i].Submitted, requests[i].Finished = 1.5*requests[i].Submitted, 1.5*requests[i].Finished
		}
	}
	for what, p := range c.predict() {
		slower := 1.0
		if p.Budget == 16 {
			slower = 1.5
		}
		if longer := p.Predicted / want[what].Predicted; math.Abs(longer-slower) > 0.02*slower {
			t.Errorf("%s: predicted is %v times as long, want %v", what, longer, slower)
		}
	}
	if s := read[measurement.Speed](t, c.dir, measurement.SpeedsFile)[0]; s.Residual > 0.03 {
		t.Errorf("one speed fits requests of both budgets to %v", s.Residual)
	}
}

// TestErrorsAreOfAllSettings has runs of HBN that take 0.9, 1 and 1.1 times as long
// at one budget, and single runs at the other: all have a relative spread of 0.1.
func TestErrorsAreOfAllSettings(t *testing.T) {
	c := newCourse(t)
	c.settings.Simulated.Repeats, c.settings.Measured.Repeats = 3, []int{3, 1}
	c.spoil = func(runs []measurement.Run, _ []measurement.Request) {
		for i := range runs {
			if r := &runs[i]; r.ReferenceBudget == 6 && strings.HasPrefix(r.Strategy, "hbn") {
				r.Time *= 0.9 + 0.1*float64(r.Repeat)
			}
		}
	}
	for what, p := range c.predict() {
		spread := math.Sqrt(p.DifferenceSE*p.DifferenceSE-p.PredictedSD*p.PredictedSD) * math.Sqrt(float64(p.Runs)) / p.Predicted
		if math.Abs(spread-0.1) > 0.02 {
			t.Errorf("%s: a run has an error of %v, want 0.1: %+v", what, spread, p)
		}
		if runs := map[int32]int32{6: 3, 16: 1}[p.Budget]; p.Runs != runs {
			t.Errorf("%s: %d runs, want %d", what, p.Runs, runs)
		}
	}
}

// TestPredictionsKnowUniformAlone spoils every number of HBN's runs: nothing
// that is predicted may change.
func TestPredictionsKnowUniformAlone(t *testing.T) {
	want := newCourse(t).predict()
	c := newCourse(t)
	c.spoil = func(runs []measurement.Run, requests []measurement.Request) {
		for i := range runs {
			if r := &runs[i]; strings.HasPrefix(r.Strategy, "hbn") {
				r.Time, r.Handling, r.Accepted = 100*r.Time, 100*r.Handling, 1
			}
		}
		for i := range requests {
			if r := &requests[i]; strings.HasPrefix(r.Strategy, "hbn") {
				r.CompletionTokens, r.PromptTokens, r.Submitted, r.Finished, r.Replica = 3*r.CompletionTokens+1, 7, 1, 2, 0
			}
		}
	}
	for what, p := range c.predict() {
		w := want[what]
		if p.Predicted != w.Predicted || p.PredictedSD != w.PredictedSD {
			t.Errorf("%s: %v s ± %v is predicted, and %v s ± %v without the runs of HBN", what, p.Predicted, p.PredictedSD, w.Predicted, w.PredictedSD)
		}
		if hbn := strings.HasPrefix(p.Strategy, "hbn"); hbn == (p.Measured == w.Measured) {
			t.Errorf("%s: measured are %v s and %v s", what, p.Measured, w.Measured)
		}
	}
}

// TestWhatCannotBePredicted has runs that say nothing, and replicas in which
// requests wait.
func TestWhatCannotBePredicted(t *testing.T) {
	for want, spoil := range map[string]func(*course){
		"cannot be": func(c *course) {
			c.spoil = func(_ []measurement.Run, requests []measurement.Request) {
				for i := range requests {
					requests[i].Finished = 0
				}
			}
		},
		"only 4 run at a time": func(c *course) { c.settings.Measured.MaxSequences = map[string]int{courseModel: 4} },
	} {
		c := newCourse(t)
		spoil(c)
		if all := c.predict(); len(all) != 0 {
			t.Errorf("%d predictions though %q", len(all), want)
		}
		manifest, err := os.ReadFile(filepath.Join(c.dir, "manifests", "systems", "predictions.json"))
		if err != nil || !strings.Contains(string(manifest), "no times of "+courseModel+" are predicted") || !strings.Contains(string(manifest), want) {
			t.Errorf("%v: the manifest does not say %q:\n%s", err, want, manifest)
		}
	}
}
