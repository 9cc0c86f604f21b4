package show_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/method/estimate"
)

// comparison is a made one of some models on tasks with hostile names. Each mean is .05 below the
// one before, and models .05 apart cannot be told apart.
func comparison(models, tasks int) *show.Comparison {
	c := new(show.Comparison)
	for m := range models {
		mean := 0.7 - 0.05*float64(m)
		r := &evaluation.Result{
			Head: evaluation.Head{Benchmark: "quiz" + hostile, Model: "m", Policy: "hbn_staged", Budget: 8}, Tasks: tasks, Rollouts: 8 * tasks, Rules: "r1", Notes: []string{fmt.Sprint("a note on ", m)},
			Estimate: mean, StandardError: 0.02, Interval: [2]float64{mean - 0.04, mean + 0.04}, Uniform: evaluation.Equivalent{Budget: 8},
		}
		for i := range tasks {
			r.Rows = append(r.Rows, evaluation.Task{Index: int32(i), ID: fmt.Sprintf("task-%04d%s", i, hostile), Pilots: 8, Mean: mean * float64(i%10) / 10, Variance: 0.2, Stages: []estimate.Stage{{Rollouts: 8, Weight: 1}}})
		}
		c.Evaluations, c.Results = append(c.Evaluations, fmt.Sprint("model-", m, "<img>")), append(c.Results, r)
		c.Estimates, c.Errors, c.Rollouts = append(c.Estimates, mean), append(c.Errors, 0.02), append(c.Rollouts, 8*tasks)
		for k := range m {
			d := c.Estimates[k] - mean
			c.Pairs = append(c.Pairs, show.Pair{Of: [2]int{k + 1, m + 1}, Difference: d, StandardError: 0.028, Interval: [2]float64{d - 0.055, d + 0.055}, Apart: d > 0.08,
				Tasks: &show.OverTasks{StandardError: 0.03, Clusters: tasks}})
		}
	}
	c.SetTiers()
	if models == 2 {
		c.Pair, c.Pairs = &c.Pairs[0], nil
	}
	return c
}

func comparisonPage(t *testing.T, models, tasks int) string {
	t.Helper()
	var b strings.Builder
	if err := comparison(models, tasks).Page(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAComparisonHasAPage(t *testing.T) {
	for models, wants := range map[int][]string{
		2: {"<h1>&#43;0.0500 ± 0.0280: no difference is shown</h1>", "a note on 1", "2  model-1&lt;", "for what these 20 tasks, or clusters of them", "neighbours"},
		5: {"<h1>3 tiers of 5 evaluations</h1>", "tier 3", "1&nbsp;−&nbsp;3</td><td>&#43;0.1000 ± 0.0280", "± 0.0300</td><td>apart", "a note on 4", "neighbours"},
	} {
		text := comparisonPage(t, models, 20)
		for _, want := range wants {
			if strings.Contains(text, want) == (want == "neighbours") {
				t.Errorf("the page of %d models and %q", models, want)
			}
		}
		if strings.Contains(text, "<img") || strings.Contains(text, "<script>") || strings.Index(text, "a note on") > strings.Index(text, "<h1>") {
			t.Error("a text of others is markup, or notes come after the difference")
		}
	}
}

func TestThePageOfALargeComparisonIsSmall(t *testing.T) {
	for _, models := range []int{2, 30} {
		if text := comparisonPage(t, models, 5000); len(text) > 500_000 || !strings.Contains(text, " of 5,000 tasks are listed, by the largest difference") || !strings.Contains(text, "neighbours share a place") {
			t.Errorf("%d models: %d bytes", models, len(text))
		}
	}
}

// TestTiersAreSaid has the text of five models, of which three are the first of a tier.
func TestTiersAreSaid(t *testing.T) {
	c := comparison(5, 3)
	var b strings.Builder
	if err := c.Text(&b, false); err != nil || fmt.Sprint(c.Tiers) != "[[1 2] [3 4] [5]]" {
		t.Errorf("%v, %v", c.Tiers, err)
	}
	for _, want := range []string{"   2  0.6000 ± 0.0200        24  3  model-2", "for all 10 differences together", "   1 − 3   +0.1000 ± 0.0280, 95% interval +0.0450 to +0.1550; for other tasks ± 0.0300: apart\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in %s", want, b.String())
		}
	}
}

func TestTheComparisonInABrowser(t *testing.T) {
	for _, models := range []int{2, 5} {
		for _, got := range browsed(t, comparisonPage(t, models, 40)) {
			if got.Plots != 1 || got.Bars < models {
				t.Errorf("%+v", got)
			}
		}
	}
}
