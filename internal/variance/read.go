package variance

import (
	"fmt"
	"math"

	"speceval/internal/policy"
	"speceval/internal/rowfile"
)

// read reads the rows of a stored file. fault says what is wrong with a row; empty
// if nothing is.
func read[T any](path string, fault func(T) string) ([]T, error) {
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

// ReadDesigns reads a file of designs and checks each: a pilot within the
// budget, a weight within (0, 1). Errors name the file and the row.
func ReadDesigns(path string) ([]Design, error) {
	rows, _, err := rowfile.ReadFile[Design](path)
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		if !(d.W > 0 && d.W < 1) || d.M < 1 || d.M >= d.Budget || !(d.RiskSE >= 0) {
			return nil, fmt.Errorf("%s: row %d: m = %d, w = %v, risk_se = %v are no design for budget %d",
				path, i+1, d.M, d.W, d.RiskSE, d.Budget)
		}
	}
	return rows, nil
}

// ReadRatios reads and checks a file of ratios.
func ReadRatios(path string) ([]Ratio, error) {
	return read(path, func(r Ratio) string {
		positive := r.VarianceRatio > 0 || r.Policy == TSNeyman // whose estimate may fall below
		if !positive || !(r.RatioSE >= 0) {
			return fmt.Sprintf("variance_ratio = %v and ratio_se = %v are no ratio", r.VarianceRatio, r.RatioSE)
		}
		return ""
	})
}

// ReadSearch reads and checks the search for TS-Neyman.
func ReadSearch(path string) ([]Search, error) {
	return read(path, func(s Search) string {
		if !(s.MSESE >= 0) || !(s.RawSE >= 0) || s.Draws < 2 {
			return fmt.Sprintf("mse_se = %v and raw_se = %v of %d draws are no errors", s.MSESE, s.RawSE, s.Draws)
		}
		return ""
	})
}

// ReadEstimates reads and checks the sampling distributions of the case study.
func ReadEstimates(path string) ([]Estimates, error) {
	return read(path, func(e Estimates) string {
		if !(e.Low < e.High) || e.Count < 0 || e.Repetitions < 2 || !(e.SD >= 0) || !(e.Expected > 0) || !(e.MeanSE >= 0) || math.IsNaN(e.Mean+e.Truth) {
			return fmt.Sprintf("%+v is no bin of a sampling distribution", e)
		}
		return ""
	})
}

// ReadDifferences reads and checks the paired differences to HBN.
func ReadDifferences(path string) (Differences, error) {
	rows, err := read(path, func(d Difference) string {
		if !Finite(d.Difference) || !(d.DifferenceSE >= 0) || !Finite(d.DifferenceSE) {
			return fmt.Sprintf("difference = %v and difference_se = %v are no difference", d.Difference, d.DifferenceSE)
		}
		return ""
	})
	return newDifferences(rows), err
}

// ReadErrors reads and checks the errors that come from the profiles.
func ReadErrors(path string) (ProfileErrors, error) {
	rows, err := read(path, func(e ProfileError) string {
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
	Profile string
	Policy  policy.Key
	Budget  int32
	Alpha   float64
}

// EntryOf is what a ratio is of.
func EntryOf(r Ratio) Entry {
	return Entry{r.Profile(), r.Key(), r.Budget, AlphaOf(r.Alpha)}
}

// ProfileErrors is the errors from the profiles, by the ratio that they are of.
type ProfileErrors map[Entry]ProfileError

func newProfileErrors(rows []ProfileError) ProfileErrors {
	return byEntry(rows, func(e ProfileError) Ratio {
		return Ratio{Benchmark: e.Benchmark, Model: e.Model, Policy: e.Policy, Donors: e.Donors, Budget: e.Budget, Alpha: e.Alpha}
	})
}

// Differences is the paired differences to HBN, by the ratio that they are of.
type Differences map[Entry]Difference

func newDifferences(rows []Difference) Differences {
	return byEntry(rows, func(d Difference) Ratio {
		return Ratio{Benchmark: d.Benchmark, Model: d.Model, Policy: d.Policy, Donors: d.Donors, Budget: d.Budget, Alpha: d.Alpha}
	})
}

func byEntry[T any](rows []T, of func(T) Ratio) map[Entry]T {
	all := make(map[Entry]T, len(rows))
	for _, r := range rows {
		all[EntryOf(of(r))] = r
	}
	return all
}
