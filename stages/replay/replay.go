package replay

import (
	"context"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// probabilities are a profile's task probabilities.
func probabilities(p profile.Profile) []float64 {
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	return ps
}

// variances are p(1−p) of each task.
func variances(ps []float64) []float64 {
	vs := make([]float64, len(ps))
	for i, p := range ps {
		vs[i] = p * (1 - p)
	}
	return vs
}

// total is the sum of xs, in order.
func total(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum
}

// sample sums draws for their mean and its error.
type sample struct {
	draws  float64
	sum    float64
	first  float64 // of the first draw, against cancellation
	drift  float64 // Σ (draw − first)
	square float64 // Σ (draw − first)²
}

func (t *sample) addDraw(x float64) {
	if t.draws == 0 {
		t.first = x
	}
	d := x - t.first
	t.draws++
	t.sum += x
	t.drift += d
	t.square += d * d
}

// mean is the mean of the draws, NaN of none.
func (t *sample) mean() float64 {
	if t.draws == 0 {
		return math.NaN()
	}
	return t.first + t.drift/t.draws
}

// variance is the variance of a draw, NaN of a single one.
func (t *sample) variance() float64 {
	if t.draws < 2 {
		return math.NaN()
	}
	return max(0, t.square-t.drift*t.drift/t.draws) / (t.draws - 1)
}

// se is the standard error of the mean.
func (t *sample) se() float64 { return math.Sqrt(t.variance() / t.draws) }

// replayed is a two-stage policy with the design chosen for it.
type replayed struct {
	design       variance.Design
	values       []float64 // continuation coefficients C = Σ(v/L)/Σv of the draws of a sweep
	coefficients sample    // of all draws
	paired       sample    // of the ratio above HBN's at the same budget, draw by draw
}

// setting is the setting of a design's continuation.
func setting(d variance.Design) policy.Setting {
	s := policy.Setting{Tasks: int(d.NTasks), Budget: int(d.Budget), M: int(d.M)}
	if d.Alpha != nil {
		s.Alpha = *d.Alpha
	}
	return s
}

// ratio turns the draws into the variance ratio b·{w²/m + (1−w)²·C} with its
// Monte Carlo standard error (paper, Eq. 9 over Uniform's variance).
func (r *replayed) ratio(p profile.Profile) variance.Ratio {
	d, c := r.design, &r.coefficients
	return variance.Ratio{
		Subject: variance.Subject{Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget, Policy: d.Policy, Donors: d.Donors, Alpha: d.Alpha}, M: &d.M, W: &d.W,
		VarianceRatio: neyman.Risk(int(d.Budget), int(d.M), d.W, c.sum/c.draws),
		RatioSE:       r.slope() * math.Sqrt(c.variance()) / math.Sqrt(c.draws),
		Draws:         int32(c.draws),
	}
}

// addSweep adds the coefficients of all draws of a sweep at the design's pilot size.
func (r *replayed) addSweep(sw *pilot.Sweep, bench *policy.Bench) {
	c := policy.All.Find(r.design.Key()).TwoStage.Continuation(bench, setting(r.design))
	r.values = r.values[:0]
	for draw := range sw.Draws() {
		value := c.Value(sw, draw, int(r.design.Budget)) / sw.Total()
		r.values = append(r.values, value)
		r.coefficients.addDraw(value)
	}
}

// slope is the slope of the ratio in C.
func (r *replayed) slope() float64 {
	d := r.design
	return float64(d.Budget) * (1 - d.W) * (1 - d.W)
}

// replay evaluates the selected designs on a fixed profile: it draws pilot vectors, shared
// by all policies and budgets as prefixes of one path, with the continuation's variance
// computed exactly (paper, appendix on the variance evaluation protocol). The rows of
// allocations known beforehand come first. The differences compare every ratio to HBN's at
// its budget, in the same order. An analytic ratio has no error of its own, so that its
// difference has HBN's.
func replay(ctx context.Context, p profile.Profile, designs []variance.Design, prior *neyman.Prior, draws int, random seed.Stream) ([]variance.Ratio, []variance.Difference, error) {
	ratios, err := analytic(p, designs)
	if err != nil {
		return nil, nil, err
	}
	known, longest := len(ratios), 0
	runs, hbn := make([]*replayed, len(designs)), map[int32]*replayed{}
	for i, d := range designs {
		runs[i] = &replayed{design: d}
		longest = max(longest, int(d.Budget)-1)
		if d.Policy == policy.HBN.Name {
			hbn[d.Budget] = runs[i]
		}
	}
	bench := policy.Bench{Prior: prior}
	err = pilot.EachSweep(ctx, probabilities(p), draws, longest, random, func(sw *pilot.Sweep, _ int) error {
		for sw.M() < sw.Rollouts() {
			sw.Advance()
			for _, run := range runs {
				if int(run.design.M) == sw.M() {
					run.addSweep(sw, &bench)
				}
			}
		}
		for _, run := range runs {
			if its := hbn[run.design.Budget]; its != nil && its != run {
				slope, other := run.slope(), its.slope()
				for draw, c := range run.values {
					run.paired.addDraw(slope*c - other*its.values[draw])
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		ratios = append(ratios, run.ratio(p))
	}
	var differences []variance.Difference
	for i, r := range ratios {
		run := hbn[r.Budget]
		if run == nil || r.Policy == policy.HBN.Name {
			continue
		}
		its := run.ratio(p)
		row := variance.Difference{
			Subject:    r.Subject,
			Difference: r.VarianceRatio - its.VarianceRatio, DifferenceSE: its.RatioSE, Draws: its.Draws,
		}
		if own := i - known; own >= 0 {
			row.DifferenceSE = runs[own].paired.se()
		}
		differences = append(differences, row)
	}
	return ratios, differences, nil
}

// analytic is the ratios of the policies whose allocation is known beforehand,
// as the Oracle's, at each budget that the designs have.
func analytic(p profile.Profile, designs []variance.Design) ([]variance.Ratio, error) {
	var ratios []variance.Ratio
	seen := map[int32]bool{}
	for _, d := range designs {
		if seen[d.Budget] {
			continue
		}
		seen[d.Budget] = true
		for _, of := range policy.All {
			if of.Fixed == nil {
				continue
			}
			r, _, err := knownRatio(of, p, d.Budget)
			if err != nil {
				return nil, err
			}
			ratios = append(ratios, r)
		}
	}
	return ratios, nil
}

// knownRatio is the ratio of a policy whose allocation is known beforehand, and that allocation.
func knownRatio(of *policy.Policy, p profile.Profile, budget int32) (variance.Ratio, []int, error) {
	vs := variances(probabilities(p))
	allocation, err := of.Fixed(vs, p.N()*int(budget))
	if err != nil {
		return variance.Ratio{}, nil, fmt.Errorf("%s on %s at budget %d: %w", of.Name, p.Name(), budget, err)
	}
	return variance.Ratio{
		Subject:       variance.Subject{Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: budget, Policy: of.Name, Donors: of.Donors.Name},
		VarianceRatio: neyman.VarianceRatio(vs, allocation, int(budget)),
	}, allocation, nil
}

// profileUnit replays every policy on one profile; all prior strengths are
// replayed, each with its own design, and held against HBN.
func (b *builder) profileUnit(of pair.Pair) dag.Unit {
	u := b.unit("profile/"+of.Name(), []string{keySeed, keyBudgets, keyDraws, keyOrder}, designsID)
	u.Cost = profileSeconds * float64(b.Draws*slices.Max(b.Budgets)*(of.N()+100))
	u.Outputs = append(u.Outputs, partFile("differences/"+of.Name()))
	b.replayUnit(&u, of, policy.None, func(ctx context.Context, _ *dag.Job, p profile.Profile, designs []variance.Design, prior *neyman.Prior, at seed.Seed) (r results, err error) {
		designs = slices.DeleteFunc(designs, func(d variance.Design) bool {
			p := policy.All.Find(d.Key())
			return p == nil || p.TwoStage == nil
		})
		r.ratios, r.differences, err = replay(ctx, p, designs, prior, b.Draws, at.Stream())
		return r, err
	})
	return u
}

// results are the rows that a replay of a profile writes: its ratios, their differences to
// HBN's, and, where the replay knows them, their errors that come from the profile.
type results struct {
	ratios      []variance.Ratio
	differences []variance.Difference
	errors      []variance.ProfileError
}

// replayUnit makes a unit replay designs on a profile, unless it is degenerate, and
// write the results to its outputs.
func (b *builder) replayUnit(u *dag.Unit, of pair.Pair, known *policy.Donors,
	replay func(context.Context, *dag.Job, profile.Profile, []variance.Design, *neyman.Prior, seed.Seed) (results, error)) {
	b.onProfile(u, of, known, func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) error {
		var all results
		if p.VarianceSum() > 0 {
			selected, err := dag.ReadRows[variance.Design](job, partFile(selectedID))
			if err != nil {
				return err
			}
			selected = slices.DeleteFunc(selected, func(d variance.Design) bool { return int(d.NTasks) != p.N() })
			prior, err := neyman.NewPrior(b.QuadratureOrder)
			if err != nil {
				return err
			}
			if all, err = replay(ctx, job, p, selected, prior, at); err != nil {
				return err
			}
		}
		err := dag.WriteRows(job, u.Outputs[0], ratioSchema, all.ratios)
		if err == nil {
			err = dag.WriteRows(job, u.Outputs[1], differenceSchema, all.differences)
		}
		if err == nil && len(u.Outputs) > 2 {
			err = dag.WriteRows(job, u.Outputs[2], errorSchema, all.errors)
		}
		return err
	})
}
