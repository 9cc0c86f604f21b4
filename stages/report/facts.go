package report

import (
	"slices"

	"speceval/internal/profile"
	"speceval/pipeline/dag"
)

// newExperiment gathers the facts of the evaluated profiles, without those that
// turn out to be degenerate, and the size of the whole corpus.
func newExperiment(s Settings, job *dag.Job) (Experiment, error) {
	e := Experiment{Published: s.Published, Compared: s.compared()}
	for _, b := range s.Budgets {
		e.Budgets = append(e.Budgets, int32(b))
	}
	all := slices.Clone(s.LeftOut)
	for _, pair := range s.Pairs {
		p, err := pair.Profile(job)
		if err != nil {
			return e, err
		}
		all = append(all, p)
		if p.Name() == s.CaseStudy.Profile {
			e.CaseStudy = &CaseFact{Benchmark: p.Benchmark, Model: p.Model, Budget: int32(s.CaseStudy.Budget),
				TestedK: p.TestedK, TaskIDs: p.TaskIDs, PassCounts: p.PassCounts}
		}
		if p.VarianceSum() == 0 {
			continue
		}
		e.Profiles = append(e.Profiles, ProfileFact{
			Name: p.Name(), NTasks: int32(p.N()), TestedK: p.TestedK, Outside: outside(p), SHA256: p.SHA256(),
		})
	}
	e.Corpus = corpusFact(all)
	return e, nil
}

// corpusFact is the size of a corpus of profiles.
func corpusFact(all []profile.Profile) CorpusFact {
	var c CorpusFact
	counted := map[string]bool{}
	for _, p := range all {
		if !counted[p.Benchmark] {
			counted[p.Benchmark] = true
			c.Tasks += int64(p.N())
		}
		c.Responses += int64(p.N()) * int64(p.TestedK)
	}
	return c
}

// outside counts the tasks whose pass probability is outside [0.2, 0.8], the
// paper's measure of a profile near the endpoints.
func outside(p profile.Profile) int64 {
	var n int64
	for i := range p.N() {
		if v := p.P(i); v < 0.2 || v > 0.8 {
			n++
		}
	}
	return n
}
