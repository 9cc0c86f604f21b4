package evaluation_test

import (
	"io"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/policy/pilot"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

// extension is an evaluation that extends a complete one to another budget, on servers of
// its own.
func extension(t *testing.T, of *lab, r *evaluation.Result, budget int) *lab {
	t.Helper()
	l := newLab(t, "hbn_staged", budget, 3, of.passes...)
	l.settings.Setup.Extends = evaluation.Extending(r, of.settings.Folder)
	l.settings.Setup.Design = evaluation.Design{Weight: 0.6, Fractions: pilot.Fractions(2), Source: "made up"}
	l.settings.Folder = l.settings.Setup.Path(t.TempDir())
	return l
}

// TestAnExtensionAddsRollouts extends an evaluation twice. Only what is new is asked for,
// files hold all, and the estimate is that of the earlier evaluation and of the new
// stages, by their weights.
func TestAnExtensionAddsRollouts(t *testing.T) {
	first := newLab(t, "hbn-async", 8, 3, quiz...)
	r := first.run()
	for range 2 {
		l := extension(t, first, r, r.Budget+8)
		again := l.run()
		if again.Rollouts != r.Rollouts+80 || recount(t, l, again) != again.Rollouts {
			t.Fatalf("%d rollouts, want %d", again.Rollouts, r.Rollouts+80)
		}
		for _, q := range l.asked {
			if n := rolloutOf(q); n < r.Rows[l.task(q)].Rollouts() {
				t.Fatalf("rollout %d of task %d is asked again", n, l.task(q))
			}
		}
		want := 0.0
		for i, task := range again.Rows {
			new := task.Stages[len(r.Rows[i].Stages):]
			mean := 0.6 * r.Rows[i].Estimate
			for _, s := range new {
				mean += s.Weight * s.Rewards / float64(s.Rollouts)
			}
			if math.Abs(task.Estimate-mean) > 1e-12 {
				t.Errorf("task %d is %v, want %v", i, task.Estimate, mean)
			}
			want += mean / float64(len(again.Rows))
		}
		if math.Abs(again.Estimate-want) > 1e-12 || !(again.StandardError < r.StandardError) || again.Extends != first.settings.Folder {
			t.Errorf("estimate %v ± %v, want %v and less than %v", again.Estimate, again.StandardError, want, r.StandardError)
		}
		sound(t, l.settings.Folder, again)
		first, r = l, again
	}
}

// TestAnExtensionOfWhatIsNotThere damages the evaluation that is extended.
func TestAnExtensionOfWhatIsNotThere(t *testing.T) {
	first := newLab(t, "hbn-async", 8, 3, quiz...)
	r := first.run()
	l := extension(t, first, r, 16)
	rows := read[rollout.Score](t, first, "scores.parquet")
	err := atomicfile.Write(filepath.Join(first.settings.Folder, "scores.parquet"), func(w io.Writer) error {
		return rowfile.Write(w, rows[:len(rows)/2], map[string]string{"speceval.schema": rollout.ScoreSchema})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evaluation.Run(t.Context(), l.settings); err == nil || len(l.asked) > 0 {
		t.Errorf("verdicts are missing: %v, %d requests", err, len(l.asked))
	}
}

// TestStoppingByWhatIsSeen reaches a standard error, and keeps to rollouts and tokens.
func TestStoppingByWhatIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		stop  evaluation.Stop
		check func(r *evaluation.Result) bool
	}{
		"se": {evaluation.Stop{StandardError: 0.05}, func(r *evaluation.Result) bool { return math.Abs(r.StandardError/0.05-1) < 0.15 }},
		// What the pilot leaves is more than this: the rest is not spent without end.
		"no se":    {evaluation.Stop{StandardError: 0.03}, func(r *evaluation.Result) bool { return r.StandardError > 0.04 && r.Rollouts < 300 }},
		"rollouts": {evaluation.Stop{Rollouts: 123}, func(r *evaluation.Result) bool { return r.Rollouts == 123 }},
		"both":     {evaluation.Stop{StandardError: 0.01, Rollouts: 140}, func(r *evaluation.Result) bool { return r.Rollouts == 140 }},
		"tokens":   {evaluation.Stop{Tokens: 700}, func(r *evaluation.Result) bool { return r.Tokens.Completion <= 700 && r.Tokens.Completion > 500 }},
	} {
		l := newLab(t, "hbn_staged", 8, 3, quiz...)
		l.settings.Setup.Stop = &c.stop
		l.settings.Setup.Design.Weight = 0.2
		if name == "no se" {
			l.settings.Setup.Design.Weight = 0.7
		}
		r := l.run()
		if !c.check(r) || recount(t, l, r) != r.Rollouts || !reflect.DeepEqual(r.Stop, &c.stop) {
			t.Errorf("%s: %d rollouts, %d tokens, ± %v", name, r.Rollouts, r.Tokens.Completion, r.StandardError)
		}
		sound(t, l.settings.Folder, r)
	}
}
