package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/profile"
)

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
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(tasks, quiz("C"))
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	all, err := benchmark.Reader{Prompts: prompts}.Read(tasks)
	if err != nil {
		t.Fatal(err)
	}
	server := imitation.New(imitation.Settings{
		Model: "m", MaxModelLen: 8192, Seed: 1, Author: fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: all}),
	})
	defer server.Close()
	if err := server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
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
`, dir, server.URL()))
	code, _, stderr := sample(t, config, out, "run")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	want(t, "run", stderr, "systems: nothing to run (the simulated fleet was calibrated for other profiles")
	read := func() profile.Profile {
		t.Helper()
		profiles, err := profile.Read(filepath.Join(out, "score", "profiles.parquet"))
		if err != nil || len(profiles) != 1 || profiles[0].Name() != "quiz__model=m" || profiles[0].TestedK != 16 {
			t.Fatalf("profiles %+v, %v", profiles, err)
		}
		return profiles[0]
	}
	before := read()
	for i, id := range before.TaskIDs {
		pass := fleet.DefaultPass("m", fleet.TaskKey{Benchmark: "quiz", ID: id})
		// Seeds make this the same draw always; within six standard errors.
		if sd := math.Sqrt(pass * (1 - pass) * 16); math.Abs(float64(before.PassCounts[i])-16*pass) > 6*sd {
			t.Errorf("%s has %d of 16, with probability %v", id, before.PassCounts[i], pass)
		}
	}
	if table, err := os.ReadFile(filepath.Join(out, "tables", "profile_ratios.csv")); err != nil || !strings.Contains(string(table), "quiz,m,12,8,hbn") {
		t.Errorf("profile_ratios.csv: %v\n%s", err, table)
	}
	if code, stdout, stderr := sample(t, config, out, "allocations"); code != 0 || !strings.Contains(stdout, "quiz,m,8,") {
		t.Errorf("allocations: exit code %d\n%s%s", code, stdout, stderr)
	}
	code, _, stderr = sample(t, config, out, "status", "--check")
	if code != 0 {
		t.Errorf("status: exit code %d\n%s", code, stderr)
	}

	write(tasks, quiz("B"))
	_, plan, _ := sample(t, config, out, "plan")
	want(t, "plan", plan, "generate  nothing to run: 1 unit fresh", "score     2 of 2 units to run", "(answers and tests)")
	if code, _, stderr := sample(t, config, out, "run", "score"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	after := read()
	for i, id := range after.TaskIDs {
		if sum := strings.HasPrefix(id, "sum"); sum && after.PassCounts[i] != before.PassCounts[i] || !sum && before.PassCounts[i] == 16 && after.PassCounts[i] != 0 {
			t.Errorf("%s has %d of 16 by the other answer, %d before", id, after.PassCounts[i], before.PassCounts[i])
		}
	}
	code, stdout, stderr := sample(t, config, out, "compare", filepath.Join(out, "score", "profiles.parquet"), filepath.Join(out, "score", "profiles.parquet"))
	if code != 0 || !strings.Contains(stdout, "agrees") {
		t.Errorf("compare: exit code %d\n%s%s", code, stdout, stderr)
	}
}
