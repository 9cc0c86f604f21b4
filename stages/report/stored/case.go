package stored

import (
	"errors"
	"fmt"

	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// CaseFact is the profile of the case study.
type CaseFact struct {
	Benchmark  string   `json:"benchmark"`
	Model      string   `json:"model"`
	Budget     int32    `json:"budget"`           // of the sampling distributions
	TestedK    int      `json:"tested_k"`         // 0 if tasks differ in it
	Tested     []int    `json:"tested,omitempty"` // of each task, if they differ
	TaskIDs    []string `json:"task_ids"`
	PassCounts []int    `json:"pass_counts"` // of each task
}

// Evaluated is the fact as a profile.
func (c CaseFact) Evaluated() profile.Profile {
	return profile.Profile{Benchmark: c.Benchmark, Model: c.Model, TestedK: c.TestedK, Tested: c.Tested, TaskIDs: c.TaskIDs, PassCounts: c.PassCounts}
}

// Case is the case study, as far as it is there: of no tasks where the experiment
// has none, or has not stored its facts.
func (s *Source) Case() (variance.Case, error) {
	if !s.HasCase() {
		return variance.Case{}, nil
	}
	e, err := s.Experiment()
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		return variance.Case{}, nil
	}
	if err != nil {
		return variance.Case{}, err
	}
	ratios, err := s.Ratios()
	if err != nil {
		return variance.Case{}, err
	}
	var estimates []variance.Estimates
	if s.HasEstimates() {
		if estimates, err = s.Estimates(); err != nil {
			return variance.Case{}, err
		}
	}
	if e.CaseStudy == nil {
		return variance.Case{}, fmt.Errorf("%s has no case study; run the report stage again", ExperimentFile)
	}
	c := variance.NewCase(e.CaseStudy.Evaluated(), e.CaseStudy.Budget, ratios, estimates)
	c.Simulated = s.HasEstimates()
	return c, nil
}
