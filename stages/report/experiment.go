package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

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
	TestedK int    `json:"tested_k"`            // rollouts of each task, by which its probability is known
	Outside int64  `json:"tasks_outside_02_08"` // tasks with p outside [0.2, 0.8]
	SHA256  string `json:"sha256"`
}

// find is the fact of a profile, nil where the experiment lacks it.
func (e Experiment) find(name string) *ProfileFact {
	for i := range e.Profiles {
		if e.Profiles[i].Name == name {
			return &e.Profiles[i]
		}
	}
	return nil
}

func (e Experiment) write(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(e)
}

func readExperiment(path string) (Experiment, error) {
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

// has reports whether the experiment asks for a budget.
func (e Experiment) has(budget int32) bool { return slices.Contains(e.Budgets, budget) }
