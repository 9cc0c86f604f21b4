package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/experiment"
)

// TestReasonsFitTheirLine changes hundreds of inputs of a stage: status and plan
// say so in a line, and status --json tells all.
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
	st := statusOf(out, plan)
	var text, planned, document strings.Builder
	for _, err := range []error{st.text(&text), writePlan(&planned, plan, &opened{Experiment: &experiment.Experiment{Workers: 1}}), st.json(&document)} {
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

func TestWithinCountsWhatDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		columns int
		want    string
	}{
		{20, "alpha, beta, γάμμα"},
		{18, "alpha, beta, γάμμα"},
		{17, "alpha, and 2 more"},
		{16, "alp…, and 2 more"},
		{3, "…, and 2 more"},
	} {
		if got := within([]string{"alpha", "beta", "γάμμα"}, test.columns); got != test.want {
			t.Errorf("within %d columns: %q, want %q", test.columns, got, test.want)
		}
	}
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
	o := &opened{Experiment: &experiment.Experiment{Workers: 2, Executor: config.Default().Executor}}
	o.Executor.Kind = config.ExecutorSlurm
	run := make([]dag.UnitPlan, 120)
	for i := range run {
		run[i].Seconds = 30
	}
	for name, want := range map[string]string{
		"replay": "about 1 core-hours by earlier runs, in about 12 elements of job arrays", // of five minutes
		"report": "about 30 min 0 s by earlier runs",                                       // here
	} {
		if got := o.estimated(&dag.StagePlan{Stage: &dag.Stage{Name: name}, Run: run}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
