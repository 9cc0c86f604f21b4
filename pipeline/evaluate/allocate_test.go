package evaluate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/protocol"
	"speceval/method/estimate"
)

// chances are of tasks, mostly easy ones, of which a pooled mean is off.
var chances = []float64{0.95, 0.9, 0.9, 0.97, 0.5, 0.2, 1, 0.9, 0.8, 0.93}

// drawn are counts of n rollouts of each task.
func drawn(random *rand.Rand, n func(task int) int) (c Source) {
	for i, p := range chances {
		passes := 0
		for range n(i) {
			if random.Float64() < p {
				passes++
			}
		}
		c.IDs, c.Stages = append(c.IDs, string(rune('a'+i))), append(c.Stages, []estimate.Stage{estimate.Binary(n(i), passes, 0)})
	}
	return c
}

func outside(t *testing.T) Archive {
	cfg, err := Configuration(Options{Config: filepath.Join(t.TempDir(), "none.toml"), Optional: true, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return Archive{Config: cfg}
}

// TestAnAllocationIsSpentWholeAndUnbiased runs what allocations of drawn counts say.
func TestAnAllocationIsSpentWholeAndUnbiased(t *testing.T) {
	const budget, trials = 10, 400
	o, random := outside(t), rand.New(rand.NewPCG(1, 2))
	truth := 0.0
	for _, p := range chances {
		truth += p / float64(len(chances))
	}
	sum, squares, covered := 0.0, 0.0, 0
	for range trials {
		first := drawn(random, func(int) int { return 4 })
		a, err := o.Allocate(first, evaluation.Spec{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		listed := 0
		for _, l := range a.Levels {
			listed += l.Repeats * len(l.IDs)
		}
		if a.Rollouts != len(chances)*(budget-4) || listed != a.Rollouts || a.Stage != "rest" {
			t.Fatalf("%d rollouts, %d in levels, in the stage %s", a.Rollouts, listed, a.Stage)
		}
		second := drawn(random, func(task int) int { return a.Tasks[task].Next })
		c, err := a.With(second)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for i := range chances {
			rate := func(s Source) float64 {
				return estimate.Sum(s.Stages[i]).Rewards / float64(estimate.Sum(s.Stages[i]).Rollouts)
			}
			want += (a.Weight*rate(first) + (1-a.Weight)*rate(second)) / float64(len(chances))
		}
		if math.Abs(c.Mean-want) > 1e-12 {
			t.Fatalf("the mean is %v, by the weight %v it is %v", c.Mean, a.Weight, want)
		}
		e := c.Mean - truth
		sum, squares = sum+e, squares+e*e
		if c.Interval[0] <= truth && truth <= c.Interval[1] {
			covered++
		}
	}
	se := math.Sqrt(squares/trials-(sum/trials)*(sum/trials)) / math.Sqrt(trials)
	if bias := sum / trials; math.Abs(bias) > 4*se {
		t.Errorf("the bias is %v, %.1f standard errors", bias, bias/se)
	}
	if share := float64(covered) / trials; share < 0.95-4*math.Sqrt(0.05*0.95/trials) {
		t.Errorf("intervals cover %.1f%%", 100*share)
	}
}

func TestWhatAnAllocationIsGivenMustFit(t *testing.T) {
	o, random := outside(t), rand.New(rand.NewPCG(1, 3))
	first := drawn(random, func(int) int { return 4 })
	a, err := o.Allocate(first, evaluation.Spec{Budget: 8})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.With(drawn(random, func(int) int { return 4 })); err == nil || !strings.Contains(err.Error(), "was to get") {
		t.Errorf("other numbers than those: %v", err)
	}
	next := drawn(random, func(task int) int { return a.Tasks[task].Next })
	if _, err := a.With(next); err != nil {
		t.Errorf("what was to come: %v", err)
	}
	next.IDs, next.Stages = append(next.IDs, next.IDs[0]), append(next.Stages, next.Stages[0])
	if _, err := a.With(next); err == nil || !strings.Contains(err.Error(), "have task "+next.IDs[0]+" twice") {
		t.Errorf("a task that is there twice: %v", err)
	}
	if _, err := o.Allocate(first, evaluation.Spec{Budget: 4}); err == nil || !strings.Contains(err.Error(), "want 5 or more") {
		t.Errorf("nothing left: %v", err)
	}
	for _, ids := range [][]string{{"a"}, {"a", "a"}, {"a", ""}} {
		c := Source{IDs: ids, Stages: slices.Repeat([][]estimate.Stage{make([]estimate.Stage, 1)}, len(ids))}
		if _, err := o.Allocate(c, evaluation.Spec{Budget: 8}); err == nil || !strings.Contains(err.Error(), "the counts: tasks") {
			t.Errorf("tasks %q: %v", ids, err)
		}
	}
	none := drawn(random, func(task int) int { return task % 2 })
	p, err := o.Allocate(none, evaluation.Spec{Budget: 8})
	if err != nil || p.Stage != "pilot" || p.Tasks[0].Next != p.Tasks[1].Next+1 {
		t.Errorf("without a pilot: %+v, %v", p, err)
	}
	first.Allocated = true
	if _, err := o.Allocate(first, evaluation.Spec{Budget: 8}); err == nil {
		t.Error("counts of an allocation are allocated again")
	}
}

func TestCountsOfAllForms(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bare := file("bare.csv", "task_id;pass_count;tested_k\nx; 1;2.0\ny;0;0\n;;\n")
	archive := Archive{Config: outside(t).Config}
	c, err := archive.Counts(bare, "", "", "")
	if err != nil || len(c.IDs) != 2 || estimate.Sum(c.Stages[0]) != estimate.Binary(2, 1, 0) || estimate.Sum(c.Stages[1]).Rollouts != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	// A table names neither, so that names which choose among profiles leave it as it is.
	if c, err := archive.Counts(bare, "", "b", "n"); err != nil || len(c.IDs) != 2 {
		t.Errorf("with names: %+v, %v", c, err)
	}
	if _, err := archive.Counts(file("twice.csv", "task_id,pass_count,tested_k\nx,0,2\nx,2,2\n"), "", "", ""); err == nil || !strings.Contains(err.Error(), `row 2: task "x" is there twice`) {
		t.Errorf("a task twice: %v", err)
	}
	for _, column := range []string{"rewards", "allocated"} {
		text := "task_id,pass_count,tested_k," + column + "\nx,0,2,1\ny,2,2,1\n"
		if _, err := archive.Sources(file("unnamed.csv", text), ""); err == nil || !strings.Contains(err.Error(), "column benchmark is missing") {
			t.Errorf("counts with %s: %v", column, err)
		}
	}
	two := file("two.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nb,m,0,x,1,2\nb,m,1,y,0,3\nb,n,0,x,1,2\nb,n,1,y,0,3\n")
	if _, err := archive.Counts(two, "", "", ""); err == nil || !strings.Contains(err.Error(), "--model") {
		t.Errorf("two profiles: %v", err)
	}
	if c, err := archive.Counts(two, "", "", "n"); err != nil || c.Model != "n" || estimate.Sum(c.Stages[1]).Rollouts != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"x,3,2", "x,1.5,2", "x,-1,2", "x,a,2", "x,1,-2"} {
		if _, err := archive.Counts(file("bad.csv", "task_id,pass_count,tested_k\n"+text+"\ny,1,1\n"), "", "", ""); err == nil || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSetupsOfOtherProgramsNameTheirFaults asks for evaluations that cannot be.
func TestSetupsOfOtherProgramsNameTheirFaults(t *testing.T) {
	o := outside(t)
	two := []string{"a", "b"}
	if s, _, err := o.Setup(evaluation.Spec{Tasks: two, Budget: 8, Weights: []float64{1, 3}, Rounds: 32}, nil, nil); err != nil || s.Shares[1] != 0.75 || s.Design.Rounds != 32 {
		t.Errorf("%+v, %v", s, err)
	}
	for field, m := range map[string]evaluation.Spec{
		"tasks":      {Tasks: two[:1], Budget: 8},
		"tasks[1]":   {Tasks: []string{"a", "a"}, Budget: 8},
		"start":      {Tasks: two},
		"budget":     {Tasks: two, Budget: 1},
		"target_se":  {Tasks: two, TargetSE: -1},
		"prior":      {Tasks: two, Budget: 8, Prior: []string{"nowhere.eval"}},
		"policy":     {Tasks: two, Budget: 8, Policy: "hbn_informed_staged"},
		"stages":     {Tasks: two, Budget: 8, Stages: 1},
		"rounds":     {Tasks: two, Budget: 8, Rounds: 8},
		"weights":    {Tasks: two, Budget: 8, Weights: []float64{1}},
		"weights[1]": {Tasks: two, Budget: 8, Weights: []float64{1, -1}},
		"weights[0]": {Tasks: two, Budget: 8, Weights: []float64{1e308, 1e308}},
		"clusters":   {Tasks: two, Budget: 8, Clusters: []string{"x"}},
		"donors[0]":  {Tasks: two, Budget: 8, Donors: []evaluation.InlineDonor{{Rollouts: []int{4, 4}, Passes: []int{4, 5}}}},
	} {
		_, _, err := o.Setup(m, nil, nil)
		var fault *protocol.FieldError
		if !errors.As(err, &fault) || fault.Field != field {
			t.Errorf("%+v: %v, want a fault of %s", m, err, field)
		}
	}
}

// TestSourcesOfAllForms reads what users name: files, folders and evaluations, one or several.
func TestSourcesOfAllForms(t *testing.T) {
	const logs = "../../internal/evaluation/logs/testdata/"
	var said []string
	archive := Archive{Config: outside(t).Config, Warn: func(text string) { said = append(said, text) }}
	for word, want := range map[string]string{
		logs + "inspect/zstd.eval":      "org/quiz mockllm/model: 3 tasks, 7 rollouts, rewards 4",
		logs + "inspect/allocated.eval": "org/quiz mockllm/model: 3 tasks, 5 rollouts, allocated",
		logs + "harbor":                 "quiz org/model+terminus: 2 tasks",
		logs + "nemo-skills/aime24":     "aime24 : 2 tasks",
		logs:                            "import the log of Inspect itself",
		"nowhere.csv":                   "nowhere.csv: no such file",
		"nowhere":                       "nowhere is no evaluation: want its folder, or its name as `speceval evaluate list` has it, or a file: ",
		"../../go.mod":                  "nor is it a file of profiles",
	} {
		all, err := archive.Sources(word, "")
		text := fmt.Sprint(err)
		if err == nil && len(all) == 1 {
			n, rewards := 0, 0.0
			for i := range all[0].IDs {
				n, rewards = n+estimate.Sum(all[0].Stages[i]).Rollouts, rewards+estimate.Sum(all[0].Stages[i]).Rewards
			}
			text = fmt.Sprintf("%s: %d tasks, %d rollouts, rewards %g", all[0].Name, len(all[0].IDs), n, rewards)
			if all[0].Allocated {
				text = fmt.Sprintf("%s: %d tasks, %d rollouts, allocated", all[0].Name, len(all[0].IDs), n)
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", word, text, want)
		}
	}
	if !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, "zstd.eval: 1 left out: it is not scored") }) {
		t.Errorf("the notes of a log are not said: %q", said)
	}
}
