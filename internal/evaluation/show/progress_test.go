package show_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/terminal/progress"
)

// TestEvaluationsFitTheirLine has all there is to say, in 60 columns.
func TestEvaluationsFitTheirLine(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "0.734±0.021 so far, 400/960, $12.35, 1.23M tok, 2 min left",
		false: "12:00:40Z 0.734±0.021 so far, 300/960, $12.35, 1.23M tok, 2 min left\n",
	} {
		var w strings.Builder
		clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		v := show.NewProgress(progress.Console{W: &w, Terminal: terminal, Columns: 60, Now: func() time.Time { return clock }})
		for done := 100; done <= 400; done += 100 {
			v.Take(evaluation.Progress{Pilots: done, AllPilots: 960, Tokens: 1_230_000, Dollars: 12.345678, Mean: &evaluation.Provisional{Value: 0.7344, StandardError: 0.0213}})
			clock = clock.Add(20 * time.Second)
		}
		v.End()
		long := func(line string) bool { return utf8.RuneCountInString(line) > 60 }
		if !strings.Contains(w.String(), want) || terminal && slices.ContainsFunc(strings.Split(w.String(), "\r"), long) {
			t.Errorf("%q, want %q", w.String(), want)
		}
	}
}
