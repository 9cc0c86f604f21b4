package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"speceval/internal/seed"
)

// permuted is the p-value of the hypothesis that two groups of answers have one
// law, by the chi-square statistic of their classes, whose law under it is found by
// dealing the answers out again.
func permuted(random *seed.Stream, a, b []sample, class func(sample) string) float64 {
	all := slices.Concat(a, b)
	number := map[string]int{}
	classes := make([]int, len(all))
	for i, s := range all {
		name := class(s)
		if _, there := number[name]; !there {
			number[name] = len(number)
		}
		classes[i] = number[name]
	}
	seen := statistic(classes, len(a), len(number))
	reached := 1 // the one that was seen
	for range lawPermutations {
		for i := range a { // as many as the first group has, without replacement
			j := i + int(random.Float64()*float64(len(classes)-i))
			classes[i], classes[j] = classes[j], classes[i]
		}
		if statistic(classes, len(a), len(number)) >= seen-1e-9 {
			reached++
		}
	}
	return float64(reached) / (lawPermutations + 1)
}

// statistic is Pearson's chi-square of the classes of the first n answers and of
// the others.
func statistic(classes []int, n, kinds int) float64 {
	first, all := make([]float64, kinds), make([]float64, kinds)
	for i, k := range classes {
		all[k]++
		if i < n {
			first[k]++
		}
	}
	share := float64(n) / float64(len(classes))
	sum := 0.0
	for k := range all {
		d := first[k] - share*all[k]
		sum += d * d / (all[k] * share * (1 - share))
	}
	return sum
}

// eighths are classes of length, by those of all answers.
func eighths(all []sample) func(tokens int) string {
	lengths := make([]int, len(all))
	for i, s := range all {
		lengths[i] = s.tokens
	}
	slices.Sort(lengths)
	return func(tokens int) string {
		class := 0
		for q := 1; q < 8; q++ {
			if tokens > lengths[q*len(lengths)/8] {
				class++
			}
		}
		return fmt.Sprint(class)
	}
}

// average is a mean length with its standard error.
type average struct{ mean, error float64 }

func mean(all []sample) average {
	n, sum, squares := float64(len(all)), 0.0, 0.0
	for _, s := range all {
		sum, squares = sum+float64(s.tokens), squares+float64(s.tokens)*float64(s.tokens)
	}
	m := sum / n
	return average{m, math.Sqrt((squares/n - m*m) / (n - 1))}
}

// common are the most common conclusions with how often each group has them.
func common(a, b []sample) string {
	count := func(all []sample) map[string]int {
		counts := map[string]int{}
		for _, s := range all {
			counts[s.concluded]++
		}
		return counts
	}
	of, other := count(a), count(b)
	names := slices.SortedFunc(maps.Keys(of), func(x, y string) int { return of[y] - of[x] })
	var parts []string
	for _, name := range names[:min(len(names), 3)] {
		parts = append(parts, fmt.Sprintf("%q %d and %d times", name, of[name], other[name]))
	}
	return strings.Join(parts, ", ")
}
