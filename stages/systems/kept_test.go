package systems_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/results/measurement"
	"speceval/internal/store/rowfile"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/systems"
)

// sizes are the requests of each run, from and to, by strategy: of those that
// were cancelled before a replica began, some may never have been sent.
func (h *hall) sizes() map[string][2]int {
	sizes := map[string][2]int{}
	for _, r := range read[measurement.Request](h.t, h.dir, measuredFile("requests", 9)) {
		key := r.Strategy + string(rune('0'+r.Repeat))
		size := sizes[key]
		size[1]++
		if r.State != "cancelled_queued" {
			size[0]++
		}
		sizes[key] = size
	}
	return sizes
}

// TestAVoidRunAloneIsMadeAgain disturbs the first run in every way that voids
// it.
func TestAVoidRunAloneIsMadeAgain(t *testing.T) {
	for name, test := range map[string]struct {
		disturb func(t *testing.T, s *server, w http.ResponseWriter) (answered bool)
		want    string
	}{
		"a replica dies": {func(_ *testing.T, s *server, _ http.ResponseWriter) bool { s.Crash(); return false }, "lost"},
		"a request fails": {func(_ *testing.T, _ *server, w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			w.Write([]byte(`{"error":{"message":"out of luck","type":"InternalServerError","code":500}}`))
			return true
		}, "out of luck"},
		"somebody else uses a replica": {func(t *testing.T, s *server, _ http.ResponseWriter) bool { s.intrude(t); return false }, "somebody else uses it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 0)
			h.at(20, func(s *server, w http.ResponseWriter) bool { return test.disturb(t, s, w) })
			h.fail("1 of 4 runs are void", test.want)
			if _, warmUps := h.counts(); warmUps != 2*2*window*replicas { // what voided it may have left replicas cold
				t.Errorf("%d warm-ups, want two windows of each replica before the void run and two after", warmUps)
			}
			voids := h.scratch("void.txt")
			if kept := h.scratch("*.run.parquet"); len(kept) != 3 || len(voids) != 1 {
				t.Fatalf("%d runs were kept and %d files list void ones, want 3 and 1", len(kept), len(voids))
			}
			text := must(os.ReadFile(voids[0]))
			void := strings.Fields(strings.Replace(string(text), ",", "", 1))
			if lines := strings.Count(string(text), "\n"); lines != 1 || void[2] != "repeat" || void[3] != "0:" || !strings.Contains(string(text), test.want) {
				t.Errorf("void runs, %d lines: %s", lines, text)
			}
			h.succeed()
			asked, warmUps := h.counts()
			if size := h.sizes()[void[1]+"0"]; asked < size[0] || asked > size[1] || warmUps != 2*window*replicas {
				t.Errorf("run again, it asked %d times after %d warm-ups; the void run has %v requests", asked, warmUps, size)
			}
			if m := h.manifest(measuredUnit); !strings.Contains(m, "void runs that were made again") || !strings.Contains(m, void[1]+", repeat 0: ") || strings.Contains(m, `\n",`) {
				t.Errorf("the manifest does not tell of the void run: %s", m)
			}
			if left := h.scratch("*"); len(left) > 0 {
				t.Errorf("left in the scratch folder: %q", left)
			}
		})
	}
}

// TestAFailureAfterAVoidRunTellsOfBoth has the servers gone for good.
func TestAFailureAfterAVoidRunTellsOfBoth(t *testing.T) {
	h := newHall(t, 0)
	h.settings.Measured.Return = 0
	h.at(20, func(s *server, _ http.ResponseWriter) bool { s.Crash(); return false })
	h.fail("1 of 2 replicas are out", "1 of 4 runs are void", "lost")
}

// TestKilledBetweenTwoFiles finds the scratch folder as a kill may leave it: a
// run without its last file, one whose files are torn, temporary files.
func TestKilledBetweenTwoFiles(t *testing.T) {
	h := newHall(t, 0)
	h.settings.Measured.Repeats = []int{2}
	ctx, cancel := context.WithCancel(t.Context())
	h.at(250, func(*server, http.ResponseWriter) bool { cancel(); return false })
	if err := h.attempt(ctx); !errors.Is(err, context.Canceled) && err == nil {
		t.Fatal("it was not interrupted")
	}
	kept := h.scratch("*.run.parquet")
	if len(kept) < 4 {
		t.Fatalf("%d runs were kept", len(kept))
	}
	spoil := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	spoil(os.Remove(kept[0]))
	spoil(os.Truncate(kept[1], 100))
	spoil(os.Truncate(strings.Replace(kept[2], ".run.", ".requests.", 1), 100))
	spoil(os.WriteFile(kept[3]+".123.partial", nil, 0o666))
	h.counts()
	h.succeed()
	asked, _ := h.counts()
	again, most := 8-len(kept)+3, 0
	for _, size := range h.sizes() {
		most += size[1]
	}
	if asked < again*45 || asked > most-45 {
		t.Errorf("%d requests for %d runs; all 8 have %d", asked, again, most)
	}
}

// TestKeptRunsAreOfOneProvenance has runs kept of imitated servers when there
// are real ones: they are made again, whenever that is interrupted.
func TestKeptRunsAreOfOneProvenance(t *testing.T) {
	h := newHall(t, 0)
	h.at(20, func(_ *server, w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	h.fail("1 of 4 runs are void") // the first
	h.real = true
	h.at(20, func(*server, http.ResponseWriter) bool { close(h.drain); return false })
	if err := h.attempt(t.Context()); err == nil {
		t.Fatal("it was not interrupted")
	}
	if kept := h.scratch("*.run.parquet"); len(kept) != 4 {
		t.Fatalf("%d runs are kept, want 1 of real servers and 3 of others", len(kept))
	}
	h.drain = make(chan struct{})
	h.succeed()
	for _, r := range read[measurement.Run](t, h.dir, measuredFile("runs", 9)) {
		if r.Provenance != measurement.Measured {
			t.Errorf("%s, repeat %d is %s", r.Strategy, r.Repeat, r.Provenance)
		}
	}
	if m := h.manifest(measuredUnit); !strings.Contains(m, `"provenance": "measured"`) {
		t.Error("the manifest does not say that the runs are measured")
	}
}

func read[T any](t testing.TB, dir, file string) []T {
	t.Helper()
	rows, _, err := rowfile.ReadFile[T](filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// accepted are the accepted rollouts of a strategy, with their rewards, without
// the part of the ids that names the setting.
func accepted(requests []measurement.Request, strategy string) []string {
	var ids []string
	for _, r := range requests {
		if r.Strategy == strategy && r.Repeat == 0 && r.State == "accepted" {
			_, id, _ := strings.Cut(r.ID, "|")
			if *r.Passed {
				id += " passed"
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestMeasurementsCoverEverySetting(t *testing.T) {
	l := newLab(t)
	l.run()
	rows := read[measurement.Measurement](t, l.dir, measurement.File)
	repeats := read[measurement.Repeat](t, l.dir, measurement.RepeatsFile)
	if len(rows) != 2*2*4 || len(repeats) != 3*len(rows) {
		t.Fatalf("%d measurements and %d repeats, want 16 and 48", len(rows), len(repeats))
	}
	for i, m := range rows {
		if err := m.Check(); err != nil {
			t.Errorf("row %d: %v", i, err)
		}
		if m.Provenance != measurement.Simulated {
			t.Errorf("row %d is %s", i, m.Provenance)
		}
		want := map[int32]int32{4: 5, 9: 12}[m.ReferenceBudget]
		if m.Model == "qwen2_5_3b" && m.ReferenceBudget == 4 {
			want = 4
		}
		if m.Strategy == policy.UniformEquivalent.Name && m.Budget != want {
			t.Errorf("the equivalent of budget %d is %d, want %d", m.ReferenceBudget, m.Budget, want)
		}
		var times []float64
		for _, r := range repeats {
			if r.Benchmark == m.Benchmark && r.Model == m.Model && r.ReferenceBudget == m.ReferenceBudget && r.Strategy == m.Strategy {
				times = append(times, r.TimeSeconds)
			}
		}
		if len(times) != 3 || times[0] == times[1] {
			t.Fatalf("row %d: repeats took %v", i, times)
		}
		if mean := (times[0] + times[1] + times[2]) / 3; math.Abs(m.TimeSeconds-mean) > 1e-12 {
			t.Errorf("row %d: %v s, want the mean of %v", i, m.TimeSeconds, times)
		}
	}
}

func TestStrategiesShareWhatTheySelect(t *testing.T) {
	l := newLab(t)
	l.run()
	prior := must(neyman.NewPrior(l.settings.QuadratureOrder))
	for _, p := range l.profiles {
		for budget, pilots := range map[int]int{4: 1, 9: 3} {
			file := "/simulated/benchmark=quiz/model=" + p.Model + "/budget=" + map[int]string{4: "4", 9: "9"}[budget] + ".parquet"
			requests := read[measurement.Request](t, l.dir, "systems/requests"+file)
			sync, async, uniform := accepted(requests, "hbn-sync"), accepted(requests, "hbn-async"), accepted(requests, "uniform")
			if len(uniform) != 5*budget || len(sync) != 5*budget || !slices.Equal(sync, async) {
				t.Errorf("%s at %d: %d, %d and %d rollouts accepted, or others by sync than by async", p.Model, budget, len(uniform), len(sync), len(async))
			}
			allocation := must(systems.Allocation(prior, coupled.NewRewards(p, p.SHA256(), 42), pilots, budget))
			want := coupled.AllocationDigest(p.TaskIDs, allocation)
			for _, r := range read[measurement.Run](t, l.dir, "systems/runs"+file) {
				if strings.HasPrefix(r.Strategy, "hbn") && r.Allocation != want {
					t.Errorf("%s at %d: %s repeat %d allocates otherwise than the coupled rewards say", p.Model, budget, r.Strategy, r.Repeat)
				}
			}
			for _, r := range requests {
				if r.Prefetched && r.Strategy != "hbn-async" || (r.AbortedTokens == nil) != (r.Passed != nil) {
					t.Fatalf("an inconsistent row: %+v", r)
				}
			}
		}
	}
}

// TestRunsOfASettingAreRunsOfTheirOwn looks at a setting whose equivalent budget
// is its own: Uniform is executed twice, with other lengths and identities.
func TestRunsOfASettingAreRunsOfTheirOwn(t *testing.T) {
	l := newLab(t)
	l.run()
	file := "/simulated/benchmark=quiz/model=qwen2_5_3b/budget=4.parquet"
	runs := read[measurement.Run](t, l.dir, "systems/runs"+file)
	times, first := map[string]float64{}, map[string]bool{}
	for i, r := range runs {
		if r.Repeat == 0 {
			times[r.Strategy] = r.Time
		}
		if i%4 == 0 {
			first[r.Strategy] = true
		}
	}
	if times["uniform"] == times["uniform-equivalent"] {
		t.Error("Uniform and its equivalent take the same time: their lengths are the same")
	}
	if len(first) != 3 {
		t.Errorf("the three repeats begin with %v, want another strategy each", first)
	}
	requests := read[measurement.Request](t, l.dir, "systems/requests"+file)
	fingerprints := map[string]string{}
	for _, r := range requests {
		if r.Repeat != 0 {
			t.Fatalf("a request of repeat %d is kept", r.Repeat)
		}
		fingerprints[r.Strategy], _, _ = strings.Cut(r.ID, "|")
	}
	if fingerprints["uniform"] != fingerprints["hbn-sync"] || fingerprints["uniform"] == fingerprints["uniform-equivalent"] {
		t.Errorf("fingerprints %v: strategies share one, the equivalent budget has its own", fingerprints)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	one, other := newLab(t), newLab(t)
	slices.Reverse(other.settings.Pairs) // the order of units must not matter
	one.run()
	other.run()
	file := "systems/runs/simulated/benchmark=quiz/model=qwen2_5_3b/budget=9.parquet"
	if !slices.Equal(read[measurement.Run](t, one.dir, file), read[measurement.Run](t, other.dir, file)) {
		t.Error("another order of the units gives other runs")
	}
	again := newLab(t)
	again.settings.ReleasesSource.SHA256, again.dir = "other", one.dir
	if stale := again.stale(); !slices.Contains(stale, "simulated/quiz__model=qwen2_5_3b/budget=9") || slices.Contains(stale, "plans") {
		t.Errorf("with other digests of releases %v is stale", stale)
	}
	third := newLab(t)
	third.settings.Seed = 43
	third.run()
	if slices.Equal(read[measurement.Run](t, one.dir, file), read[measurement.Run](t, third.dir, file)) {
		t.Error("another seed gives the same runs")
	}
}

// TestReplayMustCoverTheSetting spoils what the replay says.
func TestReplayMustCoverTheSetting(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(l *lab)
		want  string
	}{
		"no design":      {func(l *lab) { l.designs = l.designs[:1] }, "no design of hbn for 5 tasks at budget 9 is selected"},
		"m = b":          {func(l *lab) { l.designs[1].M = 9 }, "a pilot of 9 rollouts per task does not fit a budget of 9"},
		"no ratio":       {func(l *lab) { l.ratios = l.ratios[:3] }, "does not cover quiz__model=qwen2_5_3b with hbn at budget 9"},
		"negative ratio": {func(l *lab) { l.ratios[3].VarianceRatio = -1 }, "quiz__model=qwen2_5_3b at budget 9: variance ratio -1"},
		"huge ratio":     {func(l *lab) { l.ratios[3].VarianceRatio = 99 }, "leaves Uniform no rollout"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			test.spoil(l)
			err := l.try()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// try runs the stages and returns the first failure of a unit.
func (l *lab) try() error {
	l.t.Helper()
	return dagtest.Try(l.t, l.stages(), l.dir, dag.Selection{})
}

// TestAProfileThatIsMade comes to the same as one that is known beforehand, and
// one that turns out to be degenerate has no runs.
func TestAProfileThatIsMade(t *testing.T) {
	known, made := newLab(t), newLab(t)
	made.make()
	for _, l := range []*lab{known, made} {
		l.run()
	}
	before := read[measurement.Repeat](t, known.dir, measurement.RepeatsFile)
	if after := read[measurement.Repeat](t, made.dir, measurement.RepeatsFile); !reflect.DeepEqual(before, after) || len(after) != 2*2*4*3 {
		t.Errorf("%d runs of profiles that are made, %d of known ones, or others", len(after), len(before))
	}
	made.profiles[0].PassCounts = []int{16, 0, 0, 16, 16}
	made.run()
	after := read[measurement.Repeat](t, made.dir, measurement.RepeatsFile)
	if i := slices.IndexFunc(after, func(r measurement.Repeat) bool { return r.Model != "qwen2_5_3b" }); i >= 0 || len(after) != 2*4*3 {
		t.Errorf("%d runs, some of the degenerate profile", len(after))
	}
}
