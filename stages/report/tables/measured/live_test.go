package measured

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/agreement"
	"speceval/internal/golden"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// liveStudy is a made-up experiment that measures: one profile of 24 tasks, a
// second generation of it, runs on servers of which those of HBN have 0.7 of
// Uniform's variance, and predictions of their times. Tests change it.
func liveStudy() *results {
	random := rand.New(rand.NewPCG(8, 15))
	first := profile.Profile{Benchmark: "primer", Model: "small", Scorer: "maths/1", TestedK: 1024}
	second := first
	second.TestedK = 256
	for i := range 24 {
		p := float64(i) / 23
		draw := func(of int) (passes int) {
			for range of {
				if random.Float64() < p {
					passes++
				}
			}
			return passes
		}
		first.TaskIDs = append(first.TaskIDs, fmt.Sprintf("t%02d", i))
		first.PassCounts = append(first.PassCounts, draw(1024))
		second.PassCounts = append(second.PassCounts, draw(256))
	}
	second.TaskIDs = first.TaskIDs
	s := &results{profiles: []profile.Profile{first}, second: []profile.Profile{second}}
	m, w := int32(4), 0.45
	s.ratios = []variance.Ratio{
		{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.Oracle, Donors: "none", VarianceRatio: 0.6},
		{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.HBN, Donors: "none", M: &m, W: &w, VarianceRatio: 0.72, RatioSE: 0.001, Draws: 1024},
	}
	s.errors = []variance.ProfileError{{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.HBN, Donors: "none", Resamples: 64, ProfileSE: 0.006, Shift: 0.001, ShiftSE: 0.0005}}
	mean, sd := 0.0, first.VarianceSum()/(24*24*8)
	for i := range first.N() {
		mean += first.P(i) / 24
	}
	for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
		of := 1.0
		if strategy != measurement.Uniform {
			of = 0.7
		}
		sample := normalScores(random, 30)
		for i := range 30 {
			r := measurement.Run{Benchmark: "primer", Model: "small", NTasks: 24, ReferenceBudget: 8, Budget: 8, Strategy: strategy, Provenance: measurement.Measured,
				Rewards: measurement.Scored, Repeat: int32(i), Time: 2, CPU: 0.25, Cores: 2, Handling: 0.01, GapMedian: 0.0002, GapP99: 0.003}
			r.Estimate = mean + 0.003 + sample[i]*math.Sqrt(of*sd)
			s.runs = append(s.runs, r)
			if i < 3 {
				r.Rewards, r.CPU = measurement.Coupled, 0.05+0.001*float64(i)
				s.runs = append(s.runs, r)
			}
		}
	}
	for _, p := range []struct {
		strategy            string
		measured, predicted float64
	}{{measurement.Uniform, 2, 2.01}, {measurement.HBNSync, 2.5, 2.44}, {measurement.HBNAsync, 2.1, 2.35}} {
		s.predictions = append(s.predictions, measurement.Prediction{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Strategy: p.strategy, Runs: 3, Draws: 200,
			Measured: p.measured, MeasuredSE: 0.05, Predicted: p.predicted, PredictedSD: 0.02, DifferenceSE: 0.055, Scale: 1.1})
	}
	counts := map[int32]int64{}
	for i := range int32(2000) {
		counts[40+i%100+(i/100)*(i/100)]++
	}
	for tokens, n := range counts {
		s.lengths = append(s.lengths, rollout.LengthRow{Benchmark: "primer", Model: "small", Tokens: tokens, Responses: n})
	}
	return s
}

// normalScores are n normal draws, shifted and scaled to mean 0 and variance 1.
func normalScores(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	sum, square := 0.0, 0.0
	for i := range out {
		out[i] = random.NormFloat64()
		sum += out[i]
	}
	for i := range out {
		out[i] -= sum / float64(n)
		square += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(square / float64(n-1))
	}
	return out
}

// TestTablesMatchGoldenFiles holds both forms of every table against those of the
// whole report.
func TestTablesMatchGoldenFiles(t *testing.T) {
	src := liveStudy().source(t)
	for _, of := range All {
		s, err := of.Sheet(src)
		if err != nil {
			t.Fatal(err)
		}
		var csv, tex bytes.Buffer
		if err := table.CSV(&csv, s.Data()); err != nil {
			t.Fatal(err)
		}
		if err := table.LaTeX(&tex, s.Print(), "origin"); err != nil {
			t.Fatal(err)
		}
		_, text, _ := bytes.Cut(tex.Bytes(), []byte("\n")) // without its origin
		folder := filepath.Join("..", "..", "..", "testdata", "live")
		golden.Check(t, filepath.Join(folder, of.Base+".csv"), csv.Bytes())
		golden.Check(t, filepath.Join(folder, of.Base+".tex"), text)
		for _, c := range s.Columns {
			if c.Words == "" || c.Of != "" && s.Column(c.Of) == nil {
				t.Errorf("%s: column %+v", of.Base, c)
			}
		}
	}
}

// TestVerdictsFollowTheMeasurements changes one measurement after the other.
func TestVerdictsFollowTheMeasurements(t *testing.T) {
	const setting = "primer__model=small b=8 "
	for _, c := range []struct {
		name        string
		of          *model.Table
		row, column string
		change      func(*results)
		want        agreement.Verdict
	}{
		{"a time within 5%", Times, setting + "hbn-sync", "measured_seconds", func(*results) {}, agreement.Agrees},
		{"a time beyond both", Times, setting + "hbn-sync", "measured_seconds", func(s *results) { each(s.predictions, func(p *measurement.Prediction) { p.Predicted = 3 }) }, agreement.Differs},
		{"Uniform is fitted", Times, setting + "uniform", "measured_seconds", func(s *results) { each(s.predictions, func(p *measurement.Prediction) { p.Predicted = 3 }) }, agreement.Shown},
		{"another ratio", Variance, "measured " + setting + "hbn", "ratio", func(s *results) { s.ratios[1].VarianceRatio = 0.2 }, agreement.Differs},
		{"the same ratio", Variance, "measured " + setting + "hbn-sync", "ratio", func(*results) {}, agreement.Within},
		{"nine runs", Variance, "measured " + setting + "hbn-sync", "ratio", func(s *results) {
			s.runs = slices.DeleteFunc(s.runs, func(r measurement.Run) bool { return r.Strategy == measurement.HBNSync && r.Repeat > 8 })
		}, agreement.Shown},
		{"no replay", Variance, "measured " + setting + "hbn-sync", "ratio", func(s *results) { s.ratios = nil }, agreement.Shown},
		{"biased runs", Variance, "measured " + setting + "uniform", "mean", func(s *results) { each(s.runs, func(r *measurement.Run) { r.Estimate += 0.05 }) }, agreement.Differs},
		{"no profile", Variance, "measured " + setting + "uniform", "mean", func(s *results) { s.profiles = nil }, agreement.Shown},
		{"another task", Profile, "primer__model=small", "tasks_differing", func(s *results) { s.second[0].PassCounts[12] -= 60 }, agreement.Differs},
		{"another mean", Profile, "primer__model=small", "second_mean", func(s *results) {
			for i := 4; i < 20; i++ {
				s.second[0].PassCounts[i] -= 12
			}
		}, agreement.Differs},
		{"a busy orchestrator", Orchestrator, "measured " + setting + "coupled uniform", "cpu_share", func(s *results) { each(s.runs, func(r *measurement.Run) { r.CPU = 0.21 }) }, agreement.Differs},
		{"one that scores", Orchestrator, "measured " + setting + "scored uniform", "cpu_share", func(*results) {}, agreement.Shown},
		{"nothing measured", Orchestrator, "all", "cpu_share", func(s *results) { s.runs = nil }, agreement.NotRun},
	} {
		t.Run(c.name, func(t *testing.T) {
			study := liveStudy()
			c.change(study)
			cells, err := study.sheet(t, c.of).Compare(stored.Experiment{})
			if err != nil || !c.of.Live {
				t.Fatal(err, c.of.Live)
			}
			at := slices.IndexFunc(cells, func(x agreement.Comparison) bool { return x.Row == c.row && x.Column == c.column })
			if at < 0 || cells[at].Verdict != c.want {
				t.Errorf("%s %s: %+v, want %q", c.row, c.column, cells, c.want)
			}
		})
	}
}

func each[T any](rows []T, change func(*T)) {
	for i := range rows {
		change(&rows[i])
	}
}

// TestComparisonsReadAsInTheReport holds the lines of all comparisons against those
// that verify prints of the whole report.
func TestComparisonsReadAsInTheReport(t *testing.T) {
	var bases []string
	src := liveStudy().source(t)
	var lines, reasons []string
	for _, of := range All {
		if !of.Live {
			continue
		}
		bases = append(bases, of.Base)
		s, err := of.Sheet(src)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := s.Compare(stored.Experiment{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			var words []string
			for _, cell := range c.Line() {
				if words = append(words, cell.Exact()); cell.IsMissing() {
					words[len(words)-1] = "—"
				}
			}
			lines, reasons = append(lines, strings.Join(words, " ")), append(reasons, c.Reason())
		}
	}
	if got := strings.Join(bases, " "); got != "prediction_times prediction_variance prediction_profile orchestrator" {
		t.Errorf("live tables %s", got)
	}
	text := goldenLines(t)
	for _, line := range lines {
		if !slices.Contains(text, line) {
			t.Errorf("verify has no line %q", line)
		}
	}
	for _, want := range []string{"no further than the 0.125 that are 5% of the measured time", "less than 0.05 is the claim"} {
		if !slices.Contains(reasons, want) {
			t.Errorf("no comparison has the reason %q: %q", want, reasons)
		}
	}
	if len(lines) != 18 {
		t.Errorf("%d comparisons: %q", len(lines), lines)
	}
}

// goldenLines are those of the golden text of verify, with single spaces.
func goldenLines(t *testing.T) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "live", "verify.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}
