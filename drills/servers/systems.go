package servers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/profile"
)

// Systems is the drill of the systems stage over HTTP. It serves made tasks by the
// simulated fleet, kills the stage with SIGKILL and a replica in the middle of timed runs,
// and lets it end. Then it checks, by the Parquet files and the servers' own metrics: exact
// counts, the same rollouts as under the virtual clock, barriers, windows, speculation and
// its end, which runs were kept and which was void.
var Systems = lab.Drill{
	Name:   "drill-systems",
	About:  "timed runs over HTTP, through the loss of a replica and of the program, checked by their files (a minute)",
	Limit:  15 * time.Minute,
	Shared: []string{"speceval", "dir"},
	Flags: func(flags *flag.FlagSet) func(ctx context.Context, l *lab.Lab) error {
		short := flags.Bool("short", false, "one profile at one budget")
		speed := flags.Float64("speed", 8, "of the fleet")
		return func(ctx context.Context, l *lab.Lab) error {
			l.Small = *short
			s, err := newSystems(l, *speed)
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.serve(ctx); err != nil {
				return err
			}
			if err := s.allocate(ctx, s.settings); err != nil {
				return err
			}
			l.Printf("%d settings, 4 strategies, on %d replicas of %d requests, at %g times their speed", len(s.settings), replicas, window, *speed)
			for _, step := range []func(context.Context) error{s.killed, s.bereft, s.last} {
				if err := step(ctx); err != nil {
					return err
				}
			}
			return s.check()
		}
	},
}

// The worker of the paper.
const (
	replicas = 8
	window   = 32
)

// systems is the experiment, its fleet, and what happened.
type systems struct {
	*trial
	speed       float64
	experiment  lab.Settings
	models      []string
	budgets     []int
	settings    []setting
	fleet       []*lab.Process // of each model, without the victim
	victim      *lab.Process   // a replica of the first model, by itself
	victimsPort int
	urls        []string // of all replicas, the victim's first

	kept  map[string]string // runs that were stored when the last attempt began, and when each was begun
	voids []string          // lines about void runs, of the attempt whose replica was killed

	before, after, again []sample // when the last attempt began, when it had ended, and after another one
}

// systemsProfiles are the published profiles that are run: of the first model, one whose
// pilot fits the worker's places, and a small one; of another, a large one.
var systemsProfiles = []string{"aime24__model=qwen3_5_4b", "gpqa_diamond__domain_biology__model=qwen3_5_4b", "math_100__model=qwen2_5_3b"}

func newSystems(l *lab.Lab, speed float64) (*systems, error) {
	s := &systems{speed: speed, budgets: []int{8, 32}[:l.Often(1, 2)]}
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	releases, err := coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, published)
	if err != nil {
		return nil, err
	}
	var profiles []profile.Profile
	var models, benchmarks []lab.Settings
	for _, p := range published {
		if !slices.Contains(systemsProfiles[:l.Often(1, len(systemsProfiles))], p.Name()) {
			continue
		}
		profiles = append(profiles, p)
		benchmarks = append(benchmarks, lab.Settings{"id": p.Benchmark})
		for _, budget := range s.budgets {
			s.settings = append(s.settings, setting{profile: p, digest: releases.Digest(p), seed: masterSeed, budget: budget})
		}
		if slices.Contains(s.models, p.Model) {
			continue
		}
		s.models = append(s.models, p.Model)
		model := lab.Settings{"id": p.Model, "max_sequences": 128}
		if strings.HasPrefix(p.Model, "qwen3_5") {
			model["thinking"], model["thinking_budget"], model["reasoning_parser"] = true, 64, "qwen3"
		}
		models = append(models, model)
	}
	if err := writeInputs(l, profiles...); err != nil {
		return nil, err
	}
	s.experiment = lab.Settings{
		"experiment": lab.Settings{"seed": masterSeed, "budgets": s.budgets},
		"corpus":     lab.Settings{"profiles": l.Path(profilesFile), "tasks": l.Path(tasksFolder)},
		"sampling":   lab.Settings{"max_tokens": 1200, "context_tokens": 4096},
		"replay":     replayPrecision(1024),
		"systems":    lab.Settings{"replicas": replicas, "window": window, "repeats": 1},
		"serving":    lab.Settings{"outage_seconds": 60},
		"model":      models,
		"benchmark":  benchmarks,
	}
	s.trial, err = newTrial(l, "out", s.experiment)
	return s, err
}

// serve starts a fleet of the worker's size for each model, and names its servers in the
// configuration.
func (s *systems) serve(ctx context.Context) error {
	for i, model := range s.models {
		port, err := lab.FreePorts(replicas)
		if err != nil {
			return err
		}
		first := port
		if i == 0 {
			if s.victim, err = s.replicas(ctx, "victim", model, 1, port); err != nil {
				return err
			}
			s.victimsPort = port
			first++
		}
		fleet, err := s.replicas(ctx, "fleet-"+model, model, replicas-(first-port), first)
		if err != nil {
			return err
		}
		s.fleet = append(s.fleet, fleet)
		for n := range replicas {
			s.urls = append(s.urls, urlOn(port+n))
		}
	}
	s.experiment["worker"] = []lab.Settings{{"name": "fleet", "urls": s.urls}}
	s.flags = []string{"--set", "systems.engine=vllm"}
	return lab.WriteConfig(s.config, s.experiment)
}

// urlOn is the server on a port of this machine.
func urlOn(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// replicas starts so many replicas of a model, from a port on.
func (s *systems) replicas(ctx context.Context, name, model string, n, port int) (*lab.Process, error) {
	var urls []string
	for i := range n {
		urls = append(urls, urlOn(port+i))
	}
	return s.Serve(ctx, name+".txt", s.config, urls, "--model", model, "--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--speed", fmt.Sprint(s.speed))
}

func (s *systems) close() {
	for _, p := range append(s.fleet, s.victim) {
		if p != nil {
			p.Kill()
		}
	}
}

// killed runs the stage until a run is kept and the next one is under way, and kills it.
func (s *systems) killed(ctx context.Context) error {
	p, err := s.start("run", "systems")
	if err != nil {
		return err
	}
	defer p.Kill()
	busy := 0
	err = p.Until(ctx, func() (bool, error) {
		kept, err := keptRuns(s.out, s.settings)
		if err != nil || len(kept) == 0 {
			return false, err
		}
		samples, err := sampled(ctx, s.urls)
		busy = inFlight(samples)
		return busy > replicas, err // more than a warm-up
	})
	if err != nil {
		return fmt.Errorf("the run that is killed: %w", err)
	}
	p.Kill()
	at, left := time.Now(), busy
	if s.kept, err = keptRuns(s.out, s.settings); err != nil {
		return err
	}
	for left > 0 {
		samples, err := sampled(ctx, s.urls)
		if err != nil {
			return err
		}
		left = inFlight(samples)
	}
	s.Printf("speceval killed with %d requests at the servers, which had none %.2f s later; %d runs were kept", busy, time.Since(at).Seconds(), len(s.kept))
	return nil
}

// bereft runs the stage, kills a replica in the middle of a run and starts it again.
func (s *systems) bereft(ctx context.Context) error {
	p, err := s.start("run", "systems")
	if err != nil {
		return err
	}
	defer p.Kill()
	err = p.Until(ctx, func() (bool, error) {
		samples, err := sampled(ctx, s.urls[:1])
		return err == nil && inFlight(samples) >= window/8, err
	})
	if err != nil {
		return fmt.Errorf("the run that loses a replica: %w", err)
	}
	s.victim.Kill()
	s.Printf("replica %s killed in the middle of a run", s.urls[0])
	if s.victim, err = s.replicas(ctx, "victim-again", s.models[0], 1, s.victimsPort); err != nil {
		return err
	}
	if err := p.Wait(ctx); err != nil {
		return err
	}
	if p.Code() != 1 || !strings.Contains(p.Last(), "runs are void") {
		return fmt.Errorf("the run that loses a replica: exit code %d: %s", p.Code(), p.Last())
	}
	if s.voids, err = voidRuns(s.out); err != nil {
		return err
	}
	kept := s.kept
	if s.kept, err = keptRuns(s.out, s.settings); err != nil {
		return err
	}
	return unchanged(kept, s.kept)
}

// last runs the stage to its end, and once more.
func (s *systems) last(ctx context.Context) (err error) {
	begin := time.Now()
	if s.before, err = sampled(ctx, s.urls); err != nil {
		return err
	}
	for _, samples := range []*[]sample{&s.after, &s.again} {
		if _, err := s.do(ctx, "run", "systems", "report"); err != nil {
			return err
		}
		if *samples, err = sampled(ctx, s.urls); err != nil {
			return err
		}
	}
	s.Printf("the last run kept %d runs; with another one it took %.1f s", len(s.kept), time.Since(begin).Seconds())
	return nil
}

// check holds the files to what they must be, and prints a line for every check.
func (s *systems) check() error {
	measured, err := readRuns(s.out, measurement.Measured, s.settings, false)
	if err != nil {
		return err
	}
	virtual, err := readRuns(s.out, measurement.Simulated, s.settings, false)
	if err != nil {
		return err
	}
	if err := runTable(s.Stdout, measured); err != nil {
		return err
	}
	checks := runChecks(measured, shape{replicas: replicas, window: window, origin: measurement.Simulated})
	return lab.Report(s.Stdout, append(checks,
		lab.Check{What: "the virtual clock selects the same rollouts, with the same rewards", Fault: sameSelection(measured, virtual)},
		lab.Check{What: "HBN-async speculated, and its surplus ended", Fault: speculated(measured, !s.Small)},
		lab.Check{What: "the lost replica voided one run alone", Fault: s.checkVoids()},
		lab.Check{What: "runs that were kept are there as they were", Fault: s.checkKept(measured)},
		lab.Check{What: "no server had a request left right after the end", Fault: s.checkIdle()},
		lab.Check{What: "servers made no more tokens than the files have", Fault: tokens(s.Stdout, measured, s.kept, tokensMade(slices.Concat(s.before, s.after)), systemsWarmUp, true)},
		lab.Check{What: "another run asked for nothing", Fault: s.checkAgain()},
		lab.Check{What: "Tables 2 and 3 have the runs", Fault: inTables(s.out, measurement.Simulated, s.budgets)},
	))
}

// systemsWarmUp is how many tokens the servers make before the runs of a setting: a
// warm-up, and a proof of the thinking budget.
const systemsWarmUp = replicas * (64 + 16)

func (s *systems) checkVoids() error {
	if len(s.voids) != 1 {
		return fmt.Errorf("%d void runs: %q", len(s.voids), s.voids)
	}
	return nil
}

func (s *systems) checkKept(all []*results) error {
	started := map[string]string{}
	for _, r := range all {
		for _, one := range r.runs {
			started[r.runName(one)] = one.Started
		}
	}
	err := unchanged(s.kept, started)
	if len(s.kept) < 2 || len(s.kept) >= len(started) {
		err = errors.Join(err, fmt.Errorf("%d of %d were kept", len(s.kept), len(started)))
	}
	return err
}

func (s *systems) checkIdle() error {
	if n := inFlight(s.after); n > 0 {
		return fmt.Errorf("%d requests", n)
	}
	return nil
}

func (s *systems) checkAgain() error {
	if made := tokensMade(slices.Concat(s.after, s.again)); made > 0 {
		return fmt.Errorf("servers made %.0f tokens", made)
	}
	return nil
}
