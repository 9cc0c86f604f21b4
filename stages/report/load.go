package report

import (
	"fmt"
	"os"
	"path/filepath"

	"speceval/internal/flops"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// Files of its own that the stage reads again, relative to the output folder.
const (
	experimentFile = "report/experiment.json"
	flopsFile      = "tables/table7_flop_coefficients.csv"
	numbersFile    = "tables/numbers.tex"
)

// locate finds the local path of a file of the output folder.
type locate func(file string) (path string, err error)

// load reads everything that verdicts are made from.
func load(outDir string) (stored, error) {
	in := func(file string) (string, error) { return filepath.Join(outDir, filepath.FromSlash(file)), nil }
	var s stored
	var err error
	if s.Experiment, err = readExperiment(filepath.Join(outDir, filepath.FromSlash(experimentFile))); err != nil {
		return s, err
	}
	if !s.Published {
		return s, nil // nothing will be compared
	}
	if s.Results, err = readResults(in); err != nil {
		return s, err
	}
	if s.Candidates, err = readRatios(in, variance.CandidatesFile); err != nil {
		return s, err
	}
	s.costs = map[string][]costRow{}
	for _, kind := range costKinds {
		if s.costs[kind.base], err = readCostRows(in, kind); err != nil {
			return s, err
		}
	}
	path := filepath.Join(outDir, filepath.FromSlash(flopsFile))
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
	return res, err
}

// readDesigns reads and checks the stored designs.
func readDesigns(in locate) ([]variance.Design, error) {
	path, err := in(variance.DesignsFile)
	if err != nil {
		return nil, err
	}
	return variance.ReadDesigns(path)
}

// readRatios reads and checks one of the stored files of ratios.
func readRatios(in locate, file string) ([]variance.Ratio, error) {
	path, err := in(file)
	if err != nil {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[variance.Ratio](path)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if !(r.VarianceRatio > 0) || !(r.RatioSE >= 0) {
			return nil, fmt.Errorf("%s: row %d: variance_ratio = %v and ratio_se = %v are no ratio",
				path, i+1, r.VarianceRatio, r.RatioSE)
		}
	}
	return rows, nil
}
