package report

import (
	"math"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// causes are the errors of a weighted sum of ratios, one for each cause.
type causes struct {
	replay, design float64

	// What comes from the profiles; nil where the replay has not redrawn all of
	// them.
	profiles *profileCauses
}

// profileCauses is what redrawn profiles say of a weighted sum of ratios.
type profileCauses struct {
	se             float64
	shift, shiftSE float64
	resamples      int32 // of each profile, at least
}

// newCauses splits the error of Σ g_j·ratio_j, for ratios of one policy at one
// budget: replays and profiles err independently of one another, designs are
// shared within a task count.
func newCauses(designs schedules, errors profileErrors, ratios []variance.Ratio, weights []float64) (causes, error) {
	v, err := sumVariance(designs, ratios, weights)
	if err != nil {
		return causes{}, err
	}
	return causes{replay: math.Sqrt(v.replay), design: math.Sqrt(v.design), profiles: errors.over(ratios, weights)}, nil
}

// over is what comes from the profiles, nil if some were not redrawn.
func (all profileErrors) over(ratios []variance.Ratio, weights []float64) *profileCauses {
	p := profileCauses{resamples: math.MaxInt32}
	var se2, shift2 float64
	for j, r := range ratios {
		e, ok := all[entryOf(r)]
		if !ok {
			return nil
		}
		g := weights[j]
		se2 += g * g * e.ProfileSE * e.ProfileSE
		p.shift += g * e.Shift
		shift2 += g * g * e.ShiftSE * e.ShiftSE
		p.resamples = min(p.resamples, e.Resamples)
	}
	p.se, p.shiftSE = math.Sqrt(se2), math.Sqrt(shift2)
	return &p
}

// equalWeights is weights that make a sum over n profiles their mean.
func equalWeights(n int) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 1 / float64(n)
	}
	return weights
}

// errorRow is the mean of a policy at a budget with its errors.
type errorRow struct {
	budget int32
	policy string
	mean   float64
	causes
}

// errorRows are the policies that were replayed at every budget.
func errorRows(res Results, errors []variance.ProfileError) ([]errorRow, error) {
	designs, byRatio := newSchedules(res.Designs), newProfileErrors(errors)
	var rows []errorRow
	for _, b := range budgets(res.Ratios) {
		for _, policy := range allPolicies {
			ratios := pick(res.Ratios, policy, b)
			if len(ratios) == 0 {
				continue
			}
			c, err := newCauses(designs, byRatio, ratios, equalWeights(len(ratios)))
			if err != nil {
				return nil, err
			}
			mean, err := meanRatio(designs, ratios)
			if err != nil {
				return nil, err
			}
			rows = append(rows, errorRow{b, policy, mean.Value, c})
		}
	}
	return rows, nil
}

// allPolicies are the policies of the replay, in the order of its files.
var allPolicies = append(policies[:len(policies):len(policies)], variance.TSNeyman)

// errorTable sets the errors of the mean ratios beside each other, by cause. It
// is not in the paper.
func errorTable(res Results, errors []variance.ProfileError) (Sheet, error) {
	rows, err := errorRows(res, errors)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{Base: "error_split", Print: errorPrint(rows)}
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	s.Data.Columns = names("budget", "policy", "variance_ratio", "replay_se", "design_se", "profile_se", "shift", "shift_se", "resamples")
	for _, r := range rows {
		line := []table.Cell{table.Integer(r.budget), table.Text(r.policy), table.Number(r.mean), table.Number(r.replay), table.Number(r.design)}
		if p := r.profiles; p == nil {
			line = append(line, table.Missing(), table.Missing(), table.Missing(), table.Missing())
		} else {
			line = append(line, table.Number(p.se), table.Number(p.shift), table.Number(p.shiftSE), table.Integer(p.resamples))
		}
		s.Data.Rows = append(s.Data.Rows, line)
	}
	return s, nil
}

func errorPrint(rows []errorRow) table.Table {
	const causes = ": the finite number of draws of the replay, the estimated design that profiles share, " +
		"and the finite number of rollouts that the profiles themselves are estimated from. " +
		"Shift: by how much the mean over redrawn profiles is above the mean itself. Profiles are taken to err independently."
	t := table.Table{
		Label:   "tab:error-split",
		Title:   "Standard errors of the mean Uniform-normalized variances, by cause" + causes,
		Caption: "Standard errors of the mean Uniform-normalized variances, by cause, in percentage points" + causes,
	}
	points := table.Format{Decimals: 3, Scale: 100}
	group := table.Head{Plain: "Standard error"}
	shift := table.Head{Plain: "Shift"}
	t.Columns = []table.Column{
		{Head: table.Head{Plain: "Policy"}, Align: table.Left},
		{Head: table.Head{Plain: "Variance"}, Format: table.Format{Decimals: 1, Percent: true}},
		{Head: table.Head{Plain: "replay"}, Group: group, Format: points},
		{Head: table.Head{Plain: "design"}, Group: group, Format: points},
		{Head: table.Head{Plain: "profiles"}, Group: group, Format: points},
		{Head: table.Head{Plain: "mean"}, Group: shift, Format: table.Format{Decimals: 3, Scale: 100, Signed: true}},
		{Head: table.Head{Plain: "s.e."}, Group: shift, Format: points},
	}
	for i, r := range rows {
		if i == 0 || rows[i-1].budget != r.budget {
			t.Sections = append(t.Sections, budgetSection(i, r.budget))
		}
		line := []table.Cell{table.Text(policyName[r.policy]), table.Number(r.mean), table.Number(r.replay), table.Number(r.design)}
		if p := r.profiles; p == nil {
			line = append(line, table.Missing(), table.Missing(), table.Missing())
		} else {
			line = append(line, table.Number(p.se), table.Number(p.shift), table.Number(p.shiftSE))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// budgetSection is the heading of the rows of a budget.
func budgetSection(row int, budget int32) table.Section {
	return table.Section{Row: row, Head: budgetHead(budget)}
}
