package measurement

import (
	"cmp"
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
