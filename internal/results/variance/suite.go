package variance

import (
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/store/group"
)

// SuiteFile holds the rows of Suite.
const SuiteFile = "replay/suite.parquet"

// Ways to spend one budget on the benchmarks of a suite, for the mean of their means.
const (
	UniformTasks      = "uniform_tasks"      // equal rollouts of every task
	UniformBenchmarks = "uniform_benchmarks" // equal rollouts of every benchmark, alike within it
	Separate          = "separate"           // of each benchmark what it has at the budget, by a policy in stages
	OneBudget         = "suite"              // all tasks by one policy in stages
	OneBudgetFloor    = "suite_floor"        // the same, with policy.SuiteFloor
)

// SuiteWays is all of them, in the order of files and tables.
var SuiteWays = []string{UniformTasks, UniformBenchmarks, Separate, OneBudget, OneBudgetFloor}

// Suite is a benchmark of a suite, which is all benchmarks of a model, under one way to
// spend the budget. Separate has none: it follows from ratios.
type Suite struct {
	Benchmark string   `parquet:"benchmark"`
	Model     string   `parquet:"model"`
	NTasks    int32    `parquet:"n_tasks"`
	Budget    int32    `parquet:"budget"` // rollouts per task, on average over the suite
	Policy    string   `parquet:"policy"` // of SuiteWays
	Donors    string   `parquet:"donors"` // what the policy knows beforehand, by name; "none" for nothing
	M         *int32   `parquet:"m"`      // pilot rollouts per task; null where there is no pilot
	W         *float64 `parquet:"w"`      // stage weight of the pilot

	Rollouts        float64 `parquet:"rollouts"`                     // of the benchmark, per task of it, the mean over draws
	UniformVariance float64 `parquet:"uniform_variance"`             // of the benchmark's mean with the budget's rollouts of each task
	VarianceRatio   float64 `parquet:"variance_ratio"`               // of the benchmark's mean, over that
	RatioSE         float64 `parquet:"ratio_se" of:"variance_ratio"` // Monte Carlo standard error given the design; 0 when analytic

	// The same for all benchmarks of a model: of the mean of their means.
	SuiteRatio   float64 `parquet:"suite_ratio"`
	SuiteRatioSE float64 `parquet:"suite_ratio_se" of:"suite_ratio"`
	Draws        int32   `parquet:"draws"` // evaluations; 0 when analytic
}

// SuiteStanding is the variance of the mean of all benchmarks over Uniform's, the mean over
// models.
type SuiteStanding struct {
	agreement.Estimate
	Budget  int32
	Way     string
	Donors  *policy.Donors
	Models  int
	Between *Interval // by other benchmarks; nil with a single one

	// WorstError is the largest error of a benchmark's own mean over the error of its
	// separate run with the same donors; NaN where these were not replayed.
	WorstError float64
}

// SuiteStandings are the standings of every way to spend a budget, by budget, donors and way.
func SuiteStandings(designs Schedules, ratios []Ratio, rows []Suite) (all []SuiteStanding, err error) {
	for _, b := range Budgets(ratios) {
		uniform := suiteOf(rows, b, UniformTasks, policy.None)
		var profiles []string
		for _, r := range uniform.rows {
			profiles = append(profiles, r.Benchmark)
		}
		draws := NewBenchmarks(profiles)
		for _, known := range []*policy.Donors{policy.None, policy.Siblings} {
			separate, err := uniform.separately(designs, ratios, known)
			if err != nil {
				return nil, err
			}
			for _, way := range SuiteWays {
				s := separate
				if way != Separate {
					s = suiteOf(rows, b, way, known)
				}
				if len(s.rows) == 0 || len(s.rows) != len(uniform.rows) {
					continue
				}
				standing := SuiteStanding{Estimate: s.estimate(), Budget: b, Way: way, Donors: known, Models: len(s.models()), Between: draws.interval(s.resampled(draws)), WorstError: math.NaN()}
				if len(separate.rows) > 0 {
					standing.WorstError = 0
				}
				for i, r := range separate.rows {
					standing.WorstError = max(standing.WorstError, math.Sqrt(s.rows[i].VarianceRatio/r.VarianceRatio))
				}
				all = append(all, standing)
			}
		}
	}
	return all, nil
}

// suite is the rows of a way to spend a budget, of all models.
type suite struct {
	rows []Suite
	se   float64 // of the mean over models
}

func suiteOf(all []Suite, budget int32, way string, known *policy.Donors) (s suite) {
	s.rows = keep(all, func(r Suite) bool { return r.Budget == budget && r.Policy == way && r.Donors == known.Name })
	square := 0.0
	models := s.models()
	for _, own := range models {
		square += own[0].SuiteRatioSE * own[0].SuiteRatioSE
	}
	s.se = math.Sqrt(square) / float64(max(1, len(models)))
	return s
}

// separately is the rows of separate runs, in the place of Uniform's, by the policy in stages
// that knows the donors. There are none where a benchmark was not replayed.
func (s suite) separately(designs Schedules, ratios []Ratio, known *policy.Donors) (separate suite, err error) {
	var own []Ratio
	var weights []float64
	models := s.models()
	for _, rows := range models {
		whole := 0.0
		for _, r := range rows {
			whole += r.UniformVariance
		}
		for _, r := range rows {
			ratio, ok := ProfileRatio(ratios, policy.InStagesKnowing(known), profileName(r.Benchmark, r.Model), r.Budget)
			if !ok {
				return suite{}, nil
			}
			own, weights = append(own, ratio), append(weights, r.UniformVariance/whole/float64(len(models)))
			r.VarianceRatio = ratio.VarianceRatio
			separate.rows = append(separate.rows, r)
		}
	}
	e, err := SumErrors(designs, own, weights)
	separate.se = e.Total
	return separate, err
}

// models are the rows by model.
func (s suite) models() [][]Suite { return group.By(s.rows, func(r Suite) string { return r.Model }) }

// estimate is the mean over models of Σ A/Σ U, where A is the variance of a benchmark's mean
// and U Uniform's.
func (s suite) estimate() agreement.Estimate {
	e := agreement.Estimate{SE: s.se}
	models := s.models()
	for _, own := range models {
		var a, u float64
		for _, r := range own {
			a, u = a+r.VarianceRatio*r.UniformVariance, u+r.UniformVariance
		}
		e.Value += a / u
	}
	e.Value /= float64(max(1, len(models)))
	return e
}

// resampled is the estimate for suites of other benchmarks, by draw. A suite of benchmarks
// that occur k times has its own budget b·Σ k·N, which it divides among them as this one
// does: each has c times as many rollouts, where c·Σ k·n is that budget, n being what
// benchmarks have here. Their variances are 1/c of these, so that the ratio is
//
//	(Σ k·A)/(Σ k·U) · (Σ k·n)/(b·Σ k·N).
//
// For a division in proportion to the roots of A·n, as Neyman's is, that is exact.
func (s suite) resampled(draws Benchmarks) []float64 {
	values, models, first := make([]float64, len(draws.times)), s.models(), 0
	counts := make([]int, len(values)) // of models that have a benchmark of the draw
	for _, own := range models {
		of := draws.of[first:]
		first += len(own)
		for d, times := range draws.times {
			var a, u, rollouts, uniform float64
			for i := range own {
				r, k := &own[i], float64(times[of[i]])
				a, u = a+k*r.VarianceRatio*r.UniformVariance, u+k*r.UniformVariance
				n := k * float64(r.NTasks)
				rollouts, uniform = rollouts+n*r.Rollouts, uniform+n*float64(r.Budget)
			}
			if u > 0 {
				values[d] += a / u * rollouts / uniform
				counts[d]++
			}
		}
	}
	for d, n := range counts {
		values[d] /= float64(n)
	}
	return slices.DeleteFunc(values, math.IsNaN)
}
