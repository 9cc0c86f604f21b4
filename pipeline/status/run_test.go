package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"speceval/internal/terminal/progress"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/runlog"
)

// screen is what a console shows of a run, by the clock of a test.
type screen struct {
	*Run
	w     strings.Builder
	clock time.Time
	units []dag.Record
}

func newScreen(plan *dag.Plan, c progress.Console, estimate float64) *screen {
	s := &screen{clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), units: plan.Stages[0].Run}
	c.W, c.Now = &s.w, func() time.Time { return s.clock }
	s.Run = NewRun(c, plan, estimate)
	return s
}

// on says how far a unit is, and done that it is done.
func (s *screen) on(i, done, total, stored int) {
	s.Observe(dag.Event{Unit: s.units[i].Unit, Progress: &dag.Progress{Done: done, Total: total, Stored: stored, What: "rollouts"}})
}

func (s *screen) done(i int, m dag.Manifest) {
	s.Observe(dag.Event{Unit: s.units[i].Unit, Manifest: &m})
}

// ends ends the run, which has written these lines.
func (s *screen) ends(t *testing.T, lines string) {
	t.Helper()
	if s.End(); s.w.String() != lines {
		t.Errorf("got\n%s\nwant\n%s", s.w.String(), lines)
	}
}

func TestLongUnitsGetALineEveryFiveSeconds(t *testing.T) {
	s := newScreen(manyUnits(t, 2), progress.Console{}, 0)
	for second := range 11 { // 100 a second, of which 1000 had been stored
		s.Observe(dag.Event{Unit: s.units[0].Unit, Progress: &dag.Progress{Done: 1000 + 100*second, Total: 20480, Stored: 1000, What: "rollouts", Detail: "1.2 M tokens"}})
		if second < 10 {
			s.clock = s.clock.Add(time.Second)
		}
	}
	s.ends(t, `2026-11-21T12:00:05Z replay/0 1,500/20,480 rollouts, 100/s, 1.2 M tokens, about 3 min 10 s left
2026-11-21T12:00:10Z replay/0 2,000/20,480 rollouts, 100/s, 1.2 M tokens, about 3 min 5 s left
2026-11-21T12:00:10Z replay/0: 2,000 of 20,480 rollouts are stored, and the next run goes on from there
`)
}

func TestTheBarShowsPartsOfUnits(t *testing.T) {
	s := newScreen(manyUnits(t, 2), progress.Console{Terminal: true, Columns: 70}, 0)
	at := func(want string) {
		t.Helper()
		drawn := strings.Split(s.w.String(), "\r")
		if got := strings.TrimSpace(drawn[len(drawn)-1]); got != want {
			t.Errorf("the bar says\n%s\nwant\n%s", got, want)
		}
		s.clock = s.clock.Add(2 * time.Second)
	}
	s.Observe(dag.Event{Unit: s.units[0].Unit})
	at("replay, time left unknown   0% |          |")
	s.on(0, 5, 10, 0)
	at("replay 5/10 rollouts, about 6.0 s left  25% |██        |")
	s.on(1, 1, 10, 0)
	at("replay 6/20 rollouts, about 9.3 s left  30% |███       |")
	s.on(0, 9, 10, 0)
	at("replay 10/20 rollouts, 1.0/s, about 6.0 s left  50% |█████     |")
	s.done(0, dag.Manifest{})
	at("replay 1/10 rollouts, about 6.5 s left  55% |█████     |")
	s.on(1, 7, 10, 4)
	at("replay 7/10 rollouts, 1.0/s, about 3.3 s left  75% |███████   |") // three of the six that this run has to make
	s.done(1, dag.Manifest{})
	at("replay, about 0.0 s left 100% |██████████|")
	if s.End(); !strings.HasSuffix(s.w.String(), " \r") {
		t.Errorf("the bar stays: %q", s.w.String())
	}
}

func TestAClockThatGoesBackSilencesNothing(t *testing.T) {
	s := newScreen(manyUnits(t, 100), progress.Console{}, 0)
	s.on(0, 10, 100, 0)
	s.clock = s.clock.Add(-time.Hour)
	s.on(0, 20, 100, 0)
	s.done(0, dag.Manifest{})
	s.ends(t, `2026-11-21T11:00:00Z replay/0 20/100 rollouts
2026-11-21T11:00:00Z replay 1/100, 0 in 0.0 s, time left unknown
`)
}

// manyUnits is a plan of n units of one stage.
func manyUnits(t *testing.T, n int) *dag.Plan {
	t.Helper()
	stage := dag.Stage{Name: "replay"}
	for i := range n {
		stage.Units = append(stage.Units, dag.Unit{
			ID: fmt.Sprint(i), Outputs: []string{fmt.Sprint("f", i)},
			Run: func(context.Context, *dag.Job) error { return nil },
		})
	}
	return dagtest.Plan(t, []dag.Stage{stage}, t.TempDir(), dag.Selection{})
}

func TestManyUnitsGetALineEveryFiveSeconds(t *testing.T) {
	s := newScreen(manyUnits(t, 100), progress.Console{}, 0)
	for i := range s.units {
		s.clock = s.clock.Add(time.Second)
		s.done(i, dag.Manifest{WallSeconds: 1})
	}
	s.End()
	got := strings.Split(strings.TrimSpace(s.w.String()), "\n")
	if len(got) != 20 || !strings.Contains(got[0], "replay 5/100, 4 in 1.0 s, about 1 min 35 s left") || !strings.Contains(got[19], "replay 100/100") {
		t.Errorf("%d lines:\n%s", len(got), s.w.String())
	}
}

func TestLinesSayWhereAUnitRan(t *testing.T) {
	s := newScreen(manyUnits(t, 2), progress.Console{}, 0)
	for i, queue := range []*dag.Queue{nil, {Job: "12_3", QueueSeconds: 40, Attempt: 1}} {
		s.done(i, dag.Manifest{WallSeconds: 200, Origin: dag.Origin{Host: "n1", Queue: queue}})
	}
	want(t, "the lines", s.w.String(), "replay 1/2, 0 in 3 min 20 s, about ", "replay 2/2, 1 in 3 min 20 s on n1 as job 12_3 after 40 s in the queue, about ")
}

// want checks that a text has every part.
func want(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestWhatAnEstimateGoesBy(t *testing.T) {
	for _, test := range []struct {
		e    dag.Estimate
		jobs bool
		want string
	}{
		{dag.Estimate{Unknown: 3}, false, "time unknown"},
		{dag.Estimate{Seconds: 61}, false, "about 1 min 1 s by earlier runs"},
		{dag.Estimate{Seconds: 61, Stated: 2}, false, "about 1 min 1 s at this machine's speed"},
		{dag.Estimate{Seconds: 0.5, Stated: 2, Unknown: 1}, false, "less than 1 s at this machine's speed, and 1 unit of unknown time"},
		{dag.Estimate{Seconds: 154000, Stated: 9}, true, "about 42.8 core-hours at this machine's speed"},
	} {
		if got := estimated(test.e, test.jobs); got != test.want {
			t.Errorf("%+v: %s, want %s", test.e, got, test.want)
		}
	}
}

func TestPlansOfJobs(t *testing.T) {
	m := Machines{Workers: 2, Elements: map[string]float64{"replay": 300}}
	run := make([]dag.Record, 120)
	for i := range run {
		run[i].Seconds = 30
	}
	for name, want := range map[string]string{
		"replay": "120 of 120 units to run, about 1 core-hours by earlier runs, in about 12 jobs", // of five minutes
		"report": "120 of 120 units to run, about 30 min 0 s by earlier runs",                     // here
	} {
		if got := m.Todo(&dag.StagePlan{Stage: &dag.Stage{Name: name, Units: make([]dag.Unit, len(run))}, Run: run}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestWhatUnitsAreAt has units on other machines, whose events come last, and more failures than
// a text lists.
func TestWhatUnitsAreAt(t *testing.T) {
	failed := runlog.Event{Stage: "replay", What: runlog.Failed, Error: "out of memory\nat last", Job: "12_5", Host: "n2", Log: "element-5.log"}
	var events []runlog.Event
	for i := range 9 {
		failed.ID = fmt.Sprint(i)
		events = append(events, failed)
	}
	events = append(events, runlog.Event{Stage: "replay", ID: "0", What: runlog.Queued}, runlog.Event{Stage: "replay", ID: "1", What: runlog.Started},
		runlog.Event{Stage: "unknown", ID: "x", What: runlog.Started})
	st := Of("out", "pid 7", manyUnits(t, 8), events) // the ninth is fresh since
	if r := st.Stages[0]; r.Queued != 1 || r.Running != 1 || r.Failed != 6 || len(st.Failures) != 6 {
		t.Errorf("%+v, failures %+v", r, st.Failures)
	}
	var b strings.Builder
	st.Text(&b, 0)
	want(t, "status", b.String(), "missing: 8 missing, 1 queued, 1 running, 6 failed; never run", "a run is under way: pid 7\n",
		"  replay/3: out of memory\n    element-5.log, job 12_5, on n2\n", "  and 1 unit before: `speceval status --json`\n")
	if strings.Contains(b.String(), "replay/2:") {
		t.Errorf("more than five failures:\n%s", b.String())
	}
}

// narrow is a terminal; longest is the longest line that it was told to show, in
// columns, with what comes between two carriage returns as a line.
const narrow = 60

func longest(text string) (line string) {
	for _, l := range strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if utf8.RuneCountInString(l) > utf8.RuneCountInString(line) {
			line = l
		}
	}
	return line
}

// TestEverythingFitsANarrowTerminal changes a configuration, and hundreds of inputs of a stage: status
// and plan say so in lines, and status --json has all.
func TestEverythingFitsANarrowTerminal(t *testing.T) {
	const id = "design/hbn/n=30/replicate="
	stages := []dag.Stage{{Name: "generate", Satisfied: "published profiles stand in: data/profiles.parquet"},
		{Name: "replay", Shared: map[string]string{"experiment.budgets": "all budgets share the paths of common random numbers"}}}
	for i := range 3 {
		stages[1].Units = append(stages[1].Units, dag.Unit{ID: fmt.Sprint(id, i), Outputs: []string{fmt.Sprint("f", i)}, Cost: 2000, Config: map[string]string{"experiment.budgets": "[8,16]"},
			Run: func(_ context.Context, job *dag.Job) error {
				job.Note("one note of all")
				return job.Write(fmt.Sprint("f", i), -1, func(io.Writer) error { return nil })
			}})
	}
	stages = append(stages, dag.Stage{Name: "report", Units: []dag.Unit{{ID: "a", Outputs: []string{"a"}, Run: func(_ context.Context, job *dag.Job) error {
		return job.Write("a", -1, func(io.Writer) error { return nil })
	}}}})
	out := t.TempDir()
	dagtest.Run(t, stages, out)
	for i := range 300 {
		stages[2].Units[0].Sources = append(stages[2].Units[0].Sources, dag.Source{Name: fmt.Sprintf("data/profile-%d.parquet", i), SHA256: "1111"})
	}
	for i := range stages[1].Units {
		stages[1].Units[i].Config = map[string]string{"experiment.budgets": "[8,24]"}
	}
	plan := dagtest.Plan(t, stages, out, dag.Selection{})
	var planned, why, stood, bars, document strings.Builder
	m := Machines{Workers: 2}
	st := Of(out, "", plan, nil)
	st.Stages[1].Failed = 1
	st.Failures = []runlog.Event{{Stage: "replay", ID: id + "0", Error: "the server on port 8000 has not answered within a minute", Log: "logs/run-1.jsonl"}}
	st.Run = "pid 7 on a host of a rather long name, since noon"
	clock := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	bar := NewRun(progress.Console{W: &bars, Terminal: true, Columns: narrow, Now: func() time.Time { clock = clock.Add(time.Minute); return clock }}, plan, m.Seconds(plan))
	r := dag.Runner{Executor: dagtest.Serial{}, Now: time.Now, Observe: bar.Observe}
	if err := errors.Join(WritePlan(&planned, plan, m, narrow), WriteWhy(&why, &plan.Stages[1], m, true, narrow), st.Text(&stood, narrow), json.NewEncoder(&document).Encode(st), r.Run(t.Context(), nil, plan)); err != nil {
		t.Error(err)
	}
	for what, text := range map[string]string{"plan": planned.String(), "why": why.String(), "status": stood.String(), "the bar": bars.String()} {
		if l := longest(text); utf8.RuneCountInString(l) > narrow {
			t.Errorf("%s has a line of %d columns: %q", what, utf8.RuneCountInString(l), l)
		}
	}
	want(t, "plan", strings.Join(strings.Fields(planned.String()), " "), "3 units: experiment.budgets [8,16] → [8,24] experiment.budgets changes 3 units: all budgets share the paths of common random numbers")
	want(t, "why", strings.Join(strings.Fields(why.String()), " "), "3 of 3 units to run, about", "all budgets share")
	want(t, "status", stood.String(), "replay    stale: 3 stale, 1 failed;")
	for what, text := range map[string]string{"status": stood.String(), "plan": planned.String()} {
		want(t, what, strings.Join(strings.Fields(text), " "), "source data/profile-0.parquet added", " more")
	}
	want(t, "status --json", document.String(), "source data/profile-0.parquet added", "source data/profile-299.parquet added")
	want(t, "the bar", bars.String(), "replay, about ", " left")
	if n := strings.Count(bars.String(), "one note of all"); n != 1 {
		t.Errorf("the note of all units is there %d times:\n%s", n, bars.String())
	}
}

func TestThePaceStartsFromThePlan(t *testing.T) {
	s := newScreen(manyUnits(t, 100), progress.Console{}, 300)
	start := s.clock
	for done, want := range []string{"about 5 min 0 s left", "about 4 min 57 s left", "about 4 min 54 s left"} {
		if got := s.timeLeft(start.Add(time.Duration(done) * time.Minute)); got != want {
			t.Errorf("after %d units: %s, want %s", done, got, want)
		}
		s.done(done, dag.Manifest{})
	}
	for i := 3; i < 50; i++ {
		s.done(i, dag.Manifest{})
	}
	if got, want := s.timeLeft(start.Add(10*time.Minute)), "about 10 min 0 s left"; got != want {
		t.Errorf("half way after ten minutes: %s, want %s", got, want)
	}
}

// TestNoTimeIsLeftToGuess has a unit of unknown time, such as one that asks servers, beside
// others: what is left is not what the others take.
func TestNoTimeIsLeftToGuess(t *testing.T) {
	plan := manyUnits(t, 3)
	for i, seconds := range []float64{2, 2, -1} {
		plan.Stages[0].Run[i].Seconds = seconds
	}
	s := newScreen(plan, progress.Console{}, 4)
	for i, want := range []string{"time left unknown", "time left unknown", "about 1.9 s left"} {
		if got := s.timeLeft(s.clock.Add(2 * time.Second)); got != want {
			t.Errorf("after %d units: %s, want %s", i, got, want)
		}
		s.done(2*i%3, dag.Manifest{})
	}
}
