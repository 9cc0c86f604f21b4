package stored

import (
	"fmt"
	"slices"

	"speceval/internal/measurement"
)

// Costs is the timed runs of an experiment.
type Costs struct {
	Runs    []measurement.Measurement // published runs, and those of the systems stage
	Repeats []measurement.Repeat      // the executions behind those of the systems stage
	Drawn   bool                      // answers of measured runs had drawn lengths
}

// readCosts gathers the runs that Tables 2 to 4 are made of: the published
// ones, where the profiles are the paper's, and those of the systems stage,
// where the experiment has one.
func readCosts(in Locate, s *Settings) (Costs, error) {
	var costs Costs
	if s.Published {
		published, err := publishedRuns(s)
		if err != nil {
			return costs, err
		}
		costs.Runs = published
	}
	if !s.Systems {
		return costs, nil
	}
	path, err := in.there(measurement.File)
	if err != nil || path == "" {
		return costs, err
	}
	runs, err := measurement.Read(path)
	if err != nil {
		return costs, err
	}
	if i := slices.IndexFunc(runs, isPublished); i >= 0 {
		return costs, fmt.Errorf("%s: row %d (%s at budget %d): the systems stage has no published runs", path, i+1, runs[i].Profile(), runs[i].ReferenceBudget)
	}
	costs.Runs = append(costs.Runs, runs...)
	if costs.Drawn, err = measurement.AreDrawn(path); err != nil {
		return costs, err
	}
	if path, err = in(measurement.RepeatsFile); err != nil {
		return costs, err
	}
	costs.Repeats, err = measurement.ReadRepeats(path)
	return costs, err
}

// Groups is the runs in groups that have each of the strategies.
func (s *Source) Groups(strategies ...string) ([]measurement.Group, error) {
	costs, err := s.Costs()
	if err != nil {
		return nil, err
	}
	return once(s, fmt.Sprint("groups", strategies), func(Locate) ([]measurement.Group, error) {
		return measurement.Groups(costs.Runs, costs.Repeats, strategies...)
	})
}

func isPublished(m measurement.Measurement) bool { return m.Provenance == measurement.Published }

// publishedRuns is the published runs of the experiment's budgets. At a budget
// of the paper they must cover every profile of the experiment.
func publishedRuns(s *Settings) ([]measurement.Measurement, error) {
	if len(s.Measurements) == 0 {
		return nil, nil
	}
	all, err := measurement.Parse(s.Measurements, MeasurementsFile)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, p := range s.Pairs {
		wanted[p.Name()] = true
	}
	runs := slices.DeleteFunc(all, func(m measurement.Measurement) bool {
		return !slices.Contains(s.Budgets, int(m.ReferenceBudget)) || !wanted[m.Profile()] || !isPublished(m)
	})
	for _, b := range measurement.Budgets(runs, measurement.Published) {
		if n := len(measurement.Settings(runs, measurement.Published, b)); n != len(s.Pairs) {
			return nil, fmt.Errorf("%s: %d of the %d profiles have runs at budget %d", MeasurementsFile, n, len(s.Pairs), b)
		}
	}
	return runs, nil
}
