package measured

import (
	"math"
	"testing"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/table"
)

// at is a cell of a sheet's data.
func at(t *testing.T, s Sheet, row int, column string) table.Cell {
	t.Helper()
	for j, c := range s.Data.Columns {
		if c.Name == column {
			return s.Data.Rows[row][j]
		}
	}
	t.Fatalf("%s has no column %s", s.Base, column)
	return table.Cell{}
}

func number1(t *testing.T, s Sheet, row int, column string, want float64) {
	t.Helper()
	if got, ok := at(t, s, row, column).Float(); !ok || math.Abs(got-want) > 1e-12 {
		t.Errorf("%s, row %d: %s is %v, want %v", s.Base, row, column, at(t, s, row, column).Exact(), want)
	}
}

func whole(t *testing.T, s Sheet, row int, column, want string) {
	t.Helper()
	if got := at(t, s, row, column).Exact(); got != want {
		t.Errorf("%s, row %d: %s is %q, want %q", s.Base, row, column, got, want)
	}
}

var twoTasks = profile.Profile{Benchmark: "quiz", Model: "m", TaskIDs: []string{"a", "b"}, PassCounts: []int{25, 75}, TestedK: 100}

// run is one that estimates a mean; of another provenance, profile, budget or kind of
// rewards it must not be counted with the others.
func run(strategy string, estimate float64) measurement.Run {
	return measurement.Run{Benchmark: "quiz", Model: "m", ReferenceBudget: 8, Strategy: strategy, Provenance: measurement.Measured, Rewards: measurement.Scored, Estimate: estimate}
}

func TestVariancesAreAboutEachStrategysOwnMean(t *testing.T) {
	coupled, other := run(measurement.Uniform, 9), run(measurement.Uniform, 9)
	coupled.Rewards, other.ReferenceBudget = measurement.Coupled, 16
	s := Variance([]measurement.Run{
		run(measurement.Uniform, 0.1), run(measurement.Uniform, 0.9), coupled,
		run(measurement.HBNSync, 0.4), run(measurement.HBNSync, 0.6),
		run(measurement.HBNAsync, 0.7), run(measurement.HBNAsync, 0.7), run(measurement.HBNAsync, 1.0), other,
	}, func(profile string, budget int32) (agreement.Estimate, bool) {
		return agreement.Estimate{Value: 0.5, SE: 0.1}, profile == "quiz__model=m" && budget == 8
	}, []profile.Profile{twoTasks})
	if len(s.Data.Rows) != 5 {
		t.Fatalf("%d rows, want 4 of b = 8 and one of b = 16", len(s.Data.Rows))
	}
	for i, want := range []string{"uniform", "hbn-sync", "hbn-async", "hbn", "uniform"} {
		whole(t, s, i, "strategy", want)
	}
	number1(t, s, 0, "variance", 0.32)
	number1(t, s, 1, "ratio", 0.02/0.32)
	number1(t, s, 2, "variance", 0.03)
	number1(t, s, 3, "variance", (0.02+0.03*2)/3)
	whole(t, s, 3, "runs", "5")
	number1(t, s, 3, "mean", (0.4+0.6+0.7+0.7+1.0)/5)
	number1(t, s, 3, "replayed_se", 0.1)
	whole(t, s, 0, "ratio", "")
	whole(t, s, 0, "verdict", "")
	whole(t, s, 1, "verdict", "not enough runs")
	number1(t, s, 0, "bias", 0)
	number1(t, s, 0, "bias_se", math.Hypot(0.4, math.Sqrt(2*0.25*0.75/100)/2))
}

func TestSharesAreMeansOverRuns(t *testing.T) {
	a, b := run(measurement.Uniform, 0), run(measurement.Uniform, 0)
	a.Rewards, a.Time, a.CPU, a.Handling, a.GapMedian, a.GapP99 = measurement.Coupled, 1, 0.01, 0.1, 0.001, 0.01
	b.Rewards, b.Time, b.CPU, b.Handling, b.GapMedian, b.GapP99 = measurement.Coupled, 3, 0.11, 0.1, 0.003, 0.03
	a.Cores, b.Cores = 3, 3
	virtual, fleet := a, a
	virtual.CPU = 0
	fleet.Provenance, fleet.CPU = measurement.Simulated, 0.5
	s := Orchestrator([]measurement.Run{a, virtual, b, fleet})
	if len(s.Data.Rows) != 2 {
		t.Fatalf("%d rows", len(s.Data.Rows))
	}
	number1(t, s, 0, "core_share", 0.03)
	number1(t, s, 0, "cpu_share", 0.01)
	number1(t, s, 0, "router_share", 0.05)
	number1(t, s, 0, "gap_median_seconds", 0.002)
	number1(t, s, 0, "gap_p99_seconds", 0.02)
	whole(t, s, 0, "verdict", "agrees")
	whole(t, s, 1, "verdict", "shown")
}

func TestClassesAndTenths(t *testing.T) {
	p := profile.Profile{Benchmark: "quiz", Model: "m", TestedK: 1000, PassCounts: []int{0, 1, 100, 101, 500, 899, 900, 999, 1000}}
	p.TaskIDs = make([]string, p.N())
	s := Spread([]profile.Profile{p}, map[string]Lengths{p.Name(): {{10, 98}, {20, 1}, {500, 1}}})
	for column, want := range map[string]string{
		"never": "1", "rarely": "2", "between": "3", "mostly": "2", "always": "1",
		"tenth_1": "2", "tenth_2": "2", "tenth_6": "1", "tenth_9": "1", "tenth_10": "3", "tenth_5": "0",
		"length_median": "10", "length_p99": "20", "length_max": "500",
	} {
		whole(t, s, 0, column, want)
	}
	if without := Spread([]profile.Profile{p}, nil); !at(t, without, 0, "length_max").IsMissing() {
		t.Error("lengths of no rollouts")
	}
}

func TestSecondMinusFirst(t *testing.T) {
	second := twoTasks
	second.PassCounts, second.TestedK = []int{20, 50}, 50
	c := profile.Compare(twoTasks, second, agreement.FalseAlarms)
	s := Profiles([]profile.Comparison{c})
	number1(t, s, 0, "difference", 0.7-0.5)
	whole(t, s, 0, "tasks_below", "1")
	whole(t, s, 0, "tasks_differing", "1")
	whole(t, s, 0, "tasks_verdict", "differs")
	whole(t, s, 0, "mean_verdict", "differs")
	tasks := Tasks([]profile.Comparison{c})
	number1(t, tasks, 0, "difference", 0.15)
	whole(t, tasks, 1, "second_passes", "50")
	whole(t, tasks, 0, "verdict", "agrees")
}

func TestOtherTasksAndRulesAreTold(t *testing.T) {
	second := twoTasks
	second.TaskIDs, second.Scorer = []string{"a", "c"}, "maths/2"
	first := twoTasks
	first.Scorer = "maths/1"
	if notes := Profiles([]profile.Comparison{profile.Compare(first, second, 0.01)}).Print.Notes; len(notes) != 2 {
		t.Errorf("notes %q", notes)
	}
}
