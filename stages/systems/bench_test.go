package systems_test

import (
	"fmt"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/controller"
)

// BenchmarkSetting is the unit of a setting with N = 100 and b = 64, files
// included: four strategies, once each.
func BenchmarkSetting(b *testing.B) {
	p := profile.Profile{Benchmark: "quiz", Model: "qwen3_5_4b", TestedK: 1024}
	for i := range 100 {
		p.TaskIDs, p.PassCounts = append(p.TaskIDs, fmt.Sprint(i)), append(p.PassCounts, i*10)
	}
	l := newLab(b)
	l.settings.Budgets, l.settings.QuadratureOrder = []int{64}, 16
	l.know(p)
	l.settings.Simulated.Repeats = 1
	l.settings.Simulated.Worker = func(_ profile.Profile, _ int, lengths seed.Seed) (virtual.Settings, error) {
		random := lengths.Stream()
		return virtual.Settings{
			Timing: fleet.Small, Replicas: 8, Window: 32,
			Lengths: func(controller.ID) (prompt, tokens int) { return 100, 1 + int(6000*random.Float64()) },
		}, nil
	}
	l.designs = []variance.Design{{Policy: policy.HBN.Name, Donors: "none", NTasks: 100, Budget: 64, M: 16, W: 0.22, Selected: true}}
	l.ratios = []variance.Ratio{{Benchmark: "quiz", Model: "qwen3_5_4b", NTasks: 100, Budget: 64, Policy: policy.HBN.Name, Donors: "none", VarianceRatio: 0.6}}
	for b.Loop() {
		l.dir = b.TempDir()
		l.run()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(100*(3*64+106)), "µs/request")
}
