package stored

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"speceval/internal/profile"
)

// ExperimentFile is where the report stores the facts of the experiment.
const ExperimentFile = "report/experiment.json"

// Experiment is what the stored results were made for. It is an output of the
// stage, so that a verdict depends on stored results alone and cannot hold
// one experiment against the numbers of another.
type Experiment struct {
	Published bool          `json:"published"` // the profiles are the paper's
	Budgets   []int32       `json:"budgets"`   // rollouts per task
	Profiles  []ProfileFact `json:"profiles"`
	Corpus    CorpusFact    `json:"corpus"`

	// CaseStudy is null where the profile of the case study is not evaluated.
	CaseStudy *CaseFact `json:"case_study"`

	// Compared are the tables of what was measured beside what was predicted.
	Compared []string `json:"compared,omitempty"`
}

// CorpusFact is the size of the corpus that the profiles count, those without
// variance included.
type CorpusFact struct {
	Tasks     int64 `json:"tasks"`     // of all benchmarks
	Responses int64 `json:"responses"` // rollouts of all tasks and models
}

// ProfileFact is what the report needs to know of an evaluated profile.
type ProfileFact struct {
	Name    string `json:"name"` // "<benchmark>__model=<model>"
	NTasks  int32  `json:"n_tasks"`
	TestedK int    `json:"tested_k"`            // rollouts of each task, by which its probability is known; 0 if they differ
	Outside int64  `json:"tasks_outside_02_08"` // tasks with p outside [0.2, 0.8]
	SHA256  string `json:"sha256"`
}

// Find is the fact of a profile, nil where the experiment lacks it.
func (e Experiment) Find(name string) *ProfileFact {
	for i := range e.Profiles {
		if e.Profiles[i].Name == name {
			return &e.Profiles[i]
		}
	}
	return nil
}

// CountProfiles counts the profiles with so many tasks.
func (e Experiment) CountProfiles(nTasks int32) (n int64) {
	for _, p := range e.Profiles {
		if p.NTasks == nTasks {
			n++
		}
	}
	return n
}

// Write writes the facts as JSON.
func (e Experiment) Write(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(e)
}

func readExperiment(in Locate) (Experiment, error) {
	path, err := in(ExperimentFile)
	if err != nil {
		return Experiment{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Experiment{}, err
	}
	var e Experiment
	if err := json.Unmarshal(data, &e); err != nil {
		return Experiment{}, fmt.Errorf("%s: %w; run the report stage again", path, err)
	}
	return e, nil
}

// Has reports whether the experiment asks for a budget.
func (e Experiment) Has(budget int32) bool { return slices.Contains(e.Budgets, budget) }

// NewExperiment gathers the facts of the evaluated profiles, without those that
// turn out to be degenerate, and the size of the whole corpus.
func NewExperiment(s *Settings, compared []string, in Locate) (Experiment, error) {
	e := Experiment{Published: s.Published, Compared: compared}
	for _, b := range s.Budgets {
		e.Budgets = append(e.Budgets, int32(b))
	}
	all := slices.Clone(s.LeftOut)
	for _, pair := range s.Pairs {
		p, err := pair.ProfileIn(in)
		if err != nil {
			return e, err
		}
		all = append(all, p)
		if p.Name() == s.CaseStudy.Profile {
			e.CaseStudy = &CaseFact{Benchmark: p.Benchmark, Model: p.Model, Budget: int32(s.CaseStudy.Budget),
				TestedK: p.TestedK, Tested: p.Tested, TaskIDs: p.TaskIDs, PassCounts: p.PassCounts}
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
		for i := range p.N() {
			c.Responses += int64(p.Rollouts(i))
		}
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
