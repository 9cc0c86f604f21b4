package tables

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"speceval/internal/display"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Errors compares the errors of the mean ratios, by cause. It is not
// in the paper.
var Errors = &model.Table{
	Base: "error_split", Label: "tab:error-split",
	Reads:   stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef, stored.ErrorsRef}},
	Chapter: "How sure these numbers are",
	Remarks: []string{`The draws of the replay are not all that is uncertain: the probabilities of the profiles are themselves estimates, from a finite number of rollouts. <ref error_split> splits the errors by cause.`},
	Make:    makeErrors,
}

// errorRow is the mean of a policy at a budget with its errors.
type errorRow struct {
	variance.Mean
	variance.Causes
	budget int32
}

// errorRows are the policies that were replayed at every budget.
func errorRows(src *stored.Source) ([]errorRow, error) {
	res, err := src.Results()
	if err != nil {
		return nil, err
	}
	redrawn, err := src.ProfileErrors()
	if err != nil {
		return nil, err
	}
	var rows []errorRow
	for _, b := range variance.Budgets(res.Ratios) {
		for _, p := range policy.All {
			m, err := variance.NewMean(res.Designs, res.Ratios, p, b)
			if err != nil {
				return nil, err
			}
			if len(m.Ratios) == 0 {
				continue
			}
			c, err := variance.NewCauses(res.Designs, redrawn, m.Ratios, m.Weights())
			if err != nil {
				return nil, err
			}
			rows = append(rows, errorRow{m, c, b})
		}
	}
	return rows, nil
}

func makeErrors(src *stored.Source) (*model.Sheet, error) {
	rows, err := errorRows(src)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Standard errors of the mean Uniform-normalized variances, by cause: the finite number of draws of the replay, " +
			"the estimated design that profiles share, and the finite number of rollouts that the profiles themselves are estimated from. " +
			"Shift: by how much the mean over redrawn profiles is above the mean itself. Profiles are taken to err independently.",
	}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].budget })
	group, shift := table.Head{Plain: "Standard error (points)"}, table.Head{Plain: "Shift (points)"}
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].budget }))
	s.Add(model.PolicyKeys(model.PolicyWords, func(i int) *policy.Policy { return rows[i].Policy })...)
	s.Add(
		model.Column{Name: "variance_ratio", Head: table.Head{Plain: "Variance"}, Format: percent1,
			Words: "The variance of the policy over that of Uniform, " + meanForm + ": its entry of Table 1, or of Table 8 for TS-Neyman. Of replay/ratios.parquet.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Value })},
		model.Column{Name: "replay_se", Head: table.Head{Plain: "replay"}, Group: group, Format: points3,
			Words: "The part of its error that comes from the finite number of draws of the replay: (1/J)·√(Σ_j s_j²), with ratio_se of replay/ratios.parquet; profiles draw independently.",
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Replay })},
		model.Column{Name: "design_se", Head: table.Head{Plain: "design"}, Group: group, Format: points3,
			Words: "The part that comes from the estimation of the design: (1/J)·√(Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²), " +
				"with the error s_w of the stage weight that all profiles with one task count share. Of replay/designs.parquet; 0 for a policy without a design.",
			Cell: model.Numbers(func(i int) float64 { return rows[i].Design })})
	s.Add(profileColumns(rows, group, shift)...)
	return s, nil
}

// profileColumns are the columns of what comes from the profiles.
func profileColumns(rows []errorRow, group, shift table.Head) []model.Column {
	cells := func(cell func(*variance.ProfileCauses) table.Cell) func(row int) table.Cell {
		return func(i int) table.Cell {
			if p := rows[i].Profiles; p != nil {
				return cell(p)
			}
			return table.Missing()
		}
	}
	numbers := func(value func(*variance.ProfileCauses) float64) func(row int) table.Cell {
		return cells(func(p *variance.ProfileCauses) table.Cell { return table.Number(value(p)) })
	}
	signed := points3
	signed.Signed = true
	const file = variance.ErrorsFile
	return []model.Column{
		{Name: "profile_se", Head: table.Head{Plain: "profiles"}, Group: group, Format: points3,
			Words: "The part that no longer replay would make smaller: the profiles are estimates, of K rollouts per task. (1/J)·√(Σ_j t_j²), with the standard deviation t_j of the ratio " +
				"over profiles redrawn by the binomial law of their pass counts (profile_se of " + file + "). Profiles are taken to err independently, as their rollouts were.",
			Cell: numbers(func(p *variance.ProfileCauses) float64 { return p.SE })},
		{Name: "shift", Head: table.Head{Plain: "mean"}, Group: shift, Format: signed,
			Words: "By how much the mean ratio over redrawn profiles is above the ratio of the profiles themselves, (1/J)·Σ_j d_j: an estimate of the bias that redrawing adds once more, " +
				"and so of the one that the finite K has given the table already. Of " + file + ".",
			Cell: numbers(func(p *variance.ProfileCauses) float64 { return p.Shift })},
		{Name: "shift_se", Role: model.Error, Of: "shift", Head: table.Head{Plain: "s.e."}, Group: shift, Format: points3,
			Words: "The Monte Carlo standard error of shift, (1/J)·√(Σ_j e_j²), with shift_se of " + file + ".",
			Cell:  numbers(func(p *variance.ProfileCauses) float64 { return p.ShiftSE })},
		{Name: "resamples", Words: "How many times each profile was redrawn. Of " + file + ".",
			Cell: cells(func(p *variance.ProfileCauses) table.Cell { return table.Integer(p.Resamples) })},
	}
}

// worthTable is what the rows of Table 10 have in common with those of Tables 2 to 4:
// of every policy the quotients that HBN-async has there.
var worthTable = &costTable{
	strategies: []string{measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent},
	columns: []costColumn{
		{name: "time", head: table.Head{Plain: "policy"}, group: actualTime, format: change, macro: "Time",
			words: slowdownWords("the policy, which speculates across every barrier,") + ". Of " + measurement.BenefitFile + "; rows of HBN are those of Table 4.", quotient: slower(seconds, measurement.HBNAsync)},
		{name: "equivalent_time", head: stacked("equivalent", " Uniform"), group: actualTime, format: change, macro: "EquivalentTime",
			words: slowdownWords("Uniform at the whole budget ⌊b/r⌋ that the policy's own variance ratio r on a profile is worth") + ".", quotient: slower(seconds, measurement.UniformEquivalent)},
		{name: "delta", head: deltaHead, group: actualTime, format: change, macro: "Benefit",
			words:    "equivalent_time − time: what the policy saves at equal variance, as a share of the time of Uniform at the budget b.",
			quotient: apart(seconds, measurement.UniformEquivalent, measurement.HBNAsync)},
		{name: "wasted_flops", head: table.Head{Plain: "Wasted FLOPs"}, format: fine(change), macro: "WastedFLOPs",
			words:    "Computation of the policy that was thrown away, as in Table 2: ΣW/ΣF_U, with the FLOPs by the proxy of Eq. 23.",
			quotient: &measurement.Quotient{Above: []measurement.Term{wastedFLOPs}, Below: uniformFLOPs}},
	},
}

// Worth is every policy that was executed against the Uniform that has its variance, in
// time. It is not in the paper.
var Worth = &model.Table{
	Base: "table10_benefit", Label: "tab:policies-benefit",
	Reads: stored.Reads{Units: []dag.Ref{stored.BenefitRef}, Runs: true}, Has: func(s *stored.Settings) bool { return s.Staged },
	Chapter: "Beyond the paper",
	Remarks: []string{
		`Each further stage is a further barrier. <ref table10_benefit> asks of every policy what <ref table4_benefit> asks of HBN-async: what its variance would have cost with Uniform, in time.`,
		`The most is saved by \specBenefitBest{}: \specBenefitBestOverHBN{}.`,
		`Staged HBN, which knows nothing beforehand, saves \specStagedBenefitOverHBN{}; with siblings known, \specInformedStagedSiblingsBenefitOverHBN{}.`,
	},
	Make: makeWorth, Macros: worthMacros,
}

// worthRows are the rows of the table: by budget, then policy, then provenance.
func worthRows(src *stored.Source) (all []*costRow, err error) {
	rows, err := src.Benefit()
	if err != nil {
		return nil, err
	}
	costs, err := src.Costs()
	if err != nil {
		return nil, err
	}
	for _, p := range append(policy.List{policy.HBN}, policy.Timed...) {
		groups, err := measurement.BenefitGroups(rows, p.Key(), worthTable.strategies...)
		if p == policy.HBN {
			groups, err = src.Groups(worthTable.strategies...)
		}
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			row := &costRow{Group: g, kind: worthTable, policy: p, drawn: costs.Drawn && g.Provenance == measurement.Measured}
			if err := row.fill(nil); err != nil {
				return nil, err
			}
			all = append(all, row)
		}
	}
	slices.SortStableFunc(all, func(a, b *costRow) int { return int(a.Budget - b.Budget) })
	return all, nil
}

func makeWorth(src *stored.Source) (*model.Sheet, error) {
	rows, err := worthRows(src)
	if err != nil {
		return nil, err
	}
	const what = "Policies that speculate across every barrier against Uniform at the budget that has their variance: times relative to those of Uniform at budget b, from sums over profiles, " +
		"with the standard deviation of one execution of the suite. Delta: equivalent Uniform minus the policy."
	s := &model.Sheet{Rows: len(rows), Title: what}
	s.Heading = model.ByBudgets(func(i int) int32 { return rows[i].Budget })
	s.Add(model.BudgetKey(func(i int) int32 { return rows[i].Budget }))
	s.Add(model.PolicyKeys("The policy that was executed.", func(i int) *policy.Policy { return rows[i].policy })...)
	runs := model.NameKey(model.ByProvenance, "provenance", provenanceWords, func(i int) string { return rows[i].Provenance })
	runs.Head = table.Head{Plain: "Runs"}
	s.Add(runs)
	for j := range worthTable.columns {
		c := worthTable.column(rows, nil, j)
		c.Rule = nil
		s.Add(c)
	}
	for j := range worthTable.columns {
		s.Add(worthTable.noiseColumn(rows, j))
	}
	s.Add(countedColumns(rows)...)
	s.Notes = worthNotes(rows)
	return s, nil
}

// worthNotes say which policies save as much as which others.
func worthNotes(rows []*costRow) (notes []string) {
	var said []string
	titles := map[string][]string{}
	for _, p := range policy.Timed {
		if words := againstHBN(rows, simulated(rows, p)); words != "" {
			if titles[words] == nil {
				said = append(said, words)
			}
			titles[words] = append(titles[words], p.Title())
		}
	}
	for _, words := range said {
		notes = append(notes, "Saving "+words+": "+strings.Join(titles[words], "; ")+".")
	}
	return notes
}

// benefit is what a policy saves, with its error.
func (r *costRow) benefit() (value, se float64) {
	const delta = 2
	if sd := r.cells[delta].sd; sd != nil {
		se = *sd / math.Sqrt(float64(r.Repeats()))
	}
	return r.cells[delta].Value, se
}

// simulated are the rows of policies on the simulated fleet that save the most, by
// budget.
func simulated(rows []*costRow, of ...*policy.Policy) map[int32]*costRow {
	most := map[int32]*costRow{}
	for _, r := range rows {
		if r.Provenance != measurement.Simulated || !slices.Contains(of, r.policy) {
			continue
		}
		v, _ := r.benefit()
		if other := most[r.Budget]; other == nil || v > other.cells[2].Value {
			most[r.Budget] = r
		}
	}
	return most
}

// againstHBN says at which budgets rows save more than HBN-async, by 1.96 standard
// errors of the difference.
func againstHBN(rows []*costRow, own map[int32]*costRow) string {
	said, at := []string{"more than HBN-async", "as much as HBN-async", "less than HBN-async"}, make([][]int32, 3)
	hbn := simulated(rows, policy.HBN)
	for _, b := range slices.Sorted(maps.Keys(own)) {
		if hbn[b] == nil {
			continue
		}
		theirs, error1 := hbn[b].benefit()
		ours, error2 := own[b].benefit()
		k := 1
		if d := ours - theirs; math.Abs(d) > variance.GainZ*math.Hypot(error1, error2) {
			k = 1 - int(math.Copysign(1, d))
		}
		at[k] = append(at[k], b)
	}
	return byBudgets(said, at)
}

// byBudgets says what holds at which budgets.
func byBudgets(said []string, at [][]int32) string {
	var words []string
	for k, budgets := range at {
		if len(budgets) > 0 {
			words = append(words, said[k]+" at b = "+display.And(strings.Fields(strings.Trim(fmt.Sprint(budgets), "[]"))))
		}
	}
	if len(words) == 1 {
		words[0], _, _ = strings.Cut(words[0], " at b = ")
		words[0] += " at every budget"
	}
	return display.And(words)
}

// worthMacros are the numbers of our policies, and in words which saves the most and
// whether that is more than HBN-async does.
func worthMacros(src *stored.Source) (all []model.Macro, err error) {
	rows, err := worthRows(src)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		for j, c := range worthTable.columns {
			if r.policy != policy.HBN {
				f := c.format
				f.Signed = false
				all = append(all, macroOf("Simulated"+r.policy.Macro+c.macro, r.Budget, minus(f.Print(r.cells[j].Value))))
			}
		}
	}
	words := func(name, value string) { all = append(all, model.Macro{Name: "spec" + name, Value: value}) }
	for _, p := range policy.Timed {
		if own := simulated(rows, p); len(own) > 0 {
			words(p.Macro+"BenefitOverHBN", againstHBN(rows, own))
		}
	}
	if most := simulated(rows, policy.Timed...); len(most) > 0 {
		var titles []string
		at := make([][]int32, len(policy.Timed))
		for k, p := range policy.Timed {
			titles = append(titles, p.Title())
			for _, b := range slices.Sorted(maps.Keys(most)) {
				if most[b].policy == p {
					at[k] = append(at[k], b)
				}
			}
		}
		words("BenefitBest", byBudgets(titles, at))
		words("BenefitBestOverHBN", againstHBN(rows, most))
	}
	return all, nil
}
