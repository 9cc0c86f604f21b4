package report

import (
	"fmt"
	"math"

	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// readStored reads the rows of a stored file, none where the stage that makes it
// has not run. fault says what is wrong with a row; empty if nothing is.
func readStored[T any](in locate, file string, fault func(T) string) ([]T, error) {
	path, err := in.there(file)
	if err != nil || path == "" {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[T](path)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if f := fault(r); f != "" {
			return nil, fmt.Errorf("%s: row %d: %s; run the replay stage again", path, i+1, f)
		}
	}
	return rows, nil
}

// readDesigns reads and checks the stored designs, none where the replay has not
// run.
func readDesigns(in locate) ([]variance.Design, error) {
	path, err := in.there(variance.DesignsFile)
	if err != nil || path == "" {
		return nil, err
	}
	return variance.ReadDesigns(path)
}

// readRatios reads and checks one of the stored files of ratios.
func readRatios(in locate, file string) ([]variance.Ratio, error) {
	return readStored(in, file, func(r variance.Ratio) string {
		positive := r.VarianceRatio > 0 || r.Policy == variance.TSNeyman // whose estimate may fall below
		if !positive || !(r.RatioSE >= 0) {
			return fmt.Sprintf("variance_ratio = %v and ratio_se = %v are no ratio", r.VarianceRatio, r.RatioSE)
		}
		return ""
	})
}

// readSearch reads and checks the search for TS-Neyman.
func readSearch(in locate) ([]variance.Search, error) {
	return readStored(in, variance.SearchFile, func(s variance.Search) string {
		if !(s.MSESE >= 0) || !(s.RawSE >= 0) || s.Draws < 2 {
			return fmt.Sprintf("mse_se = %v and raw_se = %v of %d draws are no errors", s.MSESE, s.RawSE, s.Draws)
		}
		return ""
	})
}

// readEstimates reads and checks the sampling distributions of the case study.
func readEstimates(in locate) ([]variance.Estimates, error) {
	return readStored(in, variance.EstimatesFile, func(e variance.Estimates) string {
		if !(e.Low < e.High) || e.Count < 0 || e.Repetitions < 2 || !(e.SD >= 0) || !(e.Expected > 0) || !(e.MeanSE >= 0) || math.IsNaN(e.Mean+e.Truth) {
			return fmt.Sprintf("%+v is no bin of a sampling distribution", e)
		}
		return ""
	})
}

// readDifferences reads and checks the paired differences to HBN.
func readDifferences(in locate) ([]variance.Difference, error) {
	return readStored(in, variance.DifferencesFile, func(d variance.Difference) string {
		if !finite(d.Difference) || !(d.DifferenceSE >= 0) || !finite(d.DifferenceSE) {
			return fmt.Sprintf("difference = %v and difference_se = %v are no difference", d.Difference, d.DifferenceSE)
		}
		return ""
	})
}

// readErrors reads and checks the errors that come from the profiles.
func readErrors(in locate) ([]variance.ProfileError, error) {
	return readStored(in, variance.ErrorsFile, func(e variance.ProfileError) string {
		if !(e.ProfileSE >= 0) || !finite(e.ProfileSE) || !finite(e.Shift) || !(e.ShiftSE >= 0) || !finite(e.ShiftSE) || e.Resamples < 2 {
			return fmt.Sprintf("profile_se = %v, shift = %v, shift_se = %v of %d resamples are no error", e.ProfileSE, e.Shift, e.ShiftSE, e.Resamples)
		}
		return ""
	})
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// entry names a result of one policy: alpha is 0 for policies without one.
type entry struct {
	profile, policy string
	budget          int32
	alpha           float64
}

func entryOf(r variance.Ratio) entry {
	return entry{name(r), r.Policy, r.Budget, alphaOf(r.Alpha)}
}

// profileErrors are the errors from the profiles, by the ratio that they are of.
type profileErrors map[entry]variance.ProfileError

func newProfileErrors(rows []variance.ProfileError) profileErrors {
	return byEntry(rows, func(e variance.ProfileError) variance.Ratio {
		return variance.Ratio{Benchmark: e.Benchmark, Model: e.Model, Policy: e.Policy, Budget: e.Budget, Alpha: e.Alpha}
	})
}

// differences are the paired differences to HBN, by the ratio that they are of.
type differences map[entry]variance.Difference

func newDifferences(rows []variance.Difference) differences {
	return byEntry(rows, func(d variance.Difference) variance.Ratio {
		return variance.Ratio{Benchmark: d.Benchmark, Model: d.Model, Policy: d.Policy, Budget: d.Budget, Alpha: d.Alpha}
	})
}

func byEntry[T any](rows []T, of func(T) variance.Ratio) map[entry]T {
	all := make(map[entry]T, len(rows))
	for _, r := range rows {
		all[entryOf(of(r))] = r
	}
	return all
}
