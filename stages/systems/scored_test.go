package systems_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// examiner scores the responses of the hall by their length, and counts.
type examiner struct {
	asked, open atomic.Int64
	fault       error
}

// scored has the hall make runs under real rewards as well, each so often.
func (h *hall) scored(repeats int) *examiner {
	e := &examiner{}
	h.settings.Measured.Scored = &systems.Scored{
		Repeats: []int{repeats},
		Rules:   func(pair.Pair) map[string]string { return map[string]string{"scorer.length": "1"} },
		Answers: map[string]dag.Source{"quiz": {Name: "answers", SHA256: "a"}},
		Scorer: func(context.Context, pair.Pair) (systems.Scorer, error) {
			e.open.Add(1)
			return systems.Scorer{Score: e.score, Release: func() { e.open.Add(-1) }}, nil
		},
	}
	return e
}

// score calls every other length right, and the first task always.
func (e *examiner) score(_ context.Context, task int, c vllm.Completion) (bool, error) {
	e.asked.Add(1)
	if c.Text == "" || c.Usage.Completion == 0 {
		return false, errors.New("nothing to score")
	}
	return task == 0 || c.Usage.Completion%2 == 0, e.fault
}

const scoredUnit = "scored/quiz__model=qwen3_5_4b/budget=9"

func scoredFile(what string) string {
	return strings.Replace(measuredFile(what, 9), "measured", "scored", 1)
}

// estimated is what a run's estimate must be, by its requests (paper, Eq. of the
// two-stage estimator).
func estimated(r measurement.Run, requests []measurement.Request) float64 {
	type sums struct{ pilot, rest, count float64 }
	tasks := map[string]*sums{}
	for _, q := range requests {
		if q.Strategy != r.Strategy || q.Repeat != r.Repeat || q.State != "accepted" {
			continue
		}
		t := tasks[q.Task]
		if t == nil {
			t = &sums{}
			tasks[q.Task] = t
		}
		passed := 0.0
		if *q.Passed {
			passed = 1
		}
		if strings.Contains(q.ID, "|phase=pilot|") {
			t.pilot += passed
		} else {
			t.rest, t.count = t.rest+passed, t.count+1
		}
	}
	first, second, flat := 0.0, 0.0, 0.0
	for _, t := range tasks {
		first += t.pilot / float64(r.Pilots) / 5
		second += t.rest / t.count / 5
		flat += (t.pilot + t.rest) / float64(r.Budget) / 5
	}
	if r.Strategy == policy.UniformAtBudget.Name || r.Strategy == policy.UniformEquivalent.Name {
		return flat
	}
	return 0.4*first + 0.6*second
}

func TestRealRewardsAreTheScorers(t *testing.T) {
	h := newHall(t, 0)
	e := h.scored(2)
	h.succeed()
	runs, requests := read[measurement.Run](t, h.dir, scoredFile("runs")), read[measurement.Request](t, h.dir, scoredFile("requests"))
	if len(runs) != 6 {
		t.Fatalf("%d runs, want each of three strategies twice", len(runs))
	}
	if e.open.Load() != 0 || e.asked.Load() < 6*45 {
		t.Errorf("%d responses were scored, and scorers of %d units not released", e.asked.Load(), e.open.Load())
	}
	for i, r := range runs {
		if r.Rewards != measurement.Scored || r.Accepted != 45 || r.Pilots != 3 {
			t.Errorf("run %d is %+v", i, r)
		}
	}
	seen := map[string]bool{}
	for _, q := range requests {
		if seen[q.ID] {
			t.Errorf("%s is in two runs: seeds are not fresh", q.ID)
		}
		seen[q.ID] = true
		if q.Passed != nil && *q.Passed != (q.Task == "a" || q.CompletionTokens%2 == 0) {
			t.Errorf("%s of task %s with %d tokens: passed is %v", q.ID, q.Task, q.CompletionTokens, *q.Passed)
		}
	}
	all := read[measurement.Run](t, h.dir, measurement.RunsFile)
	if len(all) != 3*4+4+6 { // under the virtual clock, on servers, and under real rewards
		t.Errorf("%s has %d runs", measurement.RunsFile, len(all))
	}
	kept := read[measurement.Request](t, h.dir, measuredFile("requests", 9))
	for _, r := range all[:3*4] {
		if r.Cores != 0 {
			t.Errorf("a run under the virtual clock has %d cores", r.Cores)
		}
	}
	for i, r := range all[3*4:] {
		if r.Cores != 3 {
			t.Errorf("run %d on servers has %d cores, want 3", i, r.Cores)
		}
		want := estimated(r, kept)
		if r.Rewards == measurement.Scored {
			want = estimated(r, requests)
		}
		if math.Abs(r.Estimate-want) > 1e-12 {
			t.Errorf("run %d, %s under %s rewards: estimate %v, want %v", i, r.Strategy, r.Rewards, r.Estimate, want)
		}
	}
	if rows := read[measurement.Measurement](t, h.dir, measurement.File); len(rows) != 4 {
		t.Errorf("runs under real rewards are among the %d measurements", len(rows))
	}
}

func TestAResponseWithoutVerdictVoidsTheRun(t *testing.T) {
	h := newHall(t, 0)
	e := h.scored(1)
	e.fault = fmt.Errorf("the sandbox is gone")
	h.fail("3 of 3 runs are void", "score the response: the sandbox is gone")
	e.fault = nil
	h.succeed()
	if m := h.manifest(scoredUnit); !strings.Contains(m, "void runs that were made again") {
		t.Error("the manifest does not tell of void runs")
	}
}

func TestWhatRunsUnderRealRewardsDependOn(t *testing.T) {
	h := newHall(t, 0)
	h.scored(1)
	h.succeed()
	scored := h.settings.Measured.Scored
	for name, change := range map[string]func(){
		"rules": func() {
			scored.Rules = func(pair.Pair) map[string]string { return map[string]string{"scorer.length": "2"} }
		},
		"answers": func() { scored.Answers = map[string]dag.Source{"quiz": {Name: "answers", SHA256: "b"}} },
		"repeats": func() { scored.Repeats = []int{2} },
	} {
		before := *scored
		change()
		if stale := h.stale(); len(stale) != 2 || stale[0] != scoredUnit || stale[1] != "runs" {
			t.Errorf("with other %s %v are stale, want the runs under real rewards alone", name, stale)
		}
		*scored = before
	}
	if stale := h.stale(); len(stale) != 0 {
		t.Errorf("%v are stale", stale)
	}
}

// TestRunsDoNotDependOnTheWeight changes the stage weight of the design, which
// says how runs are read and not how they are made.
func TestRunsDoNotDependOnTheWeight(t *testing.T) {
	h := newHall(t, 0)
	h.scored(1)
	h.succeed()
	before := read[measurement.Run](t, h.dir, measurement.RunsFile)
	for i := range h.designs {
		h.designs[i].W = 0.5
	}
	h.remade++
	key := func() string { return strings.Split(h.manifest(measuredUnit), "\n")[2] }
	measured := key()
	h.succeed()
	if now := key(); now != measured {
		t.Errorf("the key of measured runs was %s and is %s", measured, now)
	}
	changed := 0
	for i, r := range read[measurement.Run](t, h.dir, measurement.RunsFile) {
		if r.Estimate != before[i].Estimate {
			changed++
		}
		if hbn := r.Strategy == policy.HBNSync.Name || r.Strategy == policy.HBNAsync.Name; hbn && r.Weight != 0.5 {
			t.Errorf("run %d, %s: weight %v", i, r.Strategy, r.Weight)
		}
	}
	if changed == 0 {
		t.Error("no estimate has changed")
	}
}

// templateTokens are those that the imitation puts around a user's turn.
const templateTokens = 19

// draw lets the hall's lengths be drawn: an answer has from 1 to 60 tokens and a
// prompt 50.
func (h *hall) draw() {
	h.settings.Measured.Drawn = &systems.Drawn{
		Lengths: func(_ profile.Profile, branch seed.Seed) (systems.Lengths, error) {
			return func(id controller.ID) (prompt, tokens int) {
				return 50, 1 + int(60*drawnFloat(branch, id))
			}, nil
		},
		Prompt: func(_ string, task, tokens int) string {
			return fmt.Sprintf("%0*d", tokens-templateTokens, task)
		},
		Source: dag.Source{Name: "lengths", SHA256: "l"},
	}
}

func drawnFloat(branch seed.Seed, id controller.ID) float64 {
	s := branch.Index(int(id.Task)).Index(int(id.Phase)).Index(int(id.Ordinal)).Stream()
	return s.Float64()
}

// TestDrawnLengths runs all strategies with lengths that are drawn, with the
// tasks of a file and without.
func TestDrawnLengths(t *testing.T) {
	for _, asked := range []bool{true, false} {
		t.Run(fmt.Sprintf("tasks=%t", asked), func(t *testing.T) {
			h := newHall(t, 0)
			h.real = true
			h.draw()
			if !asked {
				h.settings.Measured.Tasks = nil
			}
			h.succeed()
			lengths := map[string]map[string]int32{}
			different := map[int32]bool{}
			for _, r := range read[measurement.Request](t, h.dir, measuredFile("requests", 9)) {
				if r.State != "accepted" {
					continue
				}
				_, rollout, _ := strings.Cut(r.ID, "|")
				if lengths[rollout] == nil {
					lengths[rollout] = map[string]int32{}
				}
				lengths[rollout][r.Strategy] = r.CompletionTokens
				different[r.CompletionTokens] = true
				if r.PromptTokens != 50 && !asked {
					t.Errorf("%s has a prompt of %d tokens", r.ID, r.PromptTokens)
				}
			}
			if len(different) < 20 {
				t.Errorf("answers of %d different lengths", len(different))
			}
			own := 0
			for rollout, by := range lengths {
				var same []int32
				for _, strategy := range []string{policy.UniformAtBudget.Name, policy.HBNSync.Name, policy.HBNAsync.Name} {
					if n, there := by[strategy]; there {
						same = append(same, n)
					}
				}
				slices.Sort(same)
				if len(slices.Compact(same)) > 1 {
					t.Errorf("%s has other lengths under other strategies: %v", rollout, by)
				}
				if n, there := by[policy.UniformEquivalent.Name]; there && len(same) > 0 && n != same[0] {
					own++
				}
			}
			if own == 0 {
				t.Error("the equivalent budget has the lengths of the others")
			}
			if m := h.manifest(measuredUnit); !strings.Contains(m, "length model draws") || !strings.Contains(m, `"lengths": "l"`) {
				t.Errorf("the manifest does not say that lengths were drawn: %s", m)
			}
			if _, footer, err := rowfile.ReadFooter(h.dir + "/" + measurement.File); err != nil || footer[measurement.LengthsKey] != measurement.LengthsDrawn {
				t.Errorf("the footer of the measurements is %v, %v", footer, err)
			}
		})
	}
}

// TestDrawnRunsAreOthers: natural runs are made again when lengths are drawn.
func TestDrawnRunsAreOthers(t *testing.T) {
	h := newHall(t, 0)
	h.succeed()
	if stale := h.stale(); len(stale) != 0 {
		t.Fatalf("%v is stale at once", stale)
	}
	h.draw()
	if stale := h.stale(); !slices.Contains(stale, measuredUnit) {
		t.Errorf("stale is %v, without %s", stale, measuredUnit)
	}
	if m := h.manifest(measuredUnit); strings.Contains(m, "systems.lengths") {
		t.Error("natural runs depend on systems.lengths: those that are stored would be made again")
	}
	if _, footer, err := rowfile.ReadFooter(h.dir + "/" + measurement.File); err != nil || footer[measurement.LengthsKey] != "" {
		t.Errorf("the footer of natural runs is %v, %v", footer, err)
	}
}

// TestServersThatDrawOtherwise are not timed: one that ends answers itself, and
// one with another tokenizer.
func TestServersThatDrawOtherwise(t *testing.T) {
	h := newHall(t, 0)
	h.draw()
	draw := h.settings.Measured.Drawn.Lengths
	h.settings.Measured.Drawn.Lengths = func(p profile.Profile, branch seed.Seed) (systems.Lengths, error) {
		lengths, err := draw(p, branch)
		asked := map[controller.ID]bool{}
		return func(id controller.ID) (prompt, tokens int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			prompt, tokens = lengths(id)
			if asked[id] { // when it is checked: as if the server had made fewer
				tokens++
			}
			asked[id] = true
			return prompt, tokens
		}, err
	}
	h.fail("were drawn", "ignore_eos")
	if runs := h.scratch("*.run.parquet"); len(runs) != 0 {
		t.Errorf("%v were kept", runs)
	}

	h = newHall(t, 0)
	h.draw()
	h.settings.Measured.Tasks = nil
	h.settings.Measured.Drawn.Prompt = func(string, int, int) string { return "short" }
	h.fail("prompt of", "50 were drawn", "byte-level", "task file")
}
