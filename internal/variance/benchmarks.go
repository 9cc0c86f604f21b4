package variance

import (
	"math"
	"slices"

	"speceval/internal/seed"
)

// Resamples is how often the benchmarks of a study are drawn anew.
const Resamples = 10_000

// Confidence is how much of them an interval keeps.
const Confidence = 0.95

// Interval is where a mean over profiles lies when the benchmarks are drawn anew.
type Interval struct{ Low, High float64 }

// Includes reports whether a value is no surprise.
func (i Interval) Includes(v float64) bool { return i.Low <= v && v <= i.High }

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

// Means is the mean of a value of each profile over every draw, rising: of all
// profiles of the benchmarks drawn, all alike in weight.
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
	slices.Sort(means)
	return means
}

// Interval is the middle 95% of the means over the draws (the percentile
// bootstrap), nil where there are not two benchmarks to tell apart.
func (b Benchmarks) Interval(values []float64) *Interval {
	if len(b.of) == 0 || slices.Max(b.of) == 0 {
		return nil
	}
	means := b.Means(values)
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
