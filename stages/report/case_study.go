package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// CaseStudy is the profile that is looked at closely (paper, Appendix C.2), and
// the budget of its sampling distributions in rollouts per task.
type CaseStudy struct {
	Profile string
	Budget  int
}

// CaseFact is the profile of the case study.
type CaseFact struct {
	Benchmark  string   `json:"benchmark"`
	Model      string   `json:"model"`
	Budget     int32    `json:"budget"` // of the sampling distributions
	TestedK    int      `json:"tested_k"`
	TaskIDs    []string `json:"task_ids"`
	PassCounts []int    `json:"pass_counts"` // of each task
}

// profile is the fact as a profile.
func (c CaseFact) profile() profile.Profile {
	return profile.Profile{Benchmark: c.Benchmark, Model: c.Model, TestedK: c.TestedK, TaskIDs: c.TaskIDs, PassCounts: c.PassCounts}
}

// caseStudy is everything that the case study is made from.
type caseStudy struct {
	profile.Profile
	budget    int32                // of the sampling distributions
	simulated bool                 // the replay is to make such
	ratios    []variance.Ratio     // of the profile
	estimates []variance.Estimates // none where there are no distributions
}

// hasCase reports whether the case study's profile is evaluated.
func (s Settings) hasCase() bool {
	return slices.ContainsFunc(s.Pairs, func(p pair.Pair) bool { return p.Name() == s.CaseStudy.Profile })
}

// NoCaseStudy says why there is no case study, and so no Figure 2, and nothing
// where there is one.
func (s Settings) NoCaseStudy() string {
	switch {
	case s.hasCase():
		return ""
	case s.CaseStudy.Profile == "":
		return "no case study: replay.case_study.profile names no profile"
	}
	return fmt.Sprintf("no case study: the profile %s is not among the evaluated ones; replay.case_study.profile names another", s.CaseStudy.Profile)
}

// hasEstimates reports whether the replay simulates sampling distributions.
func (s Settings) hasEstimates() bool {
	return s.hasCase() && slices.Contains(s.Budgets, s.CaseStudy.Budget)
}

// caseWants is the units that readCase reads, but for that of the ratios.
func (s Settings) caseWants() []dag.Ref {
	switch {
	case s.hasEstimates():
		return []dag.Ref{experimentRef, caseRef}
	case s.hasCase():
		return []dag.Ref{experimentRef}
	}
	return nil
}

// readCase reads the case study from stored results, as far as they are there.
// There is none, of no tasks, without an experiment that has its profile.
func (s Settings) readCase(in locate) (caseStudy, error) {
	path, err := in.there(experimentFile)
	if err != nil || path == "" || !s.hasCase() {
		return caseStudy{}, err
	}
	e, err := readExperiment(path)
	if err != nil {
		return caseStudy{}, err
	}
	ratios, err := readRatios(in, variance.RatiosFile)
	if err != nil {
		return caseStudy{}, err
	}
	var estimates []variance.Estimates
	if s.hasEstimates() {
		if estimates, err = readEstimates(in); err != nil {
			return caseStudy{}, err
		}
	}
	if e.CaseStudy == nil {
		return caseStudy{}, fmt.Errorf("%s has no case study; run the report stage again", path)
	}
	c := newCase(*e.CaseStudy, ratios, estimates)
	c.simulated = s.hasEstimates()
	return c, nil
}

// notReplayed says that the ratios of the profile are not there.
const notReplayed = "Nothing to show yet: the replay stage has not run."

// noVariance says that a profile cannot be studied.
const noVariance = "Every rollout of a task went the same way: there is no variance to compare."

// noRatios says why there is no ratio of the profile, and nothing where there is.
func (c caseStudy) noRatios() string {
	switch {
	case c.N() > 0 && c.VarianceSum() == 0:
		return noVariance
	case len(c.ratios) == 0:
		return notReplayed
	}
	return ""
}

// noEstimates likewise says why there are no sampling distributions.
func (c caseStudy) noEstimates() string {
	switch {
	case len(c.estimates) > 0:
		return ""
	case c.N() > 0 && c.VarianceSum() == 0:
		return noVariance
	case !c.simulated:
		return fmt.Sprintf("No sampling distributions were simulated: %d, the budget of the case study, is not among those of the experiment.", c.budget)
	}
	return notReplayed
}

// newCase keeps what is of the case study's profile.
func newCase(fact CaseFact, ratios []variance.Ratio, estimates []variance.Estimates) caseStudy {
	c := caseStudy{Profile: fact.profile(), budget: fact.Budget}
	for _, r := range ratios {
		if name(r) == c.Name() {
			c.ratios = append(c.ratios, r)
		}
	}
	for _, e := range estimates {
		if e.Benchmark == c.Benchmark && e.Model == c.Model && e.Budget == c.budget {
			c.estimates = append(c.estimates, e)
		}
	}
	return c
}

// ratio is the variance ratio of a policy at a budget; ok is false where it was
// not replayed. Uniform's is one.
func (c caseStudy) ratio(policy string, budget int32) (r variance.Ratio, ok bool) {
	if policy == variance.Uniform {
		return variance.Ratio{Benchmark: c.Benchmark, Model: c.Model, NTasks: int32(c.N()), Budget: budget, Policy: policy, VarianceRatio: 1}, true
	}
	return profileRatio(c.ratios, policy, c.Name(), budget)
}

// halfWidth is the half-width of the 95% interval of a normal law, as a
// fraction: 1.96 standard deviations of an estimator with a ratio to Uniform's
// variance Σ p(1−p)/(N²b) (paper, Eq. 1).
func (c caseStudy) halfWidth(ratio float64, budget int32) float64 {
	n := float64(c.N())
	return gainZ * math.Sqrt(ratio*c.VarianceSum()/float64(float64(n*n)*float64(budget)))
}

// distribution is the bins of a policy.
func (c caseStudy) distribution(policy string) []variance.Estimates {
	var out []variance.Estimates
	for _, e := range c.estimates {
		if e.Policy == policy {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b variance.Estimates) int { return cmp.Compare(a.Low, b.Low) })
	return out
}

// below counts the tasks with a probability below a limit, above those above
// it, and endpoints those whose rollouts all went the same way.
func (c caseStudy) below(limit float64) int {
	return c.count(func(i int) bool { return c.P(i) < limit })
}

func (c caseStudy) above(limit float64) int {
	return c.count(func(i int) bool { return c.P(i) > limit })
}

func (c caseStudy) endpoints() int { return c.count(c.endpoint) }

// endpoint reports whether all rollouts of task i went the same way.
func (c caseStudy) endpoint(i int) bool { return c.PassCounts[i] == 0 || c.PassCounts[i] == c.TestedK }

func (c caseStudy) count(holds func(task int) bool) (n int) {
	for i := range c.N() {
		if holds(i) {
			n++
		}
	}
	return n
}
