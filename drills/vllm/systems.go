package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	process "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/profile"
)

// trial is where strategies are timed: a folder with an experiment, and what
// its one profile is run at.
type trial struct {
	options
	dir      string
	profile  profile.Profile
	settings []timed.Setting
}

// The trial's experiment. The model is one of the paper's by name, for its FLOP
// coefficients, and the dense model without weights in fact.
const (
	timedModel  = "qwen2_5_3b"
	timedTokens = 150
)

var timedBudgets = []int{8, 16}

// lookEvery is between two looks at the servers' metrics.
const lookEvery = 100 * time.Millisecond

// systems has the program time every strategy on two servers that it launches
// itself, and holds what it leaves to what it must be.
func systems(ctx context.Context, o options, dir string, stdout io.Writer) error {
	t := &trial{options: o, dir: dir, profile: quiz("quiz", timedModel)}
	for _, budget := range timedBudgets {
		t.settings = append(t.settings, timed.Setting{Profile: t.profile, Digest: t.profile.SHA256(), Seed: 42, Budget: budget})
	}
	if err := timed.WriteInputs(dir, []profile.Profile{t.profile}); err != nil {
		return err
	}
	if err := os.WriteFile(t.path("experiments.toml"), []byte(t.configuration()), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "4 strategies at 2 budgets on two real servers that speceval launches\n")
	samples, err := t.run(ctx, stdout)
	if err != nil {
		return err
	}
	return t.check(samples, stdout)
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// configuration is the experiment, on the worker of the other parts.
func (t *trial) configuration() string {
	return fmt.Sprintf(`[experiment]
budgets = [8, 16]

[corpus]
profiles = %q
tasks = %q

[[model]]
id = %q
path = %q
served = "dense"
max_sequences = %d

[[benchmark]]
id = "quiz"

[sampling]
max_tokens = %d
context_tokens = %d

[replay]
draws = 1024
replicates = 2
quadrature_order = 8

[systems]
engine = "vllm"
replicas = 2
window = %d
repeats = 1

%s`, t.path(timed.ProfilesFile), t.path(timed.TasksFolder), timedModel, model(t.options, "dense").Path, sequences,
		timedTokens, contextTokens, sequences, launched(t.options, "dense"))
}

// speceval runs a command of the program to its end, and says what it printed.
func (t *trial) speceval(ctx context.Context, name string, words ...string) (string, error) {
	output := t.path(name + ".txt")
	p, err := process.StartProgram(output, t.environment, t.binary, append(words, "--config", t.path("experiments.toml"), "--out", t.path("out"))...)
	if err != nil {
		return "", err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return "", fmt.Errorf("speceval %s: %w", words[0], err)
	}
	text, err := os.ReadFile(output)
	return string(text), err
}

// run runs everything, the servers watched.
func (t *trial) run(ctx context.Context, stdout io.Writer) ([]timed.Sample, error) {
	if _, err := t.speceval(ctx, "replay", "run", "replay"); err != nil {
		return nil, err
	}
	text, err := t.speceval(ctx, "allocations", "allocations")
	if err != nil {
		return nil, err
	}
	if err := timed.ReadAllocations(text, t.settings); err != nil {
		return nil, err
	}
	urls := []string{fmt.Sprintf("http://127.0.0.1:%d", firstPort), fmt.Sprintf("http://127.0.0.1:%d", firstPort+1)}
	watch, err := timed.Start(urls, lookEvery)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	_, err = t.speceval(ctx, "systems", "run", "systems", "report")
	samples := watch.Stop()
	if err != nil {
		return nil, err
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("no server was seen")
	}
	fmt.Fprintf(stdout, "done after %.0f s; the servers were up after %.0f s\n", time.Since(begin).Seconds(), samples[0].At.Sub(begin).Seconds())
	for port := range 2 {
		if err := process.PortFreed(ctx, firstPort+port); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// What servers make that no file tells of, at most.
const (
	unseenTokens = 256 // of a request that was aborted
	warmUpTokens = 64  // of a replica before the runs of a setting
)

// check prints what was measured, and a line for every check.
func (t *trial) check(samples []timed.Sample, stdout io.Writer) error {
	measured, err := timed.ReadAll(t.path("out"), timed.Measured, t.settings, false)
	if err != nil {
		return err
	}
	virtual, err := timed.ReadAll(t.path("out"), timed.Simulated, t.settings, true)
	if err != nil {
		return err
	}
	if err := timed.Table(stdout, measured); err != nil {
		return err
	}
	if err := timed.Predictions(stdout, t.path("out")); err != nil {
		return err
	}
	share, largest := timed.Handling(measured)
	fmt.Fprintf(stdout, "the router was at work in %.2f%% of the time, in one run in %.2f%%\n", 100*share, 100*largest)
	gone, runs, err := timed.Gone(measured, samples)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "in %d runs with aborted requests, servers were seen without them %.2f s after the allocation at the latest; %d looks, one in %v\n", runs, gone.Seconds(), len(samples), lookEvery)
	made := timed.Grown(samples)
	known, unseen := timed.Generated(measured, func(*timed.Results, timed.Run) bool { return true })
	fmt.Fprintf(stdout, "the servers made %.0f tokens, the files tell of %d; %d requests were not seen to their end\n", made, known, unseen)
	var tooMany error
	if slack := unseen*unseenTokens + len(measured)*2*warmUpTokens; made > float64(known+slack) {
		tooMany = fmt.Errorf("%.0f more, at most %d can be explained", made-float64(known), slack)
	}
	checks := timed.Checks(measured, timed.Shape{Replicas: 2, Window: sequences, Repeats: 1, Provenance: timed.Measured})
	checks = append(checks,
		timed.Check{What: "HBN-async speculated, and some of its surplus was aborted", Fault: timed.Speculated(measured, true)},
		timed.Check{What: "servers made no more tokens than the files tell of", Fault: tooMany},
		timed.Check{What: "Tables 2 and 3 have the runs", Fault: timed.Tables(t.path("out"), timed.Measured, timedBudgets)},
	)
	if len(virtual) == len(measured) {
		checks = append(checks, timed.Check{What: "the virtual clock selects the same rollouts, with the same rewards", Fault: timed.SameSelection(measured, virtual)})
	}
	return timed.Print(stdout, checks)
}
