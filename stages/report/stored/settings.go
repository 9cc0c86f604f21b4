package stored

import (
	"fmt"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/typeset"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Settings is what the report needs to know of the experiment.
type Settings struct {
	// Published says that the profiles are the paper's own; tables then carry
	// its numbers beside the obtained ones.
	Published bool
	Budgets   []int       // rollouts per task
	Pairs     []pair.Pair // what is evaluated, in canonical order

	// LeftOut are profiles of the corpus that are known to have no variance, and
	// so are not evaluated.
	LeftOut []profile.Profile

	CaseStudy CaseStudy // what Figure 2 shows

	// Systems says that the experiment has a systems stage, whose runs
	// Tables 2 to 4 then have beside the published ones.
	Systems bool

	// Staged says that it executes policies in stages too, on the simulated fleet.
	Staged bool

	Live Live // what was measured here, beside what was predicted

	Targets       []byte // the paper's numbers, as paper.Parse reads them
	Architectures []byte // CSV, as flops.Parse reads it
	Measurements  []byte // the published runs, as measurement.Parse reads them

	Configuration map[string]string // that the document shows: key to canonical value
	TeX           *typeset.Engine   // that sets the document; nil: there is none, or none is wanted
}

// Files from outside the output folder, as sources name them.
const (
	ArchitecturesFile = "data/architectures.csv"
	MeasurementsFile  = "data/measurements.parquet"
)

// CaseStudy is the profile that is looked at closely (paper, Appendix C.2), and
// the budget of its sampling distributions in rollouts per task.
type CaseStudy struct {
	Profile string
	Budget  int
}

// Live is what an experiment measures of its own: runs on servers, rollouts, and
// a second generation. The zero value is nothing.
type Live struct {
	Timed     bool // runs are made on servers, and stored in measurement.RunsFile
	Predicted bool // their times are predicted, in measurement.PredictionsFile
	Scored    bool // some are under real rewards

	Rollouts map[string]Rollouts // by profile; empty where none are sampled
	Second   *Second             // nil: none is asked for
}

// Rollouts are the stored rollouts of a profile.
type Rollouts struct {
	By    dag.Ref  // the unit that samples them
	Files []string // relative to the output folder
}

// Second is a second, independent generation of some of the profiles.
type Second struct {
	Path     string
	Profiles []profile.Profile // none where the file is not there
	Source   dag.Source
}

// HasCosts reports whether any runs are there for Tables 2 to 4.
func (s *Settings) HasCosts() bool { return s.Published || s.Systems }

// HasCase reports whether the case study's profile is evaluated.
func (s *Settings) HasCase() bool {
	return slices.ContainsFunc(s.Pairs, func(p pair.Pair) bool { return p.Name() == s.CaseStudy.Profile })
}

// HasEstimates reports whether the replay simulates sampling distributions.
func (s *Settings) HasEstimates() bool {
	return s.HasCase() && slices.Contains(s.Budgets, s.CaseStudy.Budget)
}

// NoCaseStudy says why there is no case study, and so no Figure 2, and nothing
// where there is one.
func (s *Settings) NoCaseStudy() string {
	switch {
	case s.HasCase():
		return ""
	case s.CaseStudy.Profile == "":
		return "no case study: replay.case_study.profile names no profile"
	}
	return fmt.Sprintf("no case study: the profile %s is not among the evaluated ones; replay.case_study.profile names another", s.CaseStudy.Profile)
}
