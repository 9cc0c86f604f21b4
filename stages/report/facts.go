package report

import (
	"speceval/internal/profile"
	"speceval/pipeline/dag"
)

// newExperiment gathers the facts of the evaluated profiles, without those that
// turned out to be degenerate.
func newExperiment(s Settings, job *dag.Job) (Experiment, error) {
	e := Experiment{Published: s.Published}
	for _, b := range s.Budgets {
		e.Budgets = append(e.Budgets, int32(b))
	}
	for _, pair := range s.Pairs {
		p, err := pair.Profile(job)
		if err != nil {
			return e, err
		}
		if p.VarianceSum() == 0 {
			continue
		}
		e.Profiles = append(e.Profiles, ProfileFact{
			Name: p.Name(), NTasks: int32(p.N()), Outside: outside(p), SHA256: p.SHA256(),
		})
	}
	return e, nil
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
