package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/flops"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// Files of its own that the stage reads again, relative to the output folder.
const (
	experimentFile = "report/experiment.json"
	flopsFile      = "tables/table7_flop_coefficients.csv"
	numbersFile    = "tables/numbers.tex"
)

// locate finds the local path of a file of the output folder. The error is a
// *dag.AbsentError if the stage that makes it has not run.
type locate func(file string) (path string, err error)

// folder finds the files of an output folder, for readers that are no unit.
func folder(outDir string) locate {
	return func(file string) (string, error) {
		path := filepath.Join(outDir, filepath.FromSlash(file))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			stage, _, _ := strings.Cut(file, "/")
			return "", &dag.AbsentError{Output: file, Stage: stage}
		}
		return path, nil
	}
}

// there is the path of a file, empty where the stage that makes it has not run.
func (in locate) there(file string) (path string, err error) {
	path, err = in(file)
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		return "", nil
	}
	return path, err
}

// noting is in, and adds the stages that have not run to stages, each once.
func (in locate) noting(stages *[]string) locate {
	return func(file string) (string, error) {
		path, err := in(file)
		var absent *dag.AbsentError
		if errors.As(err, &absent) && !slices.Contains(*stages, absent.Stage) {
			*stages = append(*stages, absent.Stage)
		}
		return path, err
	}
}

// load reads everything that verdicts are made from, as far as it is there.
func load(outDir string) (stored, error) {
	e, err := readExperiment(filepath.Join(outDir, filepath.FromSlash(experimentFile)))
	if err != nil {
		return stored{}, err
	}
	return gather(e, folder(outDir))
}

// gather reads what verdicts on an experiment are made from, as far as it is
// there. A unit that calls it wants Settings.verdictRefs.
func gather(e Experiment, in locate) (stored, error) {
	s := stored{Experiment: e}
	in = in.noting(&s.lacking)
	var err error
	if s.live, err = readLive(in, e.Compared); err != nil || !s.Published {
		return s, err
	}
	if s.Results, err = readResults(in); err != nil {
		return s, err
	}
	if s.Candidates, err = readRatios(in, variance.CandidatesFile); err != nil {
		return s, err
	}
	if s.Search, err = readSearch(in); err != nil {
		return s, err
	}
	s.costs = map[string][]costRow{}
	for _, kind := range costKinds {
		if s.costs[kind.base], err = readCostRows(in, kind); err != nil {
			return s, err
		}
	}
	if s.CaseStudy != nil && s.has(s.CaseStudy.Budget) {
		if s.estimates, err = readEstimates(in); err != nil {
			return s, err
		}
	}
	path, err := in.there(flopsFile)
	if err != nil || path == "" {
		return s, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	s.architectures, err = flops.Parse(data, path)
	return s, err
}

// readResults reads the designs and the ratios replayed under them.
func readResults(in locate) (res Results, err error) {
	if res.Designs, err = readDesigns(in); err != nil {
		return res, err
	}
	res.Ratios, err = readRatios(in, variance.RatiosFile)
	if len(res.Designs) == 0 || len(res.Ratios) == 0 {
		return Results{}, err // one of the files alone is of no use
	}
	return res, err
}
