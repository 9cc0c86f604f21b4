package measurement

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/store/group"
	"speceval/internal/store/rowfile"
)

// Parse reads a measurement file held in memory; name is the file's name in errors.
func Parse(data []byte, name string) ([]Measurement, error) {
	rows, _, err := rowfile.Decode[Measurement](data, name)
	return rows, err
}

// settingKey names a setting.
type settingKey struct {
	benchmark, model string
	budget           int32
	provenance       string
}

func (m *Measurement) setting() settingKey {
	return settingKey{m.Benchmark, m.Model, m.ReferenceBudget, m.Provenance}
}

func (k settingKey) String() string {
	return fmt.Sprintf("%s__model=%s at budget %d", k.benchmark, k.model, k.budget)
}

// Setting is the runs of one profile at one budget in one provenance, one for each
// strategy that was executed.
type Setting []*Measurement

// Run is the run under a strategy, nil if there is none.
func (s Setting) Run(strategy string) *Measurement {
	for _, r := range s {
		if r.Strategy == strategy {
			return r
		}
	}
	return nil
}

// Uniform is the run that the others are compared with.
func (s Setting) Uniform() *Measurement { return s.Run(Uniform) }

// Settings is the settings of one provenance at one budget that have a run of
// each of the strategies asked for, by benchmark and then model; the other
// rows are passed over. Without strategies it is every run.
func Settings(rows []Measurement, provenance string, budget int32, strategies ...string) (all []Setting) {
	var of Setting
	for i := range rows {
		if r := &rows[i]; r.Provenance == provenance && r.ReferenceBudget == budget && (len(strategies) == 0 || slices.Contains(strategies, r.Strategy)) {
			of = append(of, r)
		}
	}
	slices.SortStableFunc(of, func(a, b *Measurement) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model))
	})
	for _, s := range group.By(of, (*Measurement).Profile) {
		if !slices.ContainsFunc(strategies, func(name string) bool { return s.Run(name) == nil }) {
			all = append(all, s)
		}
	}
	return all
}

// Suites is the settings of one provenance and budget by repeat, each as
// Settings gives them. A repeat that lacks one of the settings that another
// has is left out: its sums would be over other profiles.
func Suites(rows []Repeat, provenance string, budget int32, strategies ...string) (suites [][]Setting) {
	most := 1
	for _, repeat := range group.By(rows, func(r Repeat) int32 { return r.Repeat }) {
		var runs []Measurement
		for _, r := range repeat {
			runs = append(runs, r.Measurement)
		}
		s := Settings(runs, provenance, budget, strategies...)
		suites, most = append(suites, s), max(most, len(s))
	}
	return slices.DeleteFunc(suites, func(s []Setting) bool { return len(s) < most })
}

// Provenances are the sources of runs, in the order of tables.
var Provenances = []string{Published, Simulated, Measured}

// Budgets is the reference budgets of the runs of one provenance in rising order.
func Budgets(runs []Measurement, provenance string) []int32 {
	var all []int32
	for _, r := range runs {
		if r.Provenance == provenance {
			all = append(all, r.ReferenceBudget)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Group is the settings of one provenance and budget, with the executions behind
// them; published runs, which were executed once, have none.
type Group struct {
	Provenance string
	Budget     int32
	Settings   []Setting
	Suites     [][]Setting
}

// Repeats is how many executions of the suite the settings are the mean of.
func (g *Group) Repeats() int { return max(1, len(g.Suites)) }

// Groups are the groups that have a whole setting, by provenance and budget. It is an
// error if the executions behind a group do not cover its settings.
func Groups(runs []Measurement, repeats []Repeat, strategies ...string) (all []Group, err error) {
	for _, provenance := range Provenances {
		for _, b := range Budgets(runs, provenance) {
			g := Group{Provenance: provenance, Budget: b, Settings: Settings(runs, provenance, b, strategies...)}
			if len(g.Settings) == 0 {
				continue
			}
			if provenance != Published {
				g.Suites = Suites(repeats, provenance, b, strategies...)
				if len(g.Suites) == 0 || len(g.Suites[0]) != len(g.Settings) {
					return nil, fmt.Errorf("%s and %s are not of one run: no repeat has the %d %s settings at budget %d; run the systems stage again",
						File, RepeatsFile, len(g.Settings), provenance, b)
				}
			}
			all = append(all, g)
		}
	}
	return all, nil
}

// BenefitGroups returns the groups of each policy, as Groups does: each of its
// executions with the executions of Uniform in the same setting and repeat, at b
// and at the equivalent budget.
func BenefitGroups(rows []Benefit, strategies ...string) (map[policy.Key][]Group, error) {
	type execution struct { // of Uniform
		settingKey
		repeat, budget int32
		strategy       string
	}
	uniforms, runs := map[execution]Repeat{}, map[policy.Key][]Repeat{}
	for _, r := range rows {
		if r.key() == policy.Uniform.Key() {
			uniforms[execution{r.setting(), r.Repeat.Repeat, r.Budget, r.Strategy}] = r.Repeat
		}
	}
	for _, r := range rows {
		of := r.key()
		if of == policy.Uniform.Key() || !slices.Contains(strategies, r.Strategy) {
			continue
		}
		runs[of] = append(runs[of], r.Repeat)
		for _, u := range []execution{{budget: r.ReferenceBudget, strategy: Uniform}, {budget: r.Equivalent, strategy: UniformEquivalent}} {
			u.settingKey, u.repeat = r.setting(), r.Repeat.Repeat
			uniform, there := uniforms[u]
			if !there {
				return nil, fmt.Errorf("%s: %s has no execution of %s at %d for %s in repeat %d; run the systems stage again",
					BenefitFile, u, u.strategy, u.budget, of, u.repeat)
			}
			runs[of] = append(runs[of], uniform)
		}
	}
	groups := map[policy.Key][]Group{}
	for of, all := range runs {
		slices.SortStableFunc(all, func(a, b Repeat) int {
			return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model), cmp.Compare(a.ReferenceBudget, b.ReferenceBudget),
				cmp.Compare(a.Provenance, b.Provenance), cmp.Compare(a.Strategy, b.Strategy), cmp.Compare(a.Repeat, b.Repeat))
		})
		var err error
		if groups[of], err = Groups(Means(all), all, strategies...); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// key tells policies apart.
func (o Of) key() policy.Key { return policy.Key{Name: o.Policy, Donors: o.Donors} }

// Means are the means over repeats: in the order of the first of the runs, a row for each
// setting, strategy and provenance. Extra rollouts are rounded.
func Means(runs []Repeat) (all []Measurement) {
	type execution struct {
		settingKey
		strategy string
	}
	for _, repeats := range group.By(runs, func(r Repeat) execution { return execution{r.setting(), r.Strategy} }) {
		all = append(all, mean(repeats))
	}
	return all
}

func mean(runs []Repeat) Measurement {
	m := runs[0].Measurement
	var seconds, useful, wasted, extra float64
	for _, r := range runs {
		seconds, useful, wasted = seconds+r.TimeSeconds, useful+r.UsefulFLOPs, wasted+r.WastedFLOPs
		extra += float64(r.ExtraRollouts)
	}
	n := float64(len(runs))
	m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs = seconds/n, useful/n, wasted/n
	m.ExtraRollouts = int32(math.Round(extra / n))
	return m
}
