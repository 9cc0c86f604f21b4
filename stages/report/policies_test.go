package report_test

import (
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/figure"
	"speceval/internal/terminal/table"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/tables"
)

// withOurs adds policies of ours to a study: HBN's ratios times a factor each, by
// what they know, without a stage weight.
func withOurs(s study) study {
	s = s.clone()
	of := append(policy.List{policy.LOO, policy.Staged}, append(policy.Informed, policy.InformedStaged...)...)
	for _, r := range slices.Clone(s.ratios) {
		if r.Policy != policy.HBN.Name {
			continue
		}
		for i, p := range of {
			own := r
			own.Policy, own.Donors, own.W = p.Name, p.Donors.Name, nil
			own.VarianceRatio = r.VarianceRatio * (0.98 - 0.04*float64(i))
			s.ratios = append(s.ratios, own)
		}
	}
	return s
}

// quoted are the values of a table's macros by their names.
func quoted(t *testing.T, s study, of *model.Table) map[string]string {
	found := map[string]string{}
	for _, m := range macros(t, s, of) {
		found[m.Name] = m.Value
	}
	return found
}

// TestPoliciesStandBesideEachOther compares the rows of Table 9 with sums over the
// ratios, of policies that differ in their donors alone too.
func TestPoliciesStandBesideEachOther(t *testing.T) {
	s := withOurs(paperStudy(t))
	sheet := s.sheet(t, tables.Policies)
	if sheet.Rows != 4*14 {
		t.Fatalf("%d rows, want 14 policies at 4 budgets", sheet.Rows)
	}
	checkLabels(t, sheet)
	i := row(t, sheet, "b=16 hbn_informed_staged siblings16")
	ratios := variance.Pick(s.ratios, policy.InformedStaged[1], 16)
	var mean, worth, tasks, worst float64
	gaining := 0
	for _, r := range ratios {
		n := float64(r.NTasks)
		mean += r.VarianceRatio / 107
		worth += n * 16 / r.VarianceRatio
		tasks += n
		worst = max(worst, r.VarianceRatio)
		if r.VarianceRatio+1.96*r.RatioSE < 1 {
			gaining++
		}
	}
	of := func(column string) float64 { return number(t, sheet, i, column) }
	near(t, "mean", of("variance_ratio"), mean)
	near(t, "its error", of("variance_ratio_se"), replaySE/math.Sqrt(107)) // there is no weight that a design has estimated
	near(t, "Uniform of the same variance", of("equivalent_budget"), worth/tasks)
	near(t, "worst", of("worst_ratio"), worst)
	if of("profiles") != 107 || of("profiles_gaining") != float64(gaining) {
		t.Errorf("gains on %v of %v profiles, want %d", of("profiles_gaining"), of("profiles"), gaining)
	}
	if low, high := of("reduction_low"), of("reduction_high"); !(low < 1-mean && 1-mean < high) {
		t.Errorf("a reduction of %v in [%v, %v]", 1-mean, low, high)
	}
	if got := sheet.Print().Rows[11][0]; got != table.Text("Informed staged HBN, siblings by 16") {
		t.Errorf("in print it is %v", got)
	}
	found := quoted(t, s, tables.Policies)
	if got, want := found["specInformedStagedSiblingsOneSixVarianceBOneSix"], strings.TrimSpace(table.Format{Decimals: 1, Percent: true}.Print(mean)); got != want {
		t.Errorf("the text has a mean of %q, want %q", got, want)
	}
}

// TestPoliciesAreTimedAgainstTheirEquivalents compares rows of Table 10 with sums over
// the executions, and those of HBN with Table 4.
func TestPoliciesAreTimedAgainstTheirEquivalents(t *testing.T) {
	s := fleetStudy(t)
	sheet := s.sheet(t, tables.Worth)
	if want := 4 * (2 + len(policy.Timed)); sheet.Rows != want+4 { // HBN's are published, simulated and measured
		t.Fatalf("%d rows, want %d", sheet.Rows, want+4)
	}
	checkLabels(t, sheet)
	of := policy.InformedStaged[1]
	var uniform, flops, own, worth, wasted float64
	for _, r := range s.benefit {
		switch {
		case r.ReferenceBudget != 16:
		case r.Strategy == measurement.Uniform:
			uniform, flops = uniform+r.TimeSeconds, flops+r.UsefulFLOPs
		case r.Policy == of.Name && r.Donors == of.Donors.Name:
			own, wasted = own+r.TimeSeconds, wasted+r.WastedFLOPs
			for _, u := range s.benefit {
				if u.Strategy == measurement.UniformEquivalent && u.Profile() == r.Profile() && u.ReferenceBudget == 16 && u.Repeat.Repeat == r.Repeat.Repeat && u.Budget == r.Equivalent {
					worth += u.TimeSeconds
				}
			}
		}
	}
	i := row(t, sheet, "simulated b=16 hbn_informed_staged siblings16")
	near(t, "time", number(t, sheet, i, "time"), own/uniform-1)
	near(t, "equivalent time", number(t, sheet, i, "equivalent_time"), worth/uniform-1)
	near(t, "delta", number(t, sheet, i, "delta"), (worth-own)/uniform)
	near(t, "waste", number(t, sheet, i, "wasted_flops"), wasted/flops)
	benefit := s.sheet(t, tables.Benefit)
	for _, provenance := range measurement.Provenances {
		i, k := row(t, sheet, provenance+" b=32 hbn"), row(t, benefit, provenance+" b=32")
		for mine, theirs := range map[string]string{"time": "async_time", "equivalent_time": "uniform_equivalent_time", "delta": "delta"} {
			if got, want := number(t, sheet, i, mine), number(t, benefit, k, theirs); got != want {
				t.Errorf("%s %s of HBN is %v, in Table 4 %v", provenance, mine, got, want)
			}
		}
	}
}

// TestWordsOnSavingsFollowTheNumbers makes one policy as fast as Uniform at b = 8, and
// another as slow as no other at 16.
func TestWordsOnSavingsFollowTheNumbers(t *testing.T) {
	s := fleetStudy(t)
	for i := range s.benefit {
		r := &s.benefit[i]
		switch {
		case r.Policy == policy.Staged.Name && r.ReferenceBudget == 8:
			r.TimeSeconds /= 3
		case r.Policy == policy.Staged.Name && r.ReferenceBudget == 16:
			r.TimeSeconds *= 3
		}
	}
	found := quoted(t, s, tables.Worth)
	last := policy.Timed[len(policy.Timed)-1]
	for name, want := range map[string]string{
		"specBenefitBest":                      "Staged HBN at b = 8 and " + last.Title() + " at b = 16, 32 and 64",
		"specBenefitBestOverHBN":               "more than HBN-async at every budget",
		"spec" + last.Macro + "BenefitOverHBN": "more than HBN-async at every budget",
	} {
		if found[name] != want {
			t.Errorf("\\%s is %q, want %q", name, found[name], want)
		}
	}
	if got := found["specStagedBenefitOverHBN"]; !strings.Contains(got, "less than HBN-async at b = 16") || strings.Contains(got, "every") {
		t.Errorf("Staged HBN saves %s", got)
	}
}

// TestEveryKindOfKnowledgeHasAPanel draws what there is: the paper's policies in a
// single panel, with ours three, and HBN and the Oracle in each.
func TestEveryKindOfKnowledgeHasAPanel(t *testing.T) {
	for panels, s := range map[int]study{1: paperStudy(t), 3: withOurs(paperStudy(t))} {
		f := must(figures.Policies.Make(s.source(t)))
		ok(t, figure.PDF(io.Discard, f))
		lines, sheet := map[string]int{}, s.sheet(t, tables.Policies)
		for i, r := range f.Data.Rows {
			panel, key := r[0].Exact(), policy.Key{Name: r[2].Exact(), Donors: r[3].Exact()}
			lines[panel]++
			at := row(t, sheet, "b="+r[1].Exact()+" "+key.String())
			if want := number(t, sheet, at, "variance_ratio"); r[4] != table.Number(want) {
				t.Errorf("row %d has %v of %s, want %v", i, r[4], key, want)
			}
			if low, _ := r[5].Float(); math.Abs(1-low-number(t, sheet, at, "reduction_high")) > 1e-12 {
				t.Errorf("row %d has the low bound %v of %s", i, low, key)
			}
		}
		want := map[string]int{"a": 4 * 4}
		if panels == 3 {
			want = map[string]int{"a": 4 * 6, "b": 4 * 6, "c": 4 * 6}
		}
		if len(f.Panels[0]) != panels || !maps.Equal(lines, want) {
			t.Errorf("%d panels with points %v, want %v", len(f.Panels[0]), lines, want)
		}
	}
}

// TestPoliciesOfOneBenchmarkHaveNoInterval wants no interval where nothing can be
// drawn anew.
func TestPoliciesOfOneBenchmarkHaveNoInterval(t *testing.T) {
	s := smallStudy()
	s.ratios = slices.DeleteFunc(s.ratios, func(r variance.Ratio) bool { return r.Benchmark != "math_100" })
	for _, c := range []string{"reduction_low", "reduction_high"} {
		if sheet := s.sheet(t, tables.Policies); sheet.Rows == 0 || !sheet.Column(c).Cell(0).IsMissing() {
			t.Errorf("%s of one benchmark, in %d rows", c, sheet.Rows)
		}
	}
}

// TestWordsOfIntervalsFollowTheNumbers makes IBN worse than HBN on all benchmarks
// at b = 8, on half of them at 16, on none at 32, and about as good at 64.
func TestWordsOfIntervalsFollowTheNumbers(t *testing.T) {
	s := paperStudy(t).clone()
	s.differences = madeDifferences(s.ratios)
	names := map[string]int{}
	for i := range s.differences {
		d := &s.differences[i]
		if d.Policy != policy.IBN.Name {
			continue
		}
		if _, seen := names[d.Benchmark]; !seen {
			names[d.Benchmark] = len(names)
		}
		side := float64(1 - 2*(names[d.Benchmark]%2))
		d.Difference = map[int32]float64{8: 0.02, 16: 0.02 * side, 32: -0.02, 64: 0.0003}[d.Budget]
	}
	for _, r := range slices.Clone(s.ratios) { // TS-Neyman, which has draws of its own
		if r.Policy == policy.HBN.Name {
			r.Policy, r.W = policy.TS.Name, nil
			r.VarianceRatio += 0.01
			s.ratios = append(s.ratios, r)
		}
	}
	found := quoted(t, s, tables.Paired)
	for name, want := range map[string]string{
		"specIBNOverHBNInterval": "lies above zero at b = 8, includes zero at b = 16 and 64 and lies below zero at b = 32",
		"specTSOverHBNInterval":  "lies above zero at every budget",
		"specTSOverHBNProfiles":  "HBN has the lower variance on 107 of 107 profiles at every budget",
		"specTSOverHBNLowBEight": "+1.0",
	} {
		if found[name] != want {
			t.Errorf("\\%s is %q, want %q", name, found[name], want)
		}
	}
	if got := found["specIBNOverHBNProfiles"]; !strings.HasPrefix(got, "HBN has the lower variance on 107, ") || !strings.HasSuffix(got, " 0 and 107 of 107 profiles at b = 8, 16, 32 and 64, fewer than half at 32") {
		t.Errorf("profiles: %s", got)
	}
	sheet := s.sheet(t, tables.Paired)
	i := row(t, sheet, "b=8 ts_neyman")
	near(t, "difference to TS-Neyman", number(t, sheet, i, "difference"), 0.01)
	near(t, "its error, of draws of its own", number(t, sheet, i, "difference_se"), number(t, sheet, i, "independent_se"))
	if !slices.Contains(sheet.Notes, "Tuned IBN − HBN: the interval "+found["specIBNOverHBNInterval"]+".") {
		t.Errorf("the table says %q", sheet.Notes)
	}
}
