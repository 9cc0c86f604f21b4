// Package stored reads the stored results of the other stages for the report: the
// experiment, and the rows of the replay and systems stages. A Source reads each
// file of an output folder once.
package stored

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/servers/flops"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/internal/terminal/typeset"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Source reads the stored results of one output folder, each file once, and remembers
// what was made of them. What a stage that has not run would have stored is empty, and
// Lacking names the stage. It is for one goroutine.
type Source struct {
	*Settings
	in     Locate
	memory *Memory
	lacks  map[string]bool // stages that have not run, whose files were asked for
}

// Memory holds values made of stored files, by name. Sources of several goroutines may
// share one, if their settings and files are the same.
type Memory struct{ sync.Map }

// made is the value for one name, and the stages that it lacks.
type made struct {
	value any
	err   error
	lacks map[string]bool
}

// NewSource returns the source of the files that in finds. Sources share what was made of
// them where the settings have a memory.
func NewSource(s *Settings, in Locate) *Source {
	return (&Source{Settings: s, in: in, memory: cmp.Or(s.Memory, new(Memory))}).Anew()
}

// Anew is the same source, with nothing lacking so far.
func (s *Source) Anew() *Source { return &Source{s.Settings, s.in, s.memory, map[string]bool{}} }

// Lacking lists the stages that were asked for and have not run.
func (s *Source) Lacking() []string { return slices.Sorted(maps.Keys(s.lacks)) }

// locate finds a file, and notes the stage that would have to make it.
func (s *Source) locate(file string) (path string, err error) {
	path, err = s.in(file)
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		s.lacks[absent.Stage] = true
	}
	return path, err
}

// Once has a value made when it is first asked for, and remembers it by a name. It must not be changed.
func Once[T any](name string, make func(*Source) (T, error)) func(*Source) (T, error) {
	return func(s *Source) (T, error) {
		of, _ := s.memory.LoadOrStore(name, sync.OnceValue(func() made {
			inner := s.Anew()
			value, err := make(inner)
			return made{value, err, inner.lacks}
		}))
		m := of.(func() made)()
		maps.Copy(s.lacks, m.lacks)
		return m.value.(T), m.err
	}
}

// read reads a file, the zero value where the stage that makes it has not run, and
// remembers it; look does not, for files that one value is made of.
func read[T any](file string, of func(path string) (T, error)) func(*Source) (T, error) {
	return Once(file, look(file, of))
}

func look[T any](file string, of func(path string) (T, error)) func(*Source) (T, error) {
	return func(s *Source) (held T, err error) {
		path, err := s.there(file)
		if err != nil || path == "" {
			return held, err
		}
		return of(path)
	}
}

func rowsOf[T any](path string) ([]T, error) {
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
}

// designsOf reads the selected ex-ante designs, and all candidates of HBN and EN, which the paper prints.
func designsOf(path string) ([]variance.Design, error) {
	rows, err := rowsOf[variance.Design](path)
	return slices.Clone(slices.DeleteFunc(rows, func(d variance.Design) bool {
		return !d.Selected && d.Policy != policy.HBN.Name && d.Policy != policy.EN.Name
	})), err
}

// byEntry reads rows by the ratio that each is about.
func byEntry[T interface{ Entry() variance.Entry }](path string) (map[variance.Entry]T, error) {
	rows, err := rowsOf[T](path)
	all := make(map[variance.Entry]T, len(rows))
	for _, r := range rows {
		all[r.Entry()] = r
	}
	return all, err
}

// Rows that other stages have stored.
var (
	Designs       = read(variance.DesignsFile, designsOf)
	Ratios        = read(variance.RatiosFile, rowsOf[variance.Ratio])                 // of the selected policies on every profile
	TwoStage      = read(variance.TwoStageFile, rowsOf[variance.Ratio])               // of the policies of two stages
	Candidates    = read(variance.CandidatesFile, rowsOf[variance.Ratio])             // of IBN at every prior strength of the grid
	Suite         = look(variance.SuiteFile, rowsOf[variance.Suite])                  // the benchmarks of all suites
	Search        = read(variance.SearchFile, rowsOf[variance.Search])                // every candidate of TS-Neyman
	Estimates     = read(variance.EstimatesFile, rowsOf[variance.Estimates])          // sampling distributions of the case study
	ProfileErrors = read(variance.ErrorsFile, byEntry[variance.ProfileError])         // that come from the profiles
	Differences   = look(variance.DifferencesFile, byEntry[variance.Difference])      // to HBN, on common draws
	Benefit       = look(measurement.BenefitFile, rowsOf[measurement.Benefit])        // executions of policies in stages, and of Uniform
	Runs          = read(measurement.RunsFile, rowsOf[measurement.Run])               // the executions of the systems stage, one by one
	Predictions   = read(measurement.PredictionsFile, rowsOf[measurement.Prediction]) // of the times of runs on servers
)

// Replay is the replayed ratios of the selected policies on every profile, with the
// designs that they were replayed under.
type Replay struct {
	Designs variance.Schedules
	Ratios  []variance.Ratio
}

// What is made of stored results.
var (
	// Results is both empty where one is, which alone is of no use.
	Results = Once("results", func(s *Source) (Replay, error) {
		designs, err := Designs(s)
		ratios, noRatios := Ratios(s)
		if err := cmp.Or(err, noRatios); err != nil || len(designs) == 0 || len(ratios) == 0 {
			return Replay{}, err
		}
		return Replay{variance.NewSchedules(designs), ratios}, nil
	})
	// Standings is the worth of every policy, by budget.
	Standings = Once("standings", func(s *Source) ([]variance.Standing, error) {
		r, err := Results(s)
		if err != nil {
			return nil, err
		}
		return variance.Standings(r.Designs, r.Ratios)
	})
	// Profiles is the profiles of all pairs that are made yet.
	Profiles = Once("profiles", func(s *Source) (all []profile.Profile, err error) {
		for _, pair := range s.Pairs {
			p, err := pair.ProfileIn(s.locate)
			var absent *dag.AbsentError
			if err == nil {
				all = append(all, p)
			} else if !errors.As(err, &absent) {
				return nil, err
			}
		}
		return all, nil
	})
	// Paper is the paper's numbers, nil unless the profiles are the paper's.
	Paper = Once(paper.File, func(s *Source) (*paper.Numbers, error) {
		if !s.Published {
			return nil, nil
		}
		return paper.Parse(s.Targets)
	})
	// Architectures is the constants of the FLOP proxy.
	Architectures = Once(ArchitecturesFile, func(s *Source) ([]flops.Architecture, error) {
		return flops.Parse(s.Settings.Architectures, ArchitecturesFile)
	})
)

// Locate finds the local path of a file of the output folder. The error is a
// *dag.AbsentError if the stage that makes it has not run.
type Locate func(file string) (path string, err error)

// there is the path of a file, empty where the stage that makes it has not run.
func (s *Source) there(file string) (path string, err error) {
	path, err = s.locate(file)
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		return "", nil
	}
	return path, err
}

// Settings are the report's settings, by the experiment.
type Settings struct {
	// Published says that the profiles are the paper's own; tables then carry
	// its numbers next to the obtained ones.
	Published bool
	Budgets   []int       // rollouts per task
	Pairs     []pair.Pair // what is evaluated, in canonical order

	// LeftOut are profiles of the corpus that are known to have no variance, and
	// so are not evaluated.
	LeftOut []profile.Profile

	CaseStudy CaseStudy // what Figure 2 shows

	// Systems says that the experiment has a systems stage, whose runs
	// Tables 2 to 4 then have next to the published ones.
	Systems bool

	Few string // why savings on these profiles look too large, of few rollouts; "": they do not

	// Staged says that it executes policies in stages too, on the simulated fleet.
	Staged bool

	Live Live // what was measured here, and what was predicted

	Targets       []byte // the paper's numbers, as paper.Parse reads them
	Architectures []byte // CSV, as flops.Parse reads it
	Measurements  []byte // the published runs, as measurement.Parse reads them

	TeX *typeset.Engine // that sets the document; nil: there is none, or none is wanted

	Memory *Memory // that units, page and findings share; nil: each Source has its own
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

// Live is an experiment's own measurements, runs on servers. The zero value is nothing.
type Live struct {
	Timed     bool // runs are made on servers, and stored in measurement.RunsFile
	Predicted bool // their times are predicted, in measurement.PredictionsFile
	Scored    bool // some are under real rewards
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
