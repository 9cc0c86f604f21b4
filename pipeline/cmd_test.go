package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/store/profile"
)

func TestPlanShowsReasonsAndTimes(t *testing.T) {
	b := newBench(t)
	stdout, _ := b.ok("plan")
	const first = `generate  nothing to run: published profiles stand in
replay    3 of 3 units to run, time unknown
          3 units: never run
report    1 of 1 unit to run, time unknown
          1 unit: never run
total     4 units, time unknown with -j 1
`
	if stdout != first {
		t.Errorf("before any run:\n%s\nwant:\n%s", stdout, first)
	}
	b.ok("run")
	write(filepath.Join(b.out, "replay/b.txt"), "edited")
	stdout, _ = b.ok("plan --set replay.draws=4096")
	want(t, "plan", stdout,
		"replay    3 of 3 units to run, about 3.0 s by earlier runs", // a second each, by the bench's clock
		"2 units: replay.draws 8192 → 4096\n",
		"1 unit: replay.draws 8192 → 4096; output replay/b.txt is not as recorded",
		"1 unit: input replay/b.txt changed (sha256 ",
		"; 3 inputs will be remade\n",
		"total     4 units, about 4.0 s by earlier runs with -j 1")
	stdout = b.wants("plan replay -j 3 --force --set replay.draws=8192", exitDone, "2 units: forced\n", "total   3 units, about 1.0 s by earlier runs with -j 3")
	lacks(t, "a plan of replay", stdout, "report")
}

func TestWhyShowsKeysThatUnitTakes(t *testing.T) {
	b := newBench(t)
	b.ok("run")
	stdout := b.wants("why replay --set replay.draws=1024", exitDone, "replay: 3 of 3 units to run", "3 units: replay.draws 8192 → 1024", "    replay.draws 8192 → 1024\n")
	key := regexp.MustCompile(`  b  key [0-9a-f]{16} → ([0-9a-f]{16})\n`).FindStringSubmatch(stdout)
	if key == nil {
		t.Fatalf("no keys in:\n%s", stdout)
	}
	b.wants("unit replay "+key[1]+" --set replay.draws=1024", exitDone, "replay/b done in")
	b.wants("plan replay --set replay.draws=1024", exitDone, "2 of 3 units to run")

	b.wants("why report --set replay.draws=1024", exitDone, "→ (depends on inputs to be made)", "input replay/a.txt will be remade", "input replay/b.txt changed")
	b.wants("why generate", exitDone, "generate: nothing to run: published profiles stand in")
}

func TestStatusCountsStates(t *testing.T) {
	b := newBench(t)
	b.ok("run")
	write(filepath.Join(b.out, "manifests/replay/c.json"), "{")
	st, stages := b.status("")
	if st.Fresh || st.Out != b.out || len(st.Stages) != 3 {
		t.Errorf("status %+v", st)
	}
	if s := stages["replay"]; s.State != "stale" || s.Fresh != 2 || s.Stale != 1 || s.Missing != 0 ||
		len(s.Reasons) != 1 || !strings.Contains(s.Reasons[0].Why, "manifests/replay/c.json is damaged") {
		t.Errorf("replay: %+v", s)
	}
	b.wants("status", exitDone, "replay    stale: 2 fresh, 1 stale; its manifest cannot be used", "generate  satisfied: published")
}

func TestRunSaysWhatIsStaleNow(t *testing.T) {
	b := newBench(t)
	b.ok("run")
	b.wants("run replay --set replay.draws=1024", exitDone, "replay: 3 of 3 units to run, about 3.0 s", "stale now: report (run `speceval run report --set replay.draws=1024`)", "CPU", "peak memory")
	b.wants("run replay --force --set replay.draws=1024", exitDone, "stale now: report") // the same bytes
	b.ok("run --set replay.draws=1024")
	lacks(t, "a run that made the same bytes", b.wants("run replay --force --set replay.draws=1024", exitDone), "stale now")
}

func TestRunWarnsOfStaleInputs(t *testing.T) {
	b := newBench(t)
	b.ok("run")
	stderr := b.wants("run report --force --set replay.draws=1024", exitDone, "warning: replay is stale (3 units: replay.draws 8192 → 1024); report uses its stored outputs")
	lacks(t, "a run that made nothing stale", stderr, "stale now")
}

func TestSecondInterruptStopsUnitsInFlight(t *testing.T) {
	b := newBench(t)
	b.hook = func(ctx context.Context, unit string) error {
		if unit == "replay/b" {
			b.interrupts <- os.Interrupt
			b.interrupts <- os.Interrupt
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	b.wants("run", exitInterrupted, "interrupt again to stop them", "stopping the units in flight", "interrupted: 3 units not run")
	b.hook = nil
	b.wants("run", exitDone, "replay: 2 of 3 units to run", "3 units done")
}

// quiz is a task file of twelve tasks whose answers need neither judge nor
// sandbox.
func quiz(answer string) string {
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, `{"task_id":"sum-%d","prompt":"What is %d+%d?","answer":"%d","scorer":"math"}`+"\n", i, i, 17*i, 18*i)
		fmt.Fprintf(&b, `{"task_id":"pick-%d","prompt":"Pick %d.","answer":%q,"scorer":"choice","options":["red","green","blue","grey"]}`+"\n", i, i, answer)
	}
	return b.String()
}

// TestRolloutsBecomeTables runs all five stages on rollouts of servers, and then
// mends an answer.
func TestRolloutsBecomeTables(t *testing.T) {
	dir := t.TempDir()
	tasks := filepath.Join(dir, "quiz.jsonl")
	write(tasks, quiz("C"))
	url := serves(t, imitation.Settings{Model: "m", MaxModelLen: 8192, Seed: 1}, fleet.AuthorSettings{Model: "m", Tasks: tasksIn(tasks)})
	config, out := filepath.Join(dir, "experiments.toml"), filepath.Join(dir, "out")
	write(config, fmt.Sprintf(`[experiment]
budgets = [8]
[corpus]
source = "vllm"
rollouts_per_task = 16
tasks = %q
[replay]
draws = 64
replicates = 2
resamples = 2
resample_draws = 2
[[model]]
id = "m"
[[benchmark]]
id = "quiz"
[sampling]
max_tokens = 4096
context_tokens = 8192
[[worker]]
name = "here"
urls = [%q]
`, dir, url))
	runs := func(line string) string {
		t.Helper()
		code, stdout, stderr := sample(t, config, out, words(line)...)
		if code != exitDone {
			t.Errorf("%s: exit code %d\n%s", line, code, stderr)
		}
		return stdout + stderr
	}
	want(t, "run", runs("run"), "systems: nothing to run: the simulated fleet was calibrated for other profiles")
	profileOf := func() profile.Profile {
		t.Helper()
		profiles, err := profile.Read(filepath.Join(out, "score", "profiles.parquet"))
		if err != nil || len(profiles) != 1 || profiles[0].Name() != "quiz__model=m" || profiles[0].TestedK != 16 {
			t.Fatalf("profiles %+v, %v", profiles, err)
		}
		return profiles[0]
	}
	before := profileOf()
	for i, id := range before.TaskIDs {
		pass := fleet.DefaultPass("m", fleet.TaskKey{Benchmark: "quiz", ID: id})
		// Seeds make this the same draw always; within six standard errors.
		if sd := math.Sqrt(pass * (1 - pass) * 16); math.Abs(float64(before.PassCounts[i])-16*pass) > 6*sd {
			t.Errorf("%s has %d of 16, with probability %v", id, before.PassCounts[i], pass)
		}
	}
	want(t, "profile_ratios.csv", read(filepath.Join(out, "tables", "profile_ratios.csv")), "quiz,m,12,8,hbn")
	want(t, "allocations", runs("allocations"), "quiz,m,8,")
	runs("status --check")

	write(tasks, quiz("B"))
	want(t, "plan", runs("plan"), "generate  nothing to run: 1 unit fresh", "score     2 of 2 units to run", "(answers and tests)", "its hash is of whole tasks, and changes with their prompts, too")
	runs("run score")
	after := profileOf()
	for i, id := range after.TaskIDs {
		if sum := strings.HasPrefix(id, "sum"); sum && after.PassCounts[i] != before.PassCounts[i] || !sum && before.PassCounts[i] == 16 && after.PassCounts[i] != 0 {
			t.Errorf("%s has %d of 16 by the other answer, %d before", id, after.PassCounts[i], before.PassCounts[i])
		}
	}
	made := filepath.Join(out, "score", "profiles.parquet")
	want(t, "compare", runs("compare "+made+" "+made), "agrees")
}
