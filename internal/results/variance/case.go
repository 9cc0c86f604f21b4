package variance

import (
	"cmp"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
)

// Case is everything that the case study is made from.
type Case struct {
	profile.Profile
	Budget    int32       // of the sampling distributions
	Ratios    []Ratio     // of the profile
	Estimates []Estimates // none where there are no distributions
}

// NotReplayed stands in the place of what is made of results that are not there.
const NotReplayed = "Nothing to show yet: the replay stage has not run, or has no results of it."

// NewCase keeps what is of the case study's profile.
func NewCase(p profile.Profile, budget int32, ratios []Ratio, estimates []Estimates) Case {
	return Case{
		Profile: p, Budget: budget,
		Ratios: keep(ratios, func(r Ratio) bool { return r.Profile() == p.Name() }),
		Estimates: keep(estimates, func(e Estimates) bool {
			return e.Benchmark == p.Benchmark && e.Model == p.Model && e.Budget == budget
		}),
	}
}

// Ratio is the variance ratio of a policy at a budget; ok is false where it was
// not replayed. Uniform's is one.
func (c Case) Ratio(of *policy.Policy, budget int32) (r Ratio, ok bool) {
	if of == policy.Uniform {
		return Ratio{Subject: Subject{Benchmark: c.Benchmark, Model: c.Model, NTasks: int32(c.N()), Budget: budget, Policy: of.Name, Donors: of.Donors.Name}, VarianceRatio: 1}, true
	}
	return ProfileRatio(c.Ratios, of, c.Name(), budget)
}

// HalfWidth is the half-width of the 95% interval of a normal law, as a
// fraction: 1.96 standard deviations of an estimator with a ratio to Uniform's
// variance Σ p(1−p)/(N²b) (paper, Eq. 1).
func (c Case) HalfWidth(ratio float64, budget int32) float64 {
	n := float64(c.N())
	return GainZ * math.Sqrt(ratio*c.VarianceSum()/float64(float64(n*n)*float64(budget)))
}

// Distribution is the bins of a policy.
func (c Case) Distribution(of *policy.Policy) []Estimates {
	out := keep(c.Estimates, func(e Estimates) bool { return e.Policy == of.Name })
	slices.SortStableFunc(out, func(a, b Estimates) int { return cmp.Compare(a.Low, b.Low) })
	return out
}

// Below counts the tasks with a probability below a limit.
func (c Case) Below(limit float64) int {
	return c.count(func(i int) bool { return c.P(i) < limit })
}

// Above counts the tasks with a probability above a limit.
func (c Case) Above(limit float64) int {
	return c.count(func(i int) bool { return c.P(i) > limit })
}

// Endpoints counts the tasks whose rollouts all went the same way.
func (c Case) Endpoints() int { return c.count(c.Endpoint) }

// Endpoint reports whether all rollouts of task i went the same way.
func (c Case) Endpoint(i int) bool { return c.PassCounts[i] == 0 || c.PassCounts[i] == c.Rollouts(i) }

func (c Case) count(holds func(task int) bool) (n int) {
	for i := range c.N() {
		if holds(i) {
			n++
		}
	}
	return n
}

// SpreadSE is the standard error of SD − Expected of simulated evaluations: of a
// standard deviation over that many nearly normal estimates, and of the replayed
// ratio in the formula.
func (c Case) SpreadSE(p *policy.Policy, e Estimates) float64 {
	own := e.SD / math.Sqrt(2*float64(e.Repetitions-1))
	r, ok := c.Ratio(p, e.Budget)
	if !ok {
		return own
	}
	return math.Hypot(own, e.Expected*r.RatioSE/(2*r.VarianceRatio))
}

// ProfileCauses is the error and the shift of a mean that come from its profiles, by redrawn ones.
type ProfileCauses struct {
	SE             float64
	Shift, ShiftSE float64
	Resamples      int32 // of each profile, at least
}

// NewProfileCauses is nil where the replay has no errors of all profiles, which err
// independently of one another.
func NewProfileCauses(errors ProfileErrors, of Standing) *ProfileCauses {
	g := 1 / float64(len(of.Ratios))
	p := &ProfileCauses{Resamples: math.MaxInt32}
	var se2, shift2 float64
	for _, r := range of.Ratios {
		e, ok := errors[r.Entry()]
		if !ok {
			return nil
		}
		se2 += g * g * e.ProfileSE * e.ProfileSE
		p.Shift += g * e.Shift
		shift2 += g * g * e.ShiftSE * e.ShiftSE
		p.Resamples = min(p.Resamples, e.Resamples)
	}
	p.SE, p.ShiftSE = math.Sqrt(se2), math.Sqrt(shift2)
	return p
}

// Resamples is how often the benchmarks of a study are drawn anew.
const Resamples = 10_000

// Confidence is how much of them an interval keeps.
const Confidence = 0.95

// Interval is where a mean over profiles lies when the benchmarks are drawn anew.
type Interval struct{ Low, High float64 }

// Benchmarks is many draws of the benchmarks of a study, as many as it has, with
// replacement. Profiles of one benchmark have their tasks in common and are not
// independent: they come and go together. The draws follow from the names of the
// benchmarks alone, so that means that are compared have them in common.
type Benchmarks struct {
	profiles []string   // the benchmark of each
	of       []int      // the same by number
	times    [][]uint16 // [draw][benchmark]
}

// NewBenchmarks is the draws for profiles, given by their benchmarks.
func NewBenchmarks(profiles []string) Benchmarks {
	names := slices.Compact(slices.Sorted(slices.Values(profiles)))
	b := Benchmarks{profiles: profiles, times: make([][]uint16, Resamples)}
	for _, name := range profiles {
		at, _ := slices.BinarySearch(names, name)
		b.of = append(b.of, at)
	}
	random := seed.Root(0).Child("benchmarks").Stream()
	for draw := range b.times {
		b.times[draw] = make([]uint16, len(names))
		for range names {
			b.times[draw][int(random.Float64()*float64(len(names)))]++
		}
	}
	return b
}

// For is the draws for the profiles of some ratios: these, where they are for the
// same ones.
func (b Benchmarks) For(ratios []Ratio) Benchmarks {
	var profiles []string
	for _, r := range ratios {
		profiles = append(profiles, r.Benchmark)
	}
	if slices.Equal(profiles, b.profiles) {
		return b
	}
	return NewBenchmarks(profiles)
}

// Means is the mean of a value of each profile in every draw: of all profiles of
// the benchmarks drawn, all alike in weight.
func (b Benchmarks) Means(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	count := make([]float64, slices.Max(b.of)+1)
	sums := make([]float64, len(count))
	for j, v := range values {
		sums[b.of[j]] += v
		count[b.of[j]]++
	}
	means := make([]float64, len(b.times))
	for draw, times := range b.times {
		var sum, n float64
		for i, k := range times {
			sum += float64(k) * sums[i]
			n += float64(k) * count[i]
		}
		means[draw] = sum / n
	}
	return means
}

// leastBenchmarks is the number of benchmarks from which an interval is worth its name: draws of
// two or three reach their range, whatever other benchmarks would be like.
const leastBenchmarks = 5

// Interval is the middle 95% of the means over the draws (the percentile
// bootstrap), nil of fewer benchmarks than tell how benchmarks differ.
func (b Benchmarks) Interval(values []float64) *Interval {
	return b.interval(b.Means(values))
}

// interval is the middle 95% of the values that the draws have, which it sorts.
func (b Benchmarks) interval(means []float64) *Interval {
	if len(b.of) == 0 || slices.Max(b.of)+1 < leastBenchmarks {
		return nil
	}
	slices.Sort(means)
	return &Interval{Quantile(means, (1-Confidence)/2), Quantile(means, (1+Confidence)/2)}
}

// Quantile is the value below which a part of rising ones lie, interpolated
// between neighbours as most programs do.
func Quantile(rising []float64, part float64) float64 {
	place := part * float64(len(rising)-1)
	i := int(math.Floor(place))
	next := min(i+1, len(rising)-1)
	return rising[i] + float64((rising[next]-rising[i])*(place-float64(i)))
}
