package status

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/executor"
	"speceval/pipeline/runlog"
)

// want checks that a text has every part.
func want(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// TestReasonsFitTheirLine changes hundreds of inputs of a stage: status and plan
// say so in a line, and status --json has all.
func TestReasonsFitTheirLine(t *testing.T) {
	out := t.TempDir()
	table := func(sum string) []dag.Stage {
		stage := dag.Stage{Name: "report", Version: 1}
		for _, id := range []string{"a", "b"} {
			u := dag.Unit{ID: id, Outputs: []string{id}, Run: func(_ context.Context, job *dag.Job) error {
				return job.Write(id, -1, func(io.Writer) error { return nil })
			}}
			for i := range 300 {
				u.Sources = append(u.Sources, dag.Source{Name: fmt.Sprintf("data/profile-%d.parquet", i), SHA256: sum})
			}
			stage.Units = append(stage.Units, u)
		}
		return []dag.Stage{stage}
	}
	dagtest.Run(t, table("1111"), out)
	plan := dagtest.Plan(t, table("2222"), out, dag.Selection{})
	st := Of(out, plan)
	var text, planned, document strings.Builder
	for _, err := range []error{st.Text(&text), WritePlan(&planned, plan, Machines{Workers: 1}), st.JSON(&document)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range strings.Split(text.String()+planned.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 160 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	want(t, "status", text.String(), "source data/profile-0.parquet changed", ", and 299 more")
	want(t, "plan", planned.String(), "source data/profile-0.parquet changed", " more")
	want(t, "status --json", document.String(), "source data/profile-0.parquet changed", "source data/profile-299.parquet changed")
}

func TestWhatAnEstimateGoesBy(t *testing.T) {
	for _, test := range []struct {
		e    dag.Estimate
		want string
	}{
		{dag.Estimate{Unknown: 3}, "time unknown"},
		{dag.Estimate{Seconds: 61, Earlier: 2}, "about 1 min 1 s by earlier runs"},
		{dag.Estimate{Seconds: 61, Stated: 2}, "about 1 min 1 s by what such units took elsewhere"},
		{dag.Estimate{Seconds: 0.5, Stated: 2, Earlier: 1, Unknown: 1}, "less than 1 s by earlier runs, and by what such units took elsewhere for 2, and 1 unit of unknown time"},
	} {
		if got := estimated(test.e); got != test.want {
			t.Errorf("%+v: %s, want %s", test.e, got, test.want)
		}
	}
	if got := coreHours(dag.Estimate{Seconds: 154000, Stated: 9}); got != "about 42.8 core-hours by what such units took elsewhere" {
		t.Errorf("got %s", got)
	}
}

func TestPlansOfJobs(t *testing.T) {
	m := Machines{Workers: 2, Elements: map[string]float64{"replay": 300}}
	run := make([]dag.UnitPlan, 120)
	for i := range run {
		run[i].Seconds = 30
	}
	for name, want := range map[string]string{
		"replay": "about 1 core-hours by earlier runs, in about 12 elements of job arrays", // of five minutes
		"report": "about 30 min 0 s by earlier runs",                                       // here
	} {
		if got := m.Estimated(&dag.StagePlan{Stage: &dag.Stage{Name: name}, Run: run}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestStatusListsTheLastFailures(t *testing.T) {
	st := Status{Stages: []Stage{{Name: "s"}}}
	var all []executor.Standing
	for i := range 7 {
		all = append(all, executor.Standing{Unit: dag.Ref{Stage: "s", Unit: fmt.Sprint(i)}, State: runlog.Failed, Error: "e", Log: "l"})
	}
	st.Add(all, "")
	var b strings.Builder
	if err := st.Text(&b); err != nil {
		t.Fatal(err)
	}
	want(t, "status", b.String(), "  s/2: e\n", "  s/6: e\n", "  and 2 units before: `speceval status --json`\n")
	if strings.Contains(b.String(), "s/1") || len(st.Failures) != 7 {
		t.Errorf("%d failures, and\n%s", len(st.Failures), b.String())
	}
}
