package evaluated

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/rowfile"
)

// seconds is how long a request took.
func seconds(r evaluation.Request) float64 { return *r.Finished - r.Submitted }

// Completion tells how rewards go with the time to completion in an evaluation: the
// pass rates of the half of its pilot that was answered faster, and of the other
// half.
func Completion(folder string) (fast, slow float64, err error) {
	path := filepath.Join(folder, "requests.parquet")
	rows, _, err := rowfile.ReadFile[evaluation.Request](path)
	if err != nil {
		return 0, 0, err
	}
	rows = slices.DeleteFunc(rows, func(r evaluation.Request) bool { return r.Phase != "pilot" || r.Finished == nil || r.Passed == nil })
	if len(rows) < 2 {
		return 0, 0, fmt.Errorf("%s has %d pilot rollouts with rewards", path, len(rows))
	}
	slices.SortFunc(rows, func(a, b evaluation.Request) int { return cmp.Compare(seconds(a), seconds(b)) })
	half := len(rows) / 2
	return passRate(rows[:half]), passRate(rows[half:]), nil
}

func passRate(rows []evaluation.Request) float64 {
	passes := 0
	for _, r := range rows {
		if *r.Passed {
			passes++
		}
	}
	return float64(passes) / float64(len(rows))
}
