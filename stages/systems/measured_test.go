package systems_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// identified are the accepted rollouts of a run with their whole ids, seeds and
// rewards.
func identified(requests []measurement.Request, strategy string, repeat int32) []string {
	var ids []string
	for _, r := range requests {
		if r.Strategy == strategy && r.Repeat == repeat && r.State == "accepted" {
			id := r.ID
			if *r.Passed {
				id += " passed"
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

var allStrategies = []string{policy.UniformAtBudget.Name, policy.HBNSync.Name, policy.HBNAsync.Name, policy.UniformEquivalent.Name}

// TestServersSelectWhatTheVirtualClockDoes runs both, with tokens that take
// time, so that there is something to speculate with.
func TestServersSelectWhatTheVirtualClockDoes(t *testing.T) {
	h := newHall(t, 40)
	h.settings.Budgets, h.settings.Measured.Repeats = []int{4, 9}, []int{2, 2}
	h.succeed()
	prefetched := int32(0)
	for budget, equivalent := range map[int]int{4: 5, 9: 12} {
		simulated := strings.Replace(measuredFile("requests", budget), "measured", "simulated", 1)
		virtual, real := read[measurement.Request](t, h.dir, simulated), read[measurement.Request](t, h.dir, measuredFile("requests", budget))
		for _, strategy := range allStrategies {
			want := identified(virtual, strategy, 0)
			accepted := 5 * budget
			if strategy == policy.UniformEquivalent.Name {
				accepted = 5 * equivalent
			}
			for repeat := range int32(2) {
				if got := identified(real, strategy, repeat); len(got) != accepted || !slices.Equal(got, want) {
					t.Errorf("%s at %d, repeat %d: %d rollouts were accepted, want %d, the same as under the virtual clock", strategy, budget, repeat, len(got), accepted)
				}
			}
		}
		want := read[measurement.Run](t, h.dir, strings.Replace(measuredFile("runs", budget), "measured", "simulated", 1))
		runs := read[measurement.Run](t, h.dir, measuredFile("runs", budget))
		if len(runs) != 8 {
			t.Fatalf("%d runs at %d, want 8", len(runs), budget)
		}
		for i, r := range runs { // the order of runs is the same, too
			if w := want[i]; r.Strategy != w.Strategy || r.Repeat != w.Repeat || r.Allocation != w.Allocation {
				t.Errorf("at %d, run %d is %+v, under the virtual clock %+v", budget, i, r, w)
			}
			if r.Strategy == policy.HBNAsync.Name {
				prefetched += r.Prefetched
			}
			if r.Strategy == policy.UniformAtBudget.Name && (int(r.Gaps) != 5*budget-replicas*window || r.GapMedian <= 0 || r.GapP99 < r.GapMedian) {
				t.Errorf("at %d, run %d: %d gaps, median %v s, 99th percentile %v s", budget, i, r.Gaps, r.GapMedian, r.GapP99)
			}
		}
	}
	if prefetched == 0 {
		t.Error("HBN-async never speculated")
	}
	predictions := read[measurement.Prediction](t, h.dir, measurement.PredictionsFile)
	for _, p := range predictions {
		if p.Runs != 2 || !(p.Measured > 0) || !(p.Predicted > 0) || !(p.MeasuredSE > 0) {
			t.Errorf("prediction %+v", p)
		}
	}
	if len(predictions) != 8 {
		t.Errorf("%d predictions, want 8", len(predictions))
	}
	if m := h.manifest(measuredUnit); !strings.Contains(m, `"provenance": "simulated"`) {
		t.Error("runs on the imitation do not say that they are simulated")
	}
}

func TestWhatIsMeasuredAndWhatIsNot(t *testing.T) {
	for name, test := range map[string]struct {
		real bool
		rows int
		note string
	}{
		"imitated servers": {false, 4, "take the place of those under the virtual clock"},
		"real ones":        {true, 8, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 0)
			h.real, h.settings.Measured.Repeats = test.real, []int{2}
			h.succeed()
			rows := read[measurement.Measurement](t, h.dir, measurement.File)
			times := map[string]int{}
			for _, m := range rows {
				if err := m.Check(); err != nil {
					t.Error(err)
				}
				times[m.Provenance]++
			}
			if len(rows) != test.rows || times[measurement.Simulated] != 4 || test.real != (times[measurement.Measured] == 4) {
				t.Errorf("measurements by provenance: %v", times)
			}
			if m := h.manifest("measurements"); !strings.Contains(m, test.note) {
				t.Errorf("the manifest does not say %q", test.note)
			}
			runs := read[measurement.Run](t, h.dir, measuredFile("runs", 9))
			for _, m := range rows {
				if (m.Provenance == measurement.Measured) != test.real {
					continue
				}
				i := slices.IndexFunc(runs, func(r measurement.Run) bool { return r.Strategy == m.Strategy && r.Repeat == 0 })
				j := slices.IndexFunc(runs, func(r measurement.Run) bool { return r.Strategy == m.Strategy && r.Repeat == 1 })
				if m.TimeSeconds != (runs[i].Time+runs[j].Time)/2 {
					t.Errorf("%s took %v s, its runs %v and %v", m.Strategy, m.TimeSeconds, runs[i].Time, runs[j].Time)
				}
			}
		})
	}
}

// TestOneExperimentIsOfOneProvenance has one model served by imitations and
// another by what says that it is real.
func TestOneExperimentIsOfOneProvenance(t *testing.T) {
	h := newHall(t, 0)
	h.know(newLab(t).profiles...)
	h.settings.Measured.Acquire = func(ctx context.Context, model string) (systems.Lease, error) {
		lease, err := h.acquire(ctx, model)
		lease.Simulated = model == "qwen3_5_4b"
		return lease, err
	}
	h.fail("quiz__model=qwen2_5_3b at budget 9 ran on measured replicas, others on simulated ones")
}

// TestWithoutACalibratedFleet measures a profile that cannot be simulated.
func TestWithoutACalibratedFleet(t *testing.T) {
	h := newHall(t, 0)
	h.settings.Simulated.Knows = func(pair.Pair) bool { return false }
	h.succeed()
	if rows := read[measurement.Measurement](t, h.dir, measurement.File); len(rows) != 4 {
		t.Errorf("%d measurements, want 4", len(rows))
	}
}

// TestADegenerateProfileIsNotMeasured makes one, which no server is asked for.
func TestADegenerateProfileIsNotMeasured(t *testing.T) {
	h := newHall(t, 0)
	h.make()
	h.profiles[0].PassCounts = []int{16, 0, 0, 16, 16}
	h.succeed()
	if rows := read[measurement.Measurement](t, h.dir, measurement.File); len(rows) != 0 || h.acquired != 0 {
		t.Errorf("%d measurements, %d leases", len(rows), h.acquired)
	}
}

// TestTasksMustBeTheProfiles spoils the tasks that are asked.
func TestTasksMustBeTheProfiles(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*systems.Tasks)
		want  string
	}{
		"another number": {func(tasks *systems.Tasks) { tasks.Tasks = tasks.Tasks[:4] }, "the task file of quiz has 4 tasks, the profile quiz__model=qwen3_5_4b has 5"},
		"another id":     {func(tasks *systems.Tasks) { tasks.Tasks[3].ID = "z" }, `task 3 of quiz is "z" in the task file and "d" in the profile`},
		"another order": {func(tasks *systems.Tasks) { tasks.Tasks[0], tasks.Tasks[1] = tasks.Tasks[1], tasks.Tasks[0] },
			`task 0 of quiz is "b" in the task file and "a" in the profile`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 0)
			tasks := h.settings.Measured.Tasks["quiz"]
			test.spoil(&tasks)
			h.settings.Measured.Tasks["quiz"] = tasks
			h.fail(test.want)
			if asked, warmUps := h.counts(); asked+warmUps+h.acquired > 0 {
				t.Errorf("%d requests, %d warm-ups, %d leases for it", asked, warmUps, h.acquired)
			}
		})
	}
}

// TestSpoiledPlan writes into the plan between its unit and the runs. What is
// spoiled before is found by its hash and made again.
func TestSpoiledPlan(t *testing.T) {
	for name, text := range map[string]string{"torn": `{"pilots":3,"sta`, "empty": "{}", "a pilot too large": `{"pilots":9,"stage_weight":0.4,"equivalent":12}`} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 0)
			plan := filepath.Join(h.dir, "systems", "plans", "benchmark=quiz", "model=qwen3_5_4b", "budget=9.json")
			h.beforeMeasuring = func() {
				if err := os.WriteFile(plan, []byte(text), 0o666); err != nil {
					t.Error(err)
				}
			}
			h.fail("budget=9.json", "run again")
			h.beforeMeasuring = nil
			if name == "torn" {
				h.succeed()
			}
		})
	}
}

// TestAnInterruptLeavesNothingRunning ends the third run in the middle.
func TestAnInterruptLeavesNothingRunning(t *testing.T) {
	h := newHall(t, 8)
	goroutines := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	h.at(110, func(*server, http.ResponseWriter) bool { cancel(); return false })
	if err := h.attempt(ctx); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Fatalf("error %v, want an interruption", err)
	}
	if kept := h.scratch("*.run.parquet"); len(kept) != 2 {
		t.Errorf("%d runs were kept, want 2", len(kept))
	}
	if voids := h.scratch("void.txt"); len(voids) > 0 {
		t.Error("the interrupted run counts as void")
	}
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > goroutines+2*replicas; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) { // idle connections have goroutines, too
			t.Fatalf("%d goroutines are left, there were %d", runtime.NumGoroutine(), goroutines)
		}
	}
	h.counts()
	h.succeed()
	if asked, _ := h.counts(); asked < 2*45 || asked > 3*45 {
		t.Errorf("%d requests for the two runs that were missing", asked)
	}
}

// TestADrainEndsAfterTheRun asks for the end in the first run: it is finished.
func TestADrainEndsAfterTheRun(t *testing.T) {
	h := newHall(t, 0)
	h.at(7, func(*server, http.ResponseWriter) bool { close(h.drain); return false })
	if err := h.attempt(t.Context()); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Fatalf("error %v, want an interruption", err)
	}
	if kept := h.scratch("*.run.parquet"); len(kept) != 1 {
		t.Errorf("%d runs were kept, want 1", len(kept))
	}
	h.drain = make(chan struct{})
	h.succeed()
}

// TestADrainEndsTheWaitForAWorker asks for the end while no worker is free.
func TestADrainEndsTheWaitForAWorker(t *testing.T) {
	h := newHall(t, 0)
	h.settings.Measured.Acquire = func(ctx context.Context, _ string) (systems.Lease, error) {
		close(h.drain)
		<-ctx.Done()
		return systems.Lease{}, ctx.Err()
	}
	if err := h.attempt(t.Context()); err == nil || !strings.Contains(err.Error(), "interrupted") || strings.Contains(err.Error(), "failed") {
		t.Errorf("error %v, want an interruption", err)
	}
}
