package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// What speceval must reach, of the rates of the others in the same rounds.
const (
	ofBare    = 0.9
	ofInspect = 5.0
)

// judge prints the rates of the contenders, in their order, and the two ratios.
func judge(w io.Writer, rates [][]float64) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "\nprogram\trollouts/s\tleast\tmost\twhat it does\n")
	for i, c := range contenders {
		fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t%s\n", c.name, mean(rates[i]), slices.Min(rates[i]), slices.Max(rates[i]), c.about)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	bare, inspect := mean(rates[1])/mean(rates[0]), mean(rates[1])/mean(rates[2])
	fmt.Fprintf(w, "speceval gets %.3f of the bare loop's rate (%s a round), wanted: %g\n", bare, ratios(rates[1], rates[0]), ofBare)
	fmt.Fprintf(w, "speceval gets %.2f times inspect_ai's rate (%s a round), wanted: %g\n", inspect, ratios(rates[1], rates[2]), ofInspect)
	if bare < ofBare || inspect < ofInspect {
		return fmt.Errorf("speceval is too slow")
	}
	return nil
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// ratios are the least and the greatest ratio of rates of the same round.
func ratios(a, b []float64) string {
	var all []float64
	for i := range a {
		all = append(all, a[i]/b[i])
	}
	return fmt.Sprintf("%.2f to %.2f", slices.Min(all), slices.Max(all))
}
