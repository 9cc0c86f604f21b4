package tables

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/store/group"
	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// worthTable is what the rows of Table 10 have in common with those of Tables 2 to 4:
// of every policy the quotients that HBN-async has there.
var worthTable = &costTable{
	strategies: []string{measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent},
	columns: []costColumn{
		{name: "time", head: "policy", group: actualTime, format: signed, macro: "Time", of: slower(seconds(measurement.HBNAsync))},
		{name: "equivalent_time", head: equivalentHead, group: actualTime, format: signed, macro: "EquivalentTime", of: slower(seconds(measurement.UniformEquivalent))},
		{name: "delta", head: deltaHead, group: actualTime, format: signed, macro: "Benefit", of: apart(seconds(measurement.UniformEquivalent), seconds(measurement.HBNAsync))},
		{name: "wasted_flops", head: "Wasted FLOPs", format: fine, macro: "WastedFLOPs", of: over(uniformFLOPs, wastedFLOPs)},
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
	Words: `
policy           The policy that was executed.
time             How much longer the policy, which speculates across every barrier, takes than Uniform: <slowdown>. Of systems/benefit.parquet; rows of HBN are those of Table 4.
equivalent_time  How much longer Uniform at the whole budget ⌊b/r⌋ that the policy's own variance ratio r on a profile is worth takes than Uniform: <slowdown>.
delta            equivalent_time − time: what the policy saves at equal variance, as a share of the time of Uniform at the budget b.
wasted_flops     Computation of the policy that was thrown away, as in Table 2: ΣW/ΣF_U, with the FLOPs by the proxy of Eq. 23.
`,
}

// worthKeys tell rows apart.
type worthKeys struct {
	Budget int32 `csv:"budget"`
	model.PolicyKeys
	Provenance string `csv:"provenance" head:"Runs" align:"left"`
}

// worthRows are the rows of the table: by budget, then policy, then provenance.
var worthRows = stored.Once("worth", func(src *stored.Source) (all []*costRow, err error) {
	rows, err := stored.Benefit(src)
	costs, noCosts := stored.Costs(src)
	if err := cmp.Or(err, noCosts); err != nil {
		return nil, err
	}
	groups, err := measurement.BenefitGroups(rows, worthTable.strategies...)
	if err != nil {
		return nil, err
	}
	if groups[policy.HBN.Key()], err = stored.Groups(src, worthTable.strategies...); err != nil {
		return nil, err
	}
	for _, p := range append(policy.List{policy.HBN}, policy.Timed...) {
		for _, g := range groups[p.Key()] {
			row, err := worthTable.row(g, costs, stored.Replay{})
			if err != nil {
				return nil, err
			}
			row.policy = p
			all = append(all, row)
		}
	}
	slices.SortStableFunc(all, func(a, b *costRow) int { return int(a.Budget - b.Budget) })
	return all, nil
})

func makeWorth(src *stored.Source) (*model.Sheet, error) {
	rows, err := worthRows(src)
	if err != nil {
		return nil, err
	}
	const what = "Policies that speculate across every barrier against Uniform at the budget that has their variance: times relative to those of Uniform at budget b, from sums over profiles, " +
		"with the standard deviation of one execution of the suite. Delta: equivalent Uniform minus the policy."
	var keys []worthKeys
	for _, r := range rows {
		keys = append(keys, worthKeys{r.Budget, model.KeysOf(r.policy), r.Provenance})
	}
	s := model.NewSheet(what, keys)
	worthTable.addNumbers(s, rows, nil)
	for i := range s.Columns {
		s.Columns[i].Rule = nil
	}
	s.Notes = worthNotes(rows)
	return s, nil
}

// worthNotes say which policies save as much as which others.
func worthNotes(rows []*costRow) (notes []string) {
	saving := func(p *policy.Policy) string { return againstHBN(rows, simulated(rows, p)) }
	for _, alike := range group.By(policy.Timed, saving) {
		var titles []string
		for _, p := range alike {
			titles = append(titles, p.Title())
		}
		if words := saving(alike[0]); words != "" {
			notes = append(notes, "Saving "+words+": "+strings.Join(titles, "; ")+".")
		}
	}
	return notes
}

// benefit is the saving of a policy, with its error.
func (r *costRow) benefit() (value, se float64) {
	delta := r.cells[2]
	if r.repeats > 1 {
		se = delta.sd / math.Sqrt(float64(r.repeats))
	}
	return delta.Value, se
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
	hbn := simulated(rows, policy.HBN)
	budgets := slices.DeleteFunc(slices.Sorted(maps.Keys(own)), func(b int32) bool { return hbn[b] == nil })
	return byBudgets([]string{"more than HBN-async", "as much as HBN-async", "less than HBN-async"}, budgets, func(i int) int {
		theirs, error1 := hbn[budgets[i]].benefit()
		ours, error2 := own[budgets[i]].benefit()
		if d := ours - theirs; math.Abs(d) > variance.GainZ*math.Hypot(error1, error2) {
			return 1 - int(math.Copysign(1, d))
		}
		return 1
	})
}

// byBudgets says what holds at which budgets: at each of them, the phrase with the number of.
func byBudgets(said []string, budgets []int32, of func(budget int) int) string {
	at := make([][]int32, len(said))
	for i, b := range budgets {
		at[of(i)] = append(at[of(i)], b)
	}
	var words []string
	for k, some := range at {
		switch len(some) {
		case 0:
		case len(budgets):
			return said[k] + " at every budget"
		default:
			words = append(words, said[k]+" at b = "+display.And(some))
		}
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
				all = append(all, macroOf("Simulated"+r.policy.Macro+c.macro, r.Budget, c.quoted(r.cells[j].Value)))
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
		for _, p := range policy.Timed {
			titles = append(titles, p.Title())
		}
		budgets := slices.Sorted(maps.Keys(most))
		words("BenefitBest", byBudgets(titles, budgets, func(i int) int { return slices.Index(policy.Timed, most[budgets[i]].policy) }))
		words("BenefitBestOverHBN", againstHBN(rows, most))
	}
	return all, nil
}
