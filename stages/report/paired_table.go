package report

import (
	"fmt"
	"math"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// pairedRow is a policy held against HBN at a budget, over the profiles that
// both were replayed on.
type pairedRow struct {
	budget        int32
	policy        string
	difference    Estimate // the policy's ratio minus HBN's, mean over profiles
	independent   float64  // the standard error if the two had draws of their own
	better, worse int      // profiles on which HBN's ratio is the lower, or the higher, beyond noise
	profiles      int
}

// pairedRows are all policies but HBN at every budget, as far as their
// differences are stored. A file that lacks some profiles of a policy is an
// error: a mean over fewer profiles would look like another difference.
func pairedRows(ratios []variance.Ratio, stored []variance.Difference) ([]pairedRow, error) {
	byRatio := newDifferences(stored)
	var rows []pairedRow
	for _, b := range budgets(ratios) {
		hbn := map[string]variance.Ratio{}
		for _, r := range pick(ratios, variance.HBN, b) {
			hbn[name(r)] = r
		}
		for _, policy := range allPolicies {
			if policy == variance.HBN {
				continue
			}
			others := pick(ratios, policy, b)
			row, found := newPairedRow(byRatio, hbn, others)
			if found == 0 {
				continue
			}
			if found != len(others) || found != len(hbn) {
				return nil, fmt.Errorf("%s: %s has %d differences to HBN at budget %d, but %d ratios; run the replay stage again",
					variance.DifferencesFile, policy, found, b, len(others))
			}
			row.budget, row.policy = b, policy
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// newPairedRow sums up the differences of some ratios to HBN's, and counts those
// found.
func newPairedRow(byRatio differences, hbn map[string]variance.Ratio, others []variance.Ratio) (row pairedRow, found int) {
	var se2, independent2 float64
	for _, r := range others {
		d, ok := byRatio[entryOf(r)]
		h, both := hbn[name(r)]
		if !ok || !both {
			continue
		}
		found++
		row.difference.Value += d.Difference
		se2 += d.DifferenceSE * d.DifferenceSE
		independent2 += r.RatioSE*r.RatioSE + h.RatioSE*h.RatioSE
		switch {
		case d.Difference > gainZ*d.DifferenceSE:
			row.better++
		case d.Difference < -gainZ*d.DifferenceSE:
			row.worse++
		}
	}
	n := float64(found)
	row.profiles = found
	row.difference.Value /= n
	row.difference.SE, row.independent = math.Sqrt(se2)/n, math.Sqrt(independent2)/n
	return row, found
}

// pairedTable holds every policy against HBN, profile by profile, with the
// errors that common draws leave. It is not in the paper.
func pairedTable(ratios []variance.Ratio, stored []variance.Difference) (Sheet, error) {
	rows, err := pairedRows(ratios, stored)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{Base: "paired_differences", Print: pairedPrint(rows)}
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	s.Data.Columns = names("budget", "policy", "difference", "difference_se", "independent_se", "profiles_better", "profiles_worse", "profiles")
	for _, r := range rows {
		s.Data.Rows = append(s.Data.Rows, []table.Cell{table.Integer(r.budget), table.Text(r.policy),
			table.Number(r.difference.Value), table.Number(r.difference.SE), table.Number(r.independent),
			table.Integer(r.better), table.Integer(r.worse), table.Integer(r.profiles)})
	}
	return s, nil
}

func pairedPrint(rows []pairedRow) table.Table {
	const errors = ": the mean over profiles, its Monte Carlo standard error from the draws that both policies share, " +
		"and the error that draws of their own would leave. "
	t := table.Table{
		Label:   "tab:paired-differences",
		Title:   "Variance of other policies minus that of HBN, over Uniform's" + errors + "Better, worse: profiles on which HBN's is lower or higher by 1.96 standard errors.",
		Caption: "Variance of other policies minus that of HBN, in percentage points of Uniform's" + errors + "HBN lower, HBN higher: profiles on which it is so by 1.96 standard errors.",
	}
	points := table.Format{Decimals: 3, Scale: 100}
	group := table.Head{Plain: "Standard error"}
	t.Columns = []table.Column{
		{Head: table.Head{Plain: "Policy"}, Align: table.Left},
		{Head: table.Head{Plain: "Difference"}, Format: table.Format{Decimals: 2, Scale: 100, Signed: true}},
		{Head: table.Head{Plain: "paired"}, Group: group, Format: points},
		{Head: table.Head{Plain: "unpaired"}, Group: group, Format: points},
		{Head: table.Head{Plain: "HBN lower"}},
		{Head: table.Head{Plain: "HBN higher"}},
		{Head: table.Head{Plain: "Profiles"}},
	}
	for i, r := range rows {
		if i == 0 || rows[i-1].budget != r.budget {
			t.Sections = append(t.Sections, budgetSection(i, r.budget))
		}
		t.Rows = append(t.Rows, []table.Cell{table.Text(policyName[r.policy]), table.Number(r.difference.Value),
			table.Number(r.difference.SE), table.Number(r.independent), table.Integer(r.better), table.Integer(r.worse), table.Integer(r.profiles)})
	}
	return t
}
