package systems_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/stages/systems"
)

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
			if drawn, err := measurement.AreDrawn(h.dir + "/" + measurement.File); err != nil || !drawn {
				t.Errorf("the measurements are said to be drawn: %t, %v", drawn, err)
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
	if drawn, err := measurement.AreDrawn(h.dir + "/" + measurement.File); err != nil || drawn {
		t.Errorf("natural runs are said to be drawn: %t, %v", drawn, err)
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
