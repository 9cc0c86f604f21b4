// Package stored reads the stored results of the other stages for the report: the
// experiment, and the rows of the replay and systems stages. A Source reads each
// file of an output folder once.
package stored

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/profile"
	"speceval/internal/store/rowfile"
	"speceval/internal/typeset"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Source reads the stored results of one output folder, each file once, and remembers
// what was made of them. What a stage that has not run would have stored is empty, and
// Lacking names the stage. It is for one goroutine.
type Source struct {
	*Settings
	in      Locate
	memory  *Memory
	found   map[string]located // files that were looked for
	lacking []string
	reads   map[string]string // versions of the files that were asked for
}

// located is where a file is.
type located struct {
	path    string
	err     error
	version string // path, size and time, or the error where it is not there
}

// Memory holds values made of stored files, by name. Sources of several goroutines may
// share one, if their settings are the same.
type Memory struct {
	mu      sync.Mutex
	entries map[string]*entry
}

// entry is the value for one name, with the versions of the files that were read for it.
type entry struct {
	mu      sync.Mutex
	made    bool
	value   any
	err     error
	reads   map[string]string
	lacking []string // stages that would have to run for all of it
}

// NewSource returns the source of the files that in finds. What was made of files counts
// while they stay as they are; sources share it where the settings have a memory.
func NewSource(s *Settings, in Locate) *Source {
	return (&Source{Settings: s, in: in, memory: cmp.Or(s.Memory, new(Memory)), found: map[string]located{}}).Anew()
}

// Anew is the same source, with nothing lacking so far.
func (s *Source) Anew() *Source {
	return &Source{Settings: s.Settings, in: s.in, memory: s.memory, found: s.found, reads: map[string]string{}}
}

// Lacking lists the stages that were asked for and have not run.
func (s *Source) Lacking() []string { return s.lacking }

// locate finds a file, and notes it.
func (s *Source) locate(file string) (path string, err error) {
	at := s.place(file)
	var absent *dag.AbsentError
	if errors.As(at.err, &absent) {
		s.lacking = union(s.lacking, absent.Stage)
	}
	s.reads[file] = at.version
	return at.path, at.err
}

func (s *Source) place(file string) located {
	at, known := s.found[file]
	if !known {
		at.path, at.err = s.in(file)
		at.version = fmt.Sprint(at.path, at.err)
		if info, err := os.Stat(at.path); err == nil {
			at.version = fmt.Sprint(at.path, info.Size(), info.ModTime().UnixNano())
		}
		s.found[file] = at
	}
	return at
}

// Once makes what the name stands for when it is first asked for. It must not be changed.
func Once[T any](s *Source, name string, make func(*Source) (T, error)) (T, error) {
	e := s.memory.entry(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	for file, version := range e.reads {
		e.made = e.made && s.place(file).version == version
	}
	if !e.made {
		inner := s.Anew()
		e.value, e.err = make(inner)
		e.made, e.reads, e.lacking = true, inner.reads, inner.lacking
	}
	s.lacking = union(s.lacking, e.lacking...)
	maps.Copy(s.reads, e.reads)
	return e.value.(T), e.err
}

func (m *Memory) entry(name string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[string]*entry{}
	}
	if m.entries[name] == nil {
		m.entries[name] = new(entry)
	}
	return m.entries[name]
}

// read reads the file by which a name is known, the zero value where the stage that
// makes it has not run.
func read[T any](s *Source, file string, of func(path string) (T, error)) (T, error) {
	return Once(s, file, func(s *Source) (rows T, err error) {
		path, err := s.there(file)
		if err != nil || path == "" {
			return rows, err
		}
		return of(path)
	})
}

// rowsOf reads rows that need no check.
func rowsOf[T any](path string) ([]T, error) {
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
}

// byEntry reads rows by the ratio that each is about.
func byEntry[T interface{ Entry() variance.Entry }](path string) (map[variance.Entry]T, error) {
	rows, err := rowsOf[T](path)
	return variance.ByEntry(rows), err
}

// Results is the replayed ratios of the selected policies on every profile, with
// the designs that they were replayed under.
type Results struct {
	Designs variance.Schedules
	Ratios  []variance.Ratio
}

// Paper is the paper's numbers, nil unless the profiles are the paper's.
func (s *Source) Paper() (*paper.Numbers, error) {
	if !s.Published {
		return nil, nil
	}
	return Once(s, paper.File, func(s *Source) (*paper.Numbers, error) { return paper.Parse(s.Targets) })
}

// Experiment is the facts that the report stored of the experiment.
func (s *Source) Experiment() (Experiment, error) {
	return Once(s, ExperimentFile, func(s *Source) (Experiment, error) { return readExperiment(s.locate) })
}

// Designs is every candidate of every ex-ante design.
func (s *Source) Designs() ([]variance.Design, error) {
	return read(s, variance.DesignsFile, rowsOf[variance.Design])
}

// Ratios is the ratios of the selected policies on every profile.
func (s *Source) Ratios() ([]variance.Ratio, error) {
	return read(s, variance.RatiosFile, rowsOf[variance.Ratio])
}

// Results is the ratios and the designs that they were replayed under; both are
// empty where one is, which alone is of no use.
func (s *Source) Results() (Results, error) {
	return Once(s, "results", func(s *Source) (Results, error) {
		designs, err := s.Designs()
		if err != nil {
			return Results{}, err
		}
		ratios, err := s.Ratios()
		if err != nil || len(designs) == 0 || len(ratios) == 0 {
			return Results{}, err
		}
		return Results{variance.NewSchedules(designs), ratios}, nil
	})
}

// Standings is the worth of every policy, by budget.
func (s *Source) Standings() ([]variance.Standing, error) {
	return Once(s, "standings", func(s *Source) ([]variance.Standing, error) {
		r, err := s.Results()
		if err != nil {
			return nil, err
		}
		return variance.Standings(r.Designs, r.Ratios)
	})
}

// TwoStage is the ratios of the policies of two stages.
func (s *Source) TwoStage() ([]variance.Ratio, error) {
	return read(s, variance.TwoStageFile, rowsOf[variance.Ratio])
}

// Candidates is the ratios of IBN at every prior strength of the grid.
func (s *Source) Candidates() ([]variance.Ratio, error) {
	return read(s, variance.CandidatesFile, rowsOf[variance.Ratio])
}

// Suite is the benchmarks of all suites.
func (s *Source) Suite() ([]variance.Suite, error) {
	return read(s, variance.SuiteFile, rowsOf[variance.Suite])
}

// Search is every candidate of TS-Neyman.
func (s *Source) Search() ([]variance.Search, error) {
	return read(s, variance.SearchFile, rowsOf[variance.Search])
}

// ProfileErrors is the errors that come from the profiles.
func (s *Source) ProfileErrors() (variance.ProfileErrors, error) {
	return read(s, variance.ErrorsFile, byEntry[variance.ProfileError])
}

// Differences is the paired differences to HBN.
func (s *Source) Differences() (variance.Differences, error) {
	return read(s, variance.DifferencesFile, byEntry[variance.Difference])
}

// Costs is the timed runs: the published ones, where the profiles are the paper's,
// and those of the systems stage, where the experiment has one.
func (s *Source) Costs() (Costs, error) {
	return Once(s, "costs", readCosts)
}

// Benefit is the executions of policies in stages, and those of Uniform.
func (s *Source) Benefit() ([]measurement.Benefit, error) {
	return read(s, measurement.BenefitFile, rowsOf[measurement.Benefit])
}

// Architectures is the constants of the FLOP proxy.
func (s *Source) Architectures() ([]flops.Architecture, error) {
	return Once(s, ArchitecturesFile, func(s *Source) ([]flops.Architecture, error) {
		if len(s.Settings.Architectures) == 0 {
			return nil, nil
		}
		return flops.Parse(s.Settings.Architectures, ArchitecturesFile)
	})
}

// Estimates is the sampling distributions of the case study.
func (s *Source) Estimates() ([]variance.Estimates, error) {
	return read(s, variance.EstimatesFile, rowsOf[variance.Estimates])
}

// Runs is the executions of the systems stage, one by one.
func (s *Source) Runs() ([]measurement.Run, error) {
	return read(s, measurement.RunsFile, rowsOf[measurement.Run])
}

// Predictions is the predicted times of runs on servers, with the measured ones.
func (s *Source) Predictions() ([]measurement.Prediction, error) {
	return read(s, measurement.PredictionsFile, rowsOf[measurement.Prediction])
}

// Profiles is the profiles of all pairs. A *dag.AbsentError says that they are not
// made yet.
func (s *Source) Profiles() ([]profile.Profile, error) {
	return Once(s, "profiles", func(s *Source) ([]profile.Profile, error) {
		var all []profile.Profile
		for _, pair := range s.Pairs {
			p, err := pair.ProfileIn(s.locate)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		return all, nil
	})
}

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

// union is list with those of more that it lacks.
func union(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
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
