package evaluated

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"speceval/internal/rowfile"
)

// request is what the program keeps of a request, as far as Completion looks at it.
type request struct {
	Phase     string   `parquet:"phase"`
	Submitted float64  `parquet:"submitted"`
	Finished  *float64 `parquet:"finished"`
	Passed    *bool    `parquet:"passed"`
}

// seconds is how long the request took.
func (r request) seconds() float64 { return *r.Finished - r.Submitted }

// Completion tells how rewards go with the time to completion in an evaluation: the
// pass rates of the half of its pilot that was answered faster, and of the other
// half.
func Completion(folder string) (fast, slow float64, err error) {
	path := filepath.Join(folder, "requests.parquet")
	rows, _, err := rowfile.ReadFile[request](path)
	if err != nil {
		return 0, 0, err
	}
	rows = slices.DeleteFunc(rows, func(r request) bool { return r.Phase != "pilot" || r.Finished == nil || r.Passed == nil })
	if len(rows) < 2 {
		return 0, 0, fmt.Errorf("%s has %d pilot rollouts with rewards", path, len(rows))
	}
	slices.SortFunc(rows, func(a, b request) int { return cmp.Compare(a.seconds(), b.seconds()) })
	half := len(rows) / 2
	return passRate(rows[:half]), passRate(rows[half:]), nil
}

func passRate(rows []request) float64 {
	passes := 0
	for _, r := range rows {
		if *r.Passed {
			passes++
		}
	}
	return float64(passes) / float64(len(rows))
}
