package tables

import (
	"fmt"
	"math"

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
	Make:    makePaired,
}

// pairedRow is a policy held against HBN at a budget, over the profiles that
// both were replayed on.
type pairedRow struct {
	budget  int32
	policy  *policy.Policy
	entries []pairedEntry
}

// pairedEntry is the difference on a profile.
type pairedEntry struct {
	variance.Difference
	other, hbn variance.Ratio
}

// independent is the standard error if the two had draws of their own.
func (e pairedEntry) independent() float64 { return math.Hypot(e.other.RatioSE, e.hbn.RatioSE) }

// inErrors is the difference in its standard errors, as large as can be where it
// is exact.
func (e pairedEntry) inErrors() float64 {
	z := e.Difference.Difference / e.DifferenceSE
	switch {
	case variance.Finite(z):
		return z
	case e.Difference.Difference == 0:
		return 0
	}
	return math.Copysign(math.MaxFloat64, e.Difference.Difference)
}

// pairedRows are all policies but HBN at every budget, as far as their
// differences are stored. A file that lacks some profiles of a policy is an
// error: a mean over fewer profiles would look like another difference.
func pairedRows(ratios []variance.Ratio, differences variance.Differences) ([]pairedRow, error) {
	var rows []pairedRow
	for _, b := range variance.Budgets(ratios) {
		hbn := map[string]variance.Ratio{}
		for _, r := range variance.Pick(ratios, policy.HBN, b) {
			hbn[r.Profile()] = r
		}
		for _, p := range policy.All {
			if p == policy.HBN {
				continue
			}
			row, others := pairedRow{budget: b, policy: p}, variance.Pick(ratios, p, b)
			for _, r := range others {
				d, ok := differences[variance.EntryOf(r)]
				if h, both := hbn[r.Profile()]; ok && both {
					row.entries = append(row.entries, pairedEntry{d, r, h})
				}
			}
			found := len(row.entries)
			if found == 0 {
				continue
			}
			if found != len(others) || found != len(hbn) {
				return nil, fmt.Errorf("%s: %s has %d differences to HBN at budget %d, but %d ratios; run the replay stage again",
					variance.DifferencesFile, p.Name, found, b, len(others))
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// mean is the mean over profiles.
func (r pairedRow) mean(of func(pairedEntry) float64) float64 {
	sum := 0.0
	for _, e := range r.entries {
		sum += of(e)
	}
	return sum / float64(len(r.entries))
}

// rms is the error of a mean over profiles that err independently.
func (r pairedRow) rms(of func(pairedEntry) float64) float64 {
	sum := 0.0
	for _, e := range r.entries {
		sum += of(e) * of(e)
	}
	return math.Sqrt(sum) / float64(len(r.entries))
}

// beyond counts the profiles on which HBN's ratio is the lower beyond noise (sign
// +1), or the higher (−1).
func (r pairedRow) beyond(sign float64) (n int) {
	for _, e := range r.entries {
		if sign*e.Difference.Difference > variance.GainZ*e.DifferenceSE {
			n++
		}
	}
	return n
}

func makePaired(src *stored.Source) (*model.Sheet, error) {
	ratios, err := src.Ratios()
	if err != nil {
		return nil, err
	}
	differences, err := src.Differences()
	if err != nil {
		return nil, err
	}
	rows, err := pairedRows(ratios, differences)
	if err != nil {
		return nil, err
	}
	const errors = ": the mean over profiles, its Monte Carlo standard error from the draws that both policies share, " +
		"and the error that draws of their own would leave. "
	s := &model.Sheet{
		Rows:    len(rows),
		Title:   "Variance of other policies minus that of HBN, over Uniform's" + errors + "Better, worse: profiles on which HBN's is lower or higher by 1.96 standard errors.",
		Caption: "Variance of other policies minus that of HBN, in percentage points of Uniform's" + errors + "HBN lower, HBN higher: profiles on which it is so by 1.96 standard errors.",
	}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].budget })
	group := table.Head{Plain: "Standard error"}
	const file = variance.DifferencesFile
	difference := func(e pairedEntry) float64 { return e.Difference.Difference }
	paired := func(e pairedEntry) float64 { return e.DifferenceSE }
	s.Add(
		model.BudgetKey(func(i int) int32 { return rows[i].budget }),
		model.PolicyKey("The policy that HBN is held against.", func(i int) *policy.Policy { return rows[i].policy }),
		model.Column{Name: "difference", Head: table.Head{Plain: "Difference"}, Format: table.Format{Decimals: 2, Scale: 100, Signed: true},
			Words: "By how much the policy's variance ratio is above HBN's: «(1/J)·Σ_j (r_j − r_j^HBN)¦J^{-1}\\sum_j(r_j-r_j^{\\mathrm{HBN}})»; above 0 HBN has the lower variance. Of ‹" + file + "›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].mean(difference) }),
			Break: func(i int) (d model.Breakdown, err error) {
				r := rows[i]
				d.Parts = model.Added("profiles", []string{"difference", "difference_se", r.policy.Name, policy.HBN.Name}, r.parts(func(e pairedEntry) model.Part {
					return model.Shared("", difference(e)/float64(len(r.entries)), difference(e), paired(e), e.other.VarianceRatio, e.hbn.VarianceRatio)
				}))
				se := r.rms(paired)
				d.Errors = []model.ErrorOf{{Cause: model.ReplayCause, SE: &se, About: fmt.Sprintf("%d draws on a profile that both policies share, given both designs", r.entries[0].Draws)}}
				return d, nil
			}},
		model.Column{Name: "difference_se", Role: model.Error, Of: "difference", Head: table.Head{Plain: "paired"}, Group: group, Format: points3,
			Words: "Its Monte Carlo standard error, «(1/J)·√(Σ_j e_j²)¦J^{-1}(\\sum_j e_j^2)^{1/2}», with the error «e_j» of each difference over the pilot vectors that both policies were replayed on, given both designs. Of ‹" + file + "›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].rms(paired) }),
			Break: func(i int) (model.Breakdown, error) {
				return rows[i].squares(paired, []string{errorColumns[0], "difference_se on it"}, func(e pairedEntry) []float64 { return []float64{e.DifferenceSE} })
			}},
		model.Column{Name: "independent_se", Role: model.Cause, Of: "difference", Head: table.Head{Plain: "unpaired"}, Group: group, Format: points3,
			Words: "What the error would be if the two were replayed on draws of their own: «(1/J)·√(Σ_j (s_j² + s_j,HBN²))¦J^{-1}\\bigl(\\sum_j(s_j^2+s_{j,\\mathrm{HBN}}^2)\\bigr)^{1/2}», with ratio_se of ‹replay/ratios.parquet›.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].independentSE() }),
			Break: func(i int) (model.Breakdown, error) {
				return rows[i].squares(pairedEntry.independent, []string{errorColumns[0], "ratio_se", "ratio_se of hbn"}, func(e pairedEntry) []float64 { return []float64{e.other.RatioSE, e.hbn.RatioSE} })
			}},
		countColumn(rows, "profiles_better", "HBN lower", "On how many profiles HBN has the lower ratio beyond noise: a difference above 1.96 of its standard errors.",
			func(r pairedRow) int { return r.beyond(1) }, fmt.Sprintf("those above %g are counted", variance.GainZ), true),
		countColumn(rows, "profiles_worse", "HBN higher", "On how many profiles HBN has the higher ratio beyond noise: a difference below −1.96 of its standard errors.",
			func(r pairedRow) int { return r.beyond(-1) }, fmt.Sprintf("those below −%g are counted", variance.GainZ), false),
		countColumn(rows, "profiles", "Profiles", "The number of profiles that both policies were replayed on at this budget.",
			func(r pairedRow) int { return len(r.entries) }, "all are counted", true))
	return s, nil
}

// independentSE is the error that draws of their own would leave.
func (r pairedRow) independentSE() float64 {
	sum := 0.0
	for _, e := range r.entries {
		sum += e.other.RatioSE*e.other.RatioSE + e.hbn.RatioSE*e.hbn.RatioSE
	}
	return math.Sqrt(sum) / float64(len(r.entries))
}

// parts are the profiles of the row.
func (r pairedRow) parts(of func(pairedEntry) model.Part) (parts []model.Part) {
	for _, e := range r.entries {
		p := of(e)
		p.Name = e.other.Profile()
		parts = append(parts, p)
	}
	return parts
}

// squares are the profiles of an error, each with its share and further numbers.
func (r pairedRow) squares(of func(pairedEntry) float64, columns []string, more func(pairedEntry) []float64) (d model.Breakdown, err error) {
	d.Parts = model.Squared("profiles", columns, r.parts(func(e pairedEntry) model.Part {
		s := of(e) / float64(len(r.entries))
		return model.Shared("", s*s, append([]float64{s}, more(e)...)...)
	}))
	return d, nil
}

// countColumn counts profiles by their differences.
func countColumn(rows []pairedRow, name, head, words string, count func(pairedRow) int, how string, greatest bool) model.Column {
	return model.Column{Name: name, Role: model.Count, Head: table.Head{Plain: head}, Words: words,
		Cell: model.Counts(func(i int) int { return count(rows[i]) }),
		Break: func(i int) (d model.Breakdown, err error) {
			d.Parts = model.Ranked("profiles", how, []string{"difference in s.e.", "difference", "difference_se"}, rows[i].parts(func(e pairedEntry) model.Part {
				return model.Option("", e.inErrors(), e.Difference.Difference, e.DifferenceSE)
			}), greatest)
			if count(rows[i]) == len(rows[i].entries) {
				d.Parts.Makes(float64(len(rows[i].entries)))
			}
			return d, nil
		}}
}
