package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Paired holds every policy against HBN, profile by profile, with the errors that
// common draws leave. It is not in the paper.
var Paired = &model.Table{
	Base: "paired_differences", Label: "tab:paired-differences",
	Reads:   stored.Reads{Units: []dag.Ref{stored.RatiosRef, stored.PairedRef}},
	Chapter: "How sure these numbers are",
	Remarks: []string{`Policies are replayed on the same draws where they can be, so that their differences are known better than each alone: <ref paired_differences>.`},
	Make:    makePaired, Macros: rivalMacros,
	Words: `
policy           The policy that HBN is held against.
difference       By how much the policy's variance ratio is above HBN's: (1/J)·Σ_j (r_j − r_j^HBN); above 0 HBN has the lower variance. Of replay/differences.parquet.
difference_se    Its Monte Carlo standard error, (1/J)·√(Σ_j e_j²), with the error e_j of each difference over the pilot vectors that both policies were replayed on, given both designs. Of
                 replay/differences.parquet; of TS-Neyman, which has draws of its own, the same as independent_se.
independent_se   What the error would be if the two were replayed on draws of their own: (1/J)·√(Σ_j (s_j² + s_j,HBN²)), with ratio_se of replay/ratios.parquet.
profiles_better  On how many profiles HBN has the lower ratio beyond noise: a difference above 1.96 of its standard errors.
profiles_worse   On how many profiles HBN has the higher ratio beyond noise: a difference below −1.96 of its standard errors.
profiles         The number of profiles that both policies were replayed on at this budget.
difference_low   A bound of the 95% interval of difference: <interval>
difference_high  A bound of the 95% interval of difference: <interval>
profiles_lower   On how many profiles HBN has the lower ratio, by however little: a difference above 0.
`,
}

type pairedRow struct {
	Budget int32 `csv:"budget"`
	model.PolicyKeys
	Difference  float64    `csv:"difference" head:"Difference (points)" format:"+.2pt"`
	Interval    table.Cell `head:"95% interval"`
	SE          float64    `csv:"difference_se" head:"paired" group:"Standard error (points)" format:".3pt"`
	Independent float64    `csv:"independent_se" head:"unpaired" group:"Standard error (points)" format:".3pt"`
	Better      int        `csv:"profiles_better" head:"HBN lower"`
	Worse       int        `csv:"profiles_worse" head:"HBN higher"`
	Profiles    int        `csv:"profiles" head:"Profiles"`
	Low         *float64   `csv:"difference_low" format:"+.1pt"`
	High        *float64   `csv:"difference_high" format:"+.1pt"`
	Lower       int        `csv:"profiles_lower"`
}

var pairedRows = stored.Once("paired rows", func(src *stored.Source) ([]variance.PairedRow, error) {
	ratios, err := stored.Ratios(src)
	differences, noDifferences := stored.Differences(src)
	if err := cmp.Or(err, noDifferences); err != nil {
		return nil, err
	}
	return variance.PairedRows(ratios, differences)
})

func makePaired(src *stored.Source) (*model.Sheet, error) {
	all, err := pairedRows(src)
	if err != nil {
		return nil, err
	}
	var rows []pairedRow
	for _, r := range all {
		row := pairedRow{
			Budget: r.Budget, PolicyKeys: model.KeysOf(r.Policy),
			Difference: r.Difference.Value, SE: r.Difference.SE, Independent: r.IndependentSE,
			Better: r.Better, Worse: r.Worse, Profiles: r.Profiles, Lower: r.Lower,
		}
		if b := r.Between; b != nil {
			row.Low, row.High = &b.Low, &b.High
			row.Interval = table.Text("[" + signedPoints(b.Low) + ", " + signedPoints(b.High) + "]")
		}
		rows = append(rows, row)
	}
	s := model.NewSheet("Variance of other policies minus that of HBN, over Uniform's: the mean over profiles, its 95% interval over resampled benchmarks, "+
		"its Monte Carlo standard error from the draws that both policies share, and the error that draws of their own would leave. "+
		"HBN lower (better), HBN higher (worse): profiles on which it is so by 1.96 standard errors.", rows)
	for _, r := range rivals(all) {
		s.Notes = append(s.Notes, r.policy.Label+" − HBN: the interval "+r.interval()+".", "There "+r.profiles()+".")
	}
	return s, nil
}

// signedPoints is a difference in percentage points.
func signedPoints(v float64) string {
	return table.Minus(table.Format{Decimals: 1, Scale: 100, Signed: true}.Print(v))
}

// rival is a policy of the paper that HBN is held against, at every budget.
type rival struct {
	policy *policy.Policy
	rows   []variance.PairedRow
}

// rivals are the policies that can be executed and have intervals.
func rivals(rows []variance.PairedRow) (all []rival) {
	for _, p := range policy.All {
		if p.PaperTable == 0 || p.Clairvoyant {
			continue
		}
		r := rival{policy: p}
		for _, row := range rows {
			if row.Policy == p && row.Between != nil {
				r.rows = append(r.rows, row)
			}
		}
		if len(r.rows) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// budgets are the budgets of the rows.
func (r rival) budgets() (all []int32) {
	for _, row := range r.rows {
		all = append(all, row.Budget)
	}
	return all
}

// interval says where the interval of the difference lies, by budget. It is judged
// as it is printed, so that one that begins at 0.0 includes zero.
func (r rival) interval() string {
	return byBudgets([]string{"lies above zero", "includes zero", "lies below zero"}, r.budgets(), func(i int) int {
		switch b := r.rows[i].Between; {
		case math.Round(1000*b.Low) > 0:
			return 0
		case math.Round(1000*b.High) < 0:
			return 2
		}
		return 1
	})
}

// profiles says on how many profiles HBN's variance is the lower, by budget.
func (r rival) profiles() string {
	var counts []int
	var against []int32
	for _, row := range r.rows {
		if counts = append(counts, row.Lower); 2*row.Lower < row.Profiles {
			against = append(against, row.Budget)
		}
	}
	const form = "HBN has the lower variance on %s of %d profiles at %s"
	all := r.rows[0].Profiles
	if slices.Min(counts) == slices.Max(counts) {
		return fmt.Sprintf(form, fmt.Sprint(counts[0]), all, "every budget")
	}
	said := fmt.Sprintf(form, display.And(counts), all, "b = "+display.And(r.budgets()))
	switch len(against) {
	case 0:
		return said
	case len(r.rows):
		return said + ", fewer than half at every one"
	}
	return said + ", fewer than half at " + display.And(against)
}

// rivalMacros are what the means leave unsaid: the intervals of HBN's gains over the
// paper's other policies, in numbers and in words.
func rivalMacros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := pairedRows(src)
	for _, r := range rivals(rows) {
		name := r.policy.Macro + "OverHBN"
		for _, row := range r.rows {
			all = append(all, macroOf(name+"Low", row.Budget, signedPoints(row.Between.Low)),
				macroOf(name+"High", row.Budget, signedPoints(row.Between.High)),
				macroOf(name+"Lower", row.Budget, fmt.Sprint(row.Lower)))
		}
		all = append(all, model.Macro{Name: "spec" + name + "Interval", Value: r.interval()},
			model.Macro{Name: "spec" + name + "Profiles", Value: r.profiles()})
	}
	return all, err
}
