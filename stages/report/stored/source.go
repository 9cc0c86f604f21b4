package stored

import (
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/stages/report/paper"
)

// Source reads the stored results of one output folder, each file once. What a
// stage that has not run would have stored is empty, and Lacking names the stage.
// It is for one goroutine.
type Source struct {
	*Settings
	in      Locate
	memory  map[string]*entry
	lacking []string
}

// entry is what was read for one name.
type entry struct {
	value   any
	err     error
	lacking []string // stages that would have to run for all of it
}

// NewSource returns the source of the files that in finds.
func NewSource(s *Settings, in Locate) *Source {
	return &Source{Settings: s, in: in, memory: map[string]*entry{}}
}

// Anew is the same source, with nothing lacking so far.
func (s *Source) Anew() *Source { return &Source{Settings: s.Settings, in: s.in, memory: s.memory} }

// Lacking is the stages that have not run, of those that it was asked for.
func (s *Source) Lacking() []string { return s.lacking }

// once reads what the name stands for when it is first asked for.
func once[T any](s *Source, name string, read func(in Locate) (T, error)) (T, error) {
	e := s.memory[name]
	if e == nil {
		e = &entry{}
		e.value, e.err = read(s.in.noting(&e.lacking))
		s.memory[name] = e
	}
	s.lacking = union(s.lacking, e.lacking...)
	return e.value.(T), e.err
}

// Paper is the paper's numbers, nil unless the profiles are the paper's.
func (s *Source) Paper() (*paper.Numbers, error) {
	if !s.Published {
		return nil, nil
	}
	return once(s, paper.File, func(Locate) (*paper.Numbers, error) { return paper.Parse(s.Targets) })
}

// Experiment is the facts that the report stored of the experiment.
func (s *Source) Experiment() (Experiment, error) {
	return once(s, ExperimentFile, readExperiment)
}

// Designs is every candidate of every ex-ante design.
func (s *Source) Designs() ([]variance.Design, error) {
	return once(s, variance.DesignsFile, readDesigns)
}

// Ratios is the ratios of the selected policies on every profile.
func (s *Source) Ratios() ([]variance.Ratio, error) {
	return once(s, variance.RatiosFile, func(in Locate) ([]variance.Ratio, error) { return readRatios(in, variance.RatiosFile) })
}

// Results is the ratios and the designs that they were replayed under; both are
// empty where one is, which alone is of no use.
func (s *Source) Results() (Results, error) {
	designs, err := s.Designs()
	if err != nil {
		return Results{}, err
	}
	ratios, err := s.Ratios()
	if err != nil || len(designs) == 0 || len(ratios) == 0 {
		return Results{}, err
	}
	return Results{NewSchedules(designs), ratios}, nil
}

// TwoStage is the ratios of the policies of two stages.
func (s *Source) TwoStage() ([]variance.Ratio, error) {
	return once(s, variance.TwoStageFile, func(in Locate) ([]variance.Ratio, error) { return readRatios(in, variance.TwoStageFile) })
}

// Candidates is the ratios of IBN at every prior strength of the grid.
func (s *Source) Candidates() ([]variance.Ratio, error) {
	return once(s, variance.CandidatesFile, func(in Locate) ([]variance.Ratio, error) { return readRatios(in, variance.CandidatesFile) })
}

// Search is every candidate of TS-Neyman.
func (s *Source) Search() ([]variance.Search, error) { return once(s, variance.SearchFile, readSearch) }

// ProfileErrors is the errors that come from the profiles.
func (s *Source) ProfileErrors() (ProfileErrors, error) {
	return once(s, variance.ErrorsFile, readErrors)
}

// Differences is the paired differences to HBN.
func (s *Source) Differences() (Differences, error) {
	return once(s, variance.DifferencesFile, readDifferences)
}

// Costs is the timed runs: the published ones, where the profiles are the paper's,
// and those of the systems stage, where the experiment has one.
func (s *Source) Costs() (Costs, error) {
	return once(s, measurement.File, func(in Locate) (Costs, error) { return readCosts(in, s.Settings) })
}

// Architectures is the constants of the FLOP proxy.
func (s *Source) Architectures() ([]flops.Architecture, error) {
	return once(s, ArchitecturesFile, func(Locate) ([]flops.Architecture, error) {
		if len(s.Settings.Architectures) == 0 {
			return nil, nil
		}
		return flops.Parse(s.Settings.Architectures, ArchitecturesFile)
	})
}

// Estimates is the sampling distributions of the case study.
func (s *Source) Estimates() ([]variance.Estimates, error) {
	return once(s, variance.EstimatesFile, readEstimates)
}

// Runs is the executions of the systems stage, one by one.
func (s *Source) Runs() ([]measurement.Run, error) {
	return once(s, measurement.RunsFile, func(in Locate) ([]measurement.Run, error) {
		return rowsOf[measurement.Run](in, measurement.RunsFile)
	})
}

// Predictions is the predicted times of runs on servers, beside the measured ones.
func (s *Source) Predictions() ([]measurement.Prediction, error) {
	return once(s, measurement.PredictionsFile, func(in Locate) ([]measurement.Prediction, error) {
		return rowsOf[measurement.Prediction](in, measurement.PredictionsFile)
	})
}

// Profiles is the profiles of all pairs. A *dag.AbsentError says that they are not
// made yet.
func (s *Source) Profiles() ([]profile.Profile, error) {
	return once(s, "profiles", func(in Locate) ([]profile.Profile, error) {
		var all []profile.Profile
		for _, pair := range s.Pairs {
			p, err := pair.ProfileIn(in)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		return all, nil
	})
}

// Lengths is the lengths of the sampled responses, by the name of their profile.
func (s *Source) Lengths() (map[string]Lengths, error) { return once(s, LengthsFile, readLengths) }
