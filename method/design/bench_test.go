package design_test

import (
	"fmt"
	"testing"

	"speceval/internal/pilot"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/neyman"
)

// BenchmarkCompute is a whole design by default on one core, and beside it the
// same candidates on the paper's 8 × 8192 independent panels. Each says how
// uncertain it leaves the least risk.
func BenchmarkCompute(b *testing.B) {
	for _, size := range [][2]int{{30, 8}, {100, 32}} {
		s := design.Settings{Tasks: size[0], Budget: size[1], Workers: 1}
		b.Run(fmt.Sprintf("N=%d/b=%d/even", s.Tasks, s.Budget), func(b *testing.B) {
			var d design.Design
			for b.Loop() {
				var err error
				if d, err = design.Compute(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(1e4*d.RiskSE, "1e-4-error")
		})
		b.Run(fmt.Sprintf("N=%d/b=%d/independent", s.Tasks, s.Budget), func(b *testing.B) {
			var se float64
			for b.Loop() {
				se = independent(b, s)
			}
			b.ReportMetric(1e4*se, "1e-4-error")
		})
	}
}

// independent is the standard error of the least risk on the paper's panels.
func independent(b *testing.B, s design.Settings) float64 {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		b.Fatal(err)
	}
	cs := pilot.AllCandidates([]int{s.Budget})
	coefficients := make([][]float64, len(cs))
	for replicate := range 8 {
		masses, err := pilot.Masses(b.Context(), prior, cs, s.Tasks, 8192, seed.Root(1).Index(replicate).Stream())
		if err != nil {
			b.Fatal(err)
		}
		for k, mass := range masses {
			coefficients[k] = append(coefficients[k], mass/(float64(s.Tasks)*neyman.MeanVariance))
		}
	}
	for _, r := range pilot.Rate(cs, coefficients) {
		if r.Selected {
			return r.RiskSE
		}
	}
	return 0
}
