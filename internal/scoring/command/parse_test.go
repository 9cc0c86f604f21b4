package command

import (
	"strings"
	"testing"
)

// FuzzParse holds verdicts to what they may be, whatever a grader writes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"` + strings.Repeat("k", 10_000) + `":1}`,
		`{"reward":1,"answer":"a","note":"n"}`, `{"reward":-0}`, `{"reward":NaN}`, `{"reward":1e-400}`, `{"reward":true}{`, `{"Reward":0.5,"reward":2}`, "\xff"} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, line []byte, graded bool) {
		v, err := parse(line, graded)
		if err != nil {
			if len(err.Error()) > 1500 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if !(v.Reward >= 0 && v.Reward <= 1) || !graded && v.Reward != 0 && v.Reward != 1 || len(v.Answer) > 500 || len(v.Note) > 500 {
			t.Fatalf("%q: %+v", line, v)
		}
	})
}
