package report

import (
	"slices"
	"strings"
	"testing"
)

// TestTablesHaveThePapersNumbers leaves out tables of the paper: the others keep
// the numbers by which formulas name them.
func TestTablesHaveThePapersNumbers(t *testing.T) {
	p := &prose{}
	for _, base := range []string{"table1_variance", "table5_hbn_schedule", "table6_en_schedule", "robustness", "", "table7_flop_coefficients", "profile_ratios"} {
		p.number(base)
	}
	want := []string{`\setcounter{table}{4}`, `\setcounter{table}{8}`, `\setcounter{table}{6}`, `\setcounter{table}{10}`}
	if got := strings.Fields(p.String()); !slices.Equal(got, want) {
		t.Errorf("counters %q, want %q", got, want)
	}
}
