package tables

import (
	"fmt"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
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
}

// pairedRows are the rows of the table.
func pairedRows(src *stored.Source) ([]variance.PairedRow, error) {
	ratios, err := src.Ratios()
	if err != nil {
		return nil, err
	}
	differences, err := src.Differences()
	if err != nil {
		return nil, err
	}
	return variance.PairedRows(ratios, differences)
}

func makePaired(src *stored.Source) (*model.Sheet, error) {
	rows, err := pairedRows(src)
	if err != nil {
		return nil, err
	}
	const errors = ": the mean over profiles, its 95% interval over resampled benchmarks, its Monte Carlo standard error from the draws that both policies share, " +
		"and the error that draws of their own would leave. "
	s := &model.Sheet{
		Rows:    len(rows),
		Title:   "Variance of other policies minus that of HBN, over Uniform's" + errors + "Better, worse: profiles on which HBN's is lower or higher by 1.96 standard errors.",
		Caption: "Variance of other policies minus that of HBN, in percentage points of Uniform's" + strings.ReplaceAll(errors, "%", `\%`) + "HBN lower, HBN higher: profiles on which it is so by 1.96 standard errors.",
	}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].Budget })
	group := table.Head{Plain: "Standard error"}
	const file = variance.DifferencesFile
	difference := func(e variance.PairedEntry) float64 { return e.Difference.Difference }
	paired := func(e variance.PairedEntry) float64 { return e.DifferenceSE }
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].Budget }))
	s.Add(model.PolicyKeys("The policy that HBN is held against.", func(i int) *policy.Policy { return rows[i].Policy })...)
	s.Add(
		model.Column{Name: "difference", Head: table.Head{Plain: "Difference"}, Format: table.Format{Decimals: 2, Scale: 100, Signed: true},
			Words: "By how much the policy's variance ratio is above HBN's: «(1/J)·Σ_j (r_j − r_j^HBN)¦J^{-1}\\sum_j(r_j-r_j^{\\mathrm{HBN}})»; above 0 HBN has the lower variance. Of ‹" + file + "›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Mean(difference) }),
			Break: func(i int) (d model.Breakdown, err error) {
				r := rows[i]
				d.Parts = model.Added("profiles", []string{"difference", "difference_se", r.Policy.Key().String(), policy.HBN.Name}, pairedParts(r, func(e variance.PairedEntry) model.Part {
					return model.Shared("", difference(e)/float64(len(r.Entries)), difference(e), paired(e), e.Other.VarianceRatio, e.HBN.VarianceRatio)
				}))
				se := r.RMS(paired)
				about := fmt.Sprintf("%d draws on a profile that both policies share, given both designs", r.Entries[0].Draws)
				if r.Apart {
					about = "each policy has draws of its own"
				}
				d.Errors = []model.ErrorOf{{Cause: model.ReplayCause, SE: &se, About: about}}
				return d, nil
			}},
		model.Column{Head: table.Head{Plain: "95% interval"}, Shown: func(i int) table.Cell { return printedInterval(rows[i].Between) }},
		model.Column{Name: "difference_se", Role: model.Error, Of: "difference", Head: table.Head{Plain: "paired"}, Group: group, Format: points3,
			Words: "Its Monte Carlo standard error, «(1/J)·√(Σ_j e_j²)¦J^{-1}(\\sum_j e_j^2)^{1/2}», with the error «e_j» of each difference over the pilot vectors that both policies were replayed on, given both designs. Of ‹" + file + "›; of TS-Neyman, which has draws of its own, the same as independent_se.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].RMS(paired) }),
			Break: func(i int) (model.Breakdown, error) {
				return pairedSquares(rows[i], paired, []string{errorColumns[0], "difference_se on it"}, func(e variance.PairedEntry) []float64 { return []float64{e.DifferenceSE} })
			}},
		model.Column{Name: "independent_se", Role: model.Cause, Of: "difference", Head: table.Head{Plain: "unpaired"}, Group: group, Format: points3,
			Words: "What the error would be if the two were replayed on draws of their own: «(1/J)·√(Σ_j (s_j² + s_j,HBN²))¦J^{-1}\\bigl(\\sum_j(s_j^2+s_{j,\\mathrm{HBN}}^2)\\bigr)^{1/2}», with ratio_se of ‹replay/ratios.parquet›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].IndependentSE() }),
			Break: func(i int) (model.Breakdown, error) {
				return pairedSquares(rows[i], variance.PairedEntry.Independent, []string{errorColumns[0], "ratio_se", "ratio_se of hbn"}, func(e variance.PairedEntry) []float64 { return []float64{e.Other.RatioSE, e.HBN.RatioSE} })
			}},
		countColumn(rows, "profiles_better", "HBN lower", "On how many profiles HBN has the lower ratio beyond noise: a difference above 1.96 of its standard errors.",
			func(r variance.PairedRow) int { return r.Beyond(1) }, fmt.Sprintf("those above %g are counted", variance.GainZ), true),
		countColumn(rows, "profiles_worse", "HBN higher", "On how many profiles HBN has the higher ratio beyond noise: a difference below −1.96 of its standard errors.",
			func(r variance.PairedRow) int { return r.Beyond(-1) }, fmt.Sprintf("those below −%g are counted", variance.GainZ), false),
		countColumn(rows, "profiles", "Profiles", "The number of profiles that both policies were replayed on at this budget.",
			func(r variance.PairedRow) int { return len(r.Entries) }, "all are counted", true),
		differenceBound(rows, "difference_low", func(b *variance.Interval) *float64 { return &b.Low }),
		differenceBound(rows, "difference_high", func(b *variance.Interval) *float64 { return &b.High }),
		countColumn(rows, "profiles_lower", "", "On how many profiles HBN has the lower ratio, by however little: a difference above 0.",
			variance.PairedRow.Lower, "those above 0 are counted", true))
	for _, r := range rivals(rows) {
		s.Notes = append(s.Notes, r.policy.Label+" − HBN: the interval "+r.interval()+".", "There "+r.profiles()+".")
	}
	return s, nil
}

// pairedParts are the profiles of the row.
func pairedParts(r variance.PairedRow, of func(variance.PairedEntry) model.Part) (parts []model.Part) {
	for _, e := range r.Entries {
		p := of(e)
		p.Name = e.Other.Profile()
		parts = append(parts, p)
	}
	return parts
}

// pairedSquares are the profiles of an error, each with its share and further numbers.
func pairedSquares(r variance.PairedRow, of func(variance.PairedEntry) float64, columns []string, more func(variance.PairedEntry) []float64) (d model.Breakdown, err error) {
	d.Parts = model.Squared("profiles", columns, pairedParts(r, func(e variance.PairedEntry) model.Part {
		s := of(e) / float64(len(r.Entries))
		return model.Shared("", s*s, append([]float64{s}, more(e)...)...)
	}))
	return d, nil
}

// countColumn counts profiles by their differences.
func countColumn(rows []variance.PairedRow, name, head, words string, count func(variance.PairedRow) int, how string, greatest bool) model.Column {
	return model.Column{Name: name, Role: model.Count, Head: table.Head{Plain: head}, Words: words,
		Cell: model.Counts(func(i int) int { return count(rows[i]) }),
		Break: func(i int) (d model.Breakdown, err error) {
			d.Parts = model.Ranked("profiles", how, []string{"difference in s.e.", "difference", "difference_se"}, pairedParts(rows[i], func(e variance.PairedEntry) model.Part {
				return model.Option("", e.InErrors(), e.Difference.Difference, e.DifferenceSE)
			}), greatest)
			if count(rows[i]) == len(rows[i].Entries) {
				d.Parts.Makes(float64(len(rows[i].Entries)))
			}
			return d, nil
		}}
}
