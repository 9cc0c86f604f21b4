package stored

import (
	"fmt"
	"math"

	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// readChecked reads the rows of a stored file, none where the stage that makes it
// has not run. fault says what is wrong with a row; empty if nothing is.
func readChecked[T any](in Locate, file string, fault func(T) string) ([]T, error) {
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

// rowsOf reads rows that need no check, none where the stage that makes them has not
// run.
func rowsOf[T any](in Locate, file string) ([]T, error) {
	return readChecked(in, file, func(T) string { return "" })
}

// readDesigns reads and checks the stored designs, none where the replay has not
// run.
func readDesigns(in Locate) ([]variance.Design, error) {
	path, err := in.there(variance.DesignsFile)
	if err != nil || path == "" {
		return nil, err
	}
	return variance.ReadDesigns(path)
}

// readRatios reads and checks one of the stored files of ratios.
func readRatios(in Locate, file string) ([]variance.Ratio, error) {
	return readChecked(in, file, func(r variance.Ratio) string {
		positive := r.VarianceRatio > 0 || r.Policy == variance.TSNeyman // whose estimate may fall below
		if !positive || !(r.RatioSE >= 0) {
			return fmt.Sprintf("variance_ratio = %v and ratio_se = %v are no ratio", r.VarianceRatio, r.RatioSE)
		}
		return ""
	})
}

// readSearch reads and checks the search for TS-Neyman.
func readSearch(in Locate) ([]variance.Search, error) {
	return readChecked(in, variance.SearchFile, func(s variance.Search) string {
		if !(s.MSESE >= 0) || !(s.RawSE >= 0) || s.Draws < 2 {
			return fmt.Sprintf("mse_se = %v and raw_se = %v of %d draws are no errors", s.MSESE, s.RawSE, s.Draws)
		}
		return ""
	})
}

// readEstimates reads and checks the sampling distributions of the case study.
func readEstimates(in Locate) ([]variance.Estimates, error) {
	return readChecked(in, variance.EstimatesFile, func(e variance.Estimates) string {
		if !(e.Low < e.High) || e.Count < 0 || e.Repetitions < 2 || !(e.SD >= 0) || !(e.Expected > 0) || !(e.MeanSE >= 0) || math.IsNaN(e.Mean+e.Truth) {
			return fmt.Sprintf("%+v is no bin of a sampling distribution", e)
		}
		return ""
	})
}

// readDifferences reads and checks the paired differences to HBN.
func readDifferences(in Locate) (Differences, error) {
	rows, err := readChecked(in, variance.DifferencesFile, func(d variance.Difference) string {
		if !Finite(d.Difference) || !(d.DifferenceSE >= 0) || !Finite(d.DifferenceSE) {
			return fmt.Sprintf("difference = %v and difference_se = %v are no difference", d.Difference, d.DifferenceSE)
		}
		return ""
	})
	return newDifferences(rows), err
}

// readErrors reads and checks the errors that come from the profiles.
func readErrors(in Locate) (ProfileErrors, error) {
	rows, err := readChecked(in, variance.ErrorsFile, func(e variance.ProfileError) string {
		if !(e.ProfileSE >= 0) || !Finite(e.ProfileSE) || !Finite(e.Shift) || !(e.ShiftSE >= 0) || !Finite(e.ShiftSE) || e.Resamples < 2 {
			return fmt.Sprintf("profile_se = %v, shift = %v, shift_se = %v of %d resamples are no error", e.ProfileSE, e.Shift, e.ShiftSE, e.Resamples)
		}
		return ""
	})
	return newProfileErrors(rows), err
}

// Finite reports whether v is a number.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Entry names a result of one policy: alpha is 0 for policies without one.
type Entry struct {
	Profile, Policy string
	Budget          int32
	Alpha           float64
}

// EntryOf is what a ratio is of.
func EntryOf(r variance.Ratio) Entry {
	return Entry{ProfileOf(r), r.Policy, r.Budget, AlphaOf(r.Alpha)}
}

// ProfileErrors is the errors from the profiles, by the ratio that they are of.
type ProfileErrors map[Entry]variance.ProfileError

func newProfileErrors(rows []variance.ProfileError) ProfileErrors {
	return byEntry(rows, func(e variance.ProfileError) variance.Ratio {
		return variance.Ratio{Benchmark: e.Benchmark, Model: e.Model, Policy: e.Policy, Budget: e.Budget, Alpha: e.Alpha}
	})
}

// Differences is the paired differences to HBN, by the ratio that they are of.
type Differences map[Entry]variance.Difference

func newDifferences(rows []variance.Difference) Differences {
	return byEntry(rows, func(d variance.Difference) variance.Ratio {
		return variance.Ratio{Benchmark: d.Benchmark, Model: d.Model, Policy: d.Policy, Budget: d.Budget, Alpha: d.Alpha}
	})
}

func byEntry[T any](rows []T, of func(T) variance.Ratio) map[Entry]T {
	all := make(map[Entry]T, len(rows))
	for _, r := range rows {
		all[EntryOf(of(r))] = r
	}
	return all
}
