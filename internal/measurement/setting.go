package measurement

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/policy"
)

// Setting is the runs of one profile at one budget in one provenance, one run
// for each strategy that was executed.
type Setting struct {
	Benchmark, Model string
	NTasks           int32
	Budget           int32 // the reference budget b
	Provenance       string
	Runs             map[string]Measurement // by strategy
}

// Profile is the profile that was run, as the paper's files spell it.
func (s Setting) Profile() string { return s.Benchmark + "__model=" + s.Model }

// Uniform is the run that the others are compared with.
func (s Setting) Uniform() Measurement { return s.Runs[policy.UniformAtBudget.Name] }

// Settings is the settings of one provenance at one budget that have a run of
// each of the strategies asked for, by benchmark and then model; the other
// rows are passed over.
func Settings(rows []Measurement, provenance string, budget int32, strategies ...string) []Setting {
	found := map[settingKey]*Setting{}
	for _, r := range rows {
		if r.Provenance != provenance || r.ReferenceBudget != budget {
			continue
		}
		s := found[r.setting()]
		if s == nil {
			s = &Setting{Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: budget,
				Provenance: provenance, Runs: map[string]Measurement{}}
			found[r.setting()] = s
		}
		s.Runs[r.Strategy] = r
	}
	var out []Setting
	for _, s := range found {
		if s.has(strategies) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Setting) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model))
	})
	return out
}

func (s Setting) has(strategies []string) bool {
	for _, strategy := range strategies {
		if _, ok := s.Runs[strategy]; !ok {
			return false
		}
	}
	return true
}

// Suites is the settings of one provenance and budget by repeat, each as
// Settings gives them. A repeat that lacks one of the settings that another
// has is left out: its sums would be over other profiles.
func Suites(rows []Repeat, provenance string, budget int32, strategies ...string) [][]Setting {
	byRepeat := map[int32][]Measurement{}
	for _, r := range rows {
		if r.Provenance == provenance && r.ReferenceBudget == budget {
			byRepeat[r.Repeat] = append(byRepeat[r.Repeat], r.Measurement)
		}
	}
	var suites [][]Setting
	most := 0
	for _, repeat := range sortedKeys(byRepeat) {
		settings := Settings(byRepeat[repeat], provenance, budget, strategies...)
		suites = append(suites, settings)
		most = max(most, len(settings))
	}
	return slices.DeleteFunc(suites, func(s []Setting) bool { return len(s) < max(1, most) })
}

func sortedKeys[V any](m map[int32]V) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
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
