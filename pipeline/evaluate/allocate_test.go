package evaluate

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/protocol"
)

// chances are of tasks, mostly easy ones, of which a pooled mean is off.
var chances = []float64{0.95, 0.9, 0.9, 0.97, 0.5, 0.2, 1, 0.9, 0.8, 0.93}

// drawn are counts of n rollouts of each task.
func drawn(random *rand.Rand, n func(task int) int) (c profile.Profile) {
	for i, p := range chances {
		passes := 0
		for range n(i) {
			if random.Float64() < p {
				passes++
			}
		}
		c.TaskIDs, c.PassCounts, c.Tested = append(c.TaskIDs, string(rune('a'+i))), append(c.PassCounts, passes), append(c.Tested, n(i))
	}
	return c
}

func outside(t *testing.T) Outside {
	cfg, err := Configuration(Options{Config: filepath.Join(t.TempDir(), "none.toml"), Optional: true, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return Outside{Context: t.Context(), Config: cfg, Say: func(string) {}}
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
			want += (a.Weight*first.P(i) + (1-a.Weight)*second.P(i)) / float64(len(chances))
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
	next.TaskIDs, next.PassCounts, next.Tested = append(next.TaskIDs, next.TaskIDs[0]), append(next.PassCounts, 0), append(next.Tested, 1)
	if _, err := a.With(next); err == nil || !strings.Contains(err.Error(), "have task "+next.TaskIDs[0]+" twice") {
		t.Errorf("a task that is there twice: %v", err)
	}
	if _, err := o.Allocate(first, evaluation.Spec{Budget: 4}); err == nil || !strings.Contains(err.Error(), "want 5 or more") {
		t.Errorf("nothing left: %v", err)
	}
	for _, ids := range [][]string{{"a"}, {"a", "a"}, {"a", ""}} {
		c := profile.Profile{TaskIDs: ids, PassCounts: make([]int, len(ids)), Tested: make([]int, len(ids))}
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
	bare := file("bare.csv", "task_id;pass_count;tested_k\nx; 1;2.0\ny;0;0\n")
	c, err := Counting{}.Read(bare)
	if err != nil || len(c.TaskIDs) != 2 || c.Rollouts(0) != 2 || c.PassCounts[0] != 1 || c.Rollouts(1) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	two := file("two.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nb,m,0,x,1,2\nb,m,1,y,0,3\nb,n,0,x,1,2\nb,n,1,y,0,3\n")
	if _, err := (Counting{}).Read(two); err == nil || !strings.Contains(err.Error(), "--model") {
		t.Errorf("two profiles: %v", err)
	}
	if c, err := (Counting{Model: "n"}).Read(two); err != nil || c.Model != "n" || c.Rollouts(1) != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"x,3,2", "x,1.5,2", "x,-1,2", "x,a,2", "x,1,-2"} {
		if _, err := (Counting{}).Read(file("bad.csv", "task_id,pass_count,tested_k\n"+text+"\ny,1,1\n")); err == nil || !strings.Contains(err.Error(), "row 1") {
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
