//go:build drill

package servers_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/coupled"
	"speceval/internal/measurement"
	"speceval/internal/profile"
)

var (
	oneProfile = flag.Bool("short", false, "systems: one profile at one budget")
	speed      = flag.Float64("speed", 8, "systems: of the fleet")
)

// TestSystems is make drill-systems: the systems stage over HTTP. It serves made tasks by
// the simulated fleet, kills the stage with SIGKILL and a replica in the middle of timed
// runs, and lets it end. Then it checks, by the Parquet files and the servers' own metrics:
// exact counts, the same rollouts as under the virtual clock, barriers, windows,
// speculation and its end, which runs were kept and which was void.
func TestSystems(t *testing.T) {
	l := drill.New(t, 15*time.Minute)
	l.Small = l.Small || *oneProfile
	s := newSystems(l)
	s.serve()
	s.allocate(s.settings)
	s.Logf("%d settings, 4 strategies, on %d replicas of %d requests, at %g times their speed", len(s.settings), replicas, window, *speed)
	s.killed()
	s.bereft()
	s.last()
	s.check()
}

// The worker of the paper.
const (
	replicas = 8
	window   = 32
)

// systems is the experiment, its fleet, and what happened.
type systems struct {
	*trial
	experiment  drill.Settings
	models      []string
	budgets     []int
	settings    []setting
	victim      *drill.Process // a replica of the first model, by itself
	victimsPort int
	urls        []string // of all replicas, the victim's first

	kept  map[string]string // runs that were stored when the last attempt began, and when each was begun
	voids []string          // lines about void runs, of the attempt whose replica was killed

	before, after, again []sample // when the last attempt began, when it had ended, and after another one
}

// systemsProfiles are the published profiles that are run: of the first model, one whose
// pilot fits the worker's places, and a small one; of another, a large one.
var systemsProfiles = []string{"aime24__model=qwen3_5_4b", "gpqa_diamond__domain_biology__model=qwen3_5_4b", "math_100__model=qwen2_5_3b"}

func newSystems(l *drill.Lab) *systems {
	s := &systems{budgets: []int{8, 32}[:l.Often(1, 2)]}
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	l.OK(err)
	releases, err := coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, published)
	l.OK(err)
	var profiles []profile.Profile
	var models, benchmarks []drill.Settings
	for _, p := range published {
		if !slices.Contains(systemsProfiles[:l.Often(1, len(systemsProfiles))], p.Name()) {
			continue
		}
		profiles = append(profiles, p)
		benchmarks = append(benchmarks, drill.Settings{"id": p.Benchmark})
		for _, budget := range s.budgets {
			s.settings = append(s.settings, setting{profile: p, digest: releases.Digest(p), seed: masterSeed, budget: budget})
		}
		if slices.Contains(s.models, p.Model) {
			continue
		}
		s.models = append(s.models, p.Model)
		model := drill.Settings{"id": p.Model, "max_sequences": 128}
		if strings.HasPrefix(p.Model, "qwen3_5") {
			model["thinking"], model["thinking_budget"], model["reasoning_parser"] = true, 64, "qwen3"
		}
		models = append(models, model)
	}
	writeInputs(l, profiles...)
	s.experiment = drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed, "budgets": s.budgets},
		"corpus":     drill.Settings{"profiles": l.Path(profilesFile), "tasks": l.Path(tasksFolder)},
		"sampling":   drill.Settings{"max_tokens": 1200, "context_tokens": 4096},
		"replay":     replayPrecision(1024),
		"systems":    drill.Settings{"replicas": replicas, "window": window, "repeats": 1},
		"serving":    drill.Settings{"outage_seconds": 60},
		"model":      models,
		"benchmark":  benchmarks,
	}
	s.trial = newTrial(l, "out", s.experiment)
	return s
}

// serve starts a fleet of the worker's size for each model, and names its servers in the
// configuration.
func (s *systems) serve() {
	for i, model := range s.models {
		port := s.FreePorts(replicas)
		first := port
		if i == 0 {
			s.victim, s.victimsPort = s.replicas("victim", model, 1, port), port
			first++
		}
		s.replicas("fleet-"+model, model, replicas-(first-port), first)
		for n := range replicas {
			s.urls = append(s.urls, urlOn(port+n))
		}
	}
	s.experiment["worker"] = []drill.Settings{{"name": "fleet", "urls": s.urls}}
	s.flags = []string{"--set", "systems.engine=vllm"}
	s.WriteConfig(s.config, s.experiment)
}

// urlOn is the server on a port of this machine.
func urlOn(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// replicas starts so many replicas of a model, from a port on.
func (s *systems) replicas(name, model string, n, port int) *drill.Process {
	var urls []string
	for i := range n {
		urls = append(urls, urlOn(port+i))
	}
	return s.Serve(name+".txt", s.config, urls, "--model", model, "--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--speed", fmt.Sprint(*speed))
}

// sample asks servers for their metrics.
func (s *systems) sample(urls []string) []sample {
	samples, err := sampled(s.Ctx, urls)
	s.OK(err)
	return samples
}

// killed runs the stage until a run is kept and the next one is under way, and kills it.
func (s *systems) killed() {
	p, busy := s.start("run", "systems"), 0
	p.Until(func() bool {
		if len(s.keptRuns(s.settings)) == 0 {
			return false
		}
		busy = inFlight(s.sample(s.urls))
		return busy > replicas // more than a warm-up
	})
	p.Kill()
	at := time.Now()
	s.kept = s.keptRuns(s.settings)
	s.Until("requests of a process that was killed", func() bool { return inFlight(s.sample(s.urls)) == 0 })
	s.Logf("speceval killed with %d requests at the servers, which had none %.2f s later; %d runs were kept", busy, time.Since(at).Seconds(), len(s.kept))
}

// bereft runs the stage, kills a replica in the middle of a run and starts it again.
func (s *systems) bereft() {
	p := s.start("run", "systems")
	p.Until(func() bool { return inFlight(s.sample(s.urls[:1])) >= window/8 })
	s.victim.Kill()
	s.Logf("replica %s killed in the middle of a run", s.urls[0])
	s.victim = s.replicas("victim-again", s.models[0], 1, s.victimsPort)
	p.Wait()
	p.Says(1, "runs are void")
	s.voids = s.voidRuns()
	kept := s.kept
	s.kept = s.keptRuns(s.settings)
	unchanged(s.Lab, kept, s.kept)
}

// last runs the stage to its end, and once more.
func (s *systems) last() {
	begin := time.Now()
	s.before = s.sample(s.urls)
	s.do("run", "systems", "report")
	s.after = s.sample(s.urls)
	s.do("run", "systems", "report")
	s.again = s.sample(s.urls)
	s.Logf("the last run kept %d runs; with another one it took %.1f s", len(s.kept), time.Since(begin).Seconds())
}

// check holds the files to what they must be.
func (s *systems) check() {
	measured := s.readRuns(measurement.Measured, s.settings, false)
	virtual := s.readRuns(measurement.Simulated, s.settings, false)
	runTable(s.Lab, measured)
	shape{replicas: replicas, window: window, origin: measurement.Simulated}.judge(s.Lab, measured)
	sameSelection(s.Lab, measured, virtual)
	speculated(s.Lab, measured, !s.Small)
	s.Sub("the lost replica voided one run alone", func(l *drill.Lab) {
		if len(s.voids) != 1 {
			l.Errorf("%d void runs: %q", len(s.voids), s.voids)
		}
	})
	s.Sub("runs that were kept are there as they were", func(l *drill.Lab) {
		started := map[string]string{}
		for _, r := range measured {
			for _, one := range r.runs {
				started[r.runName(one)] = one.Started
			}
		}
		unchanged(l, s.kept, started)
		if len(s.kept) < 2 || len(s.kept) >= len(started) {
			l.Errorf("%d of %d were kept", len(s.kept), len(started))
		}
	})
	s.Sub("no server had a request left right after the end", func(l *drill.Lab) {
		if n := inFlight(s.after); n > 0 {
			l.Errorf("%d requests", n)
		}
	})
	tokens(s.Lab, measured, s.kept, tokensMade(slices.Concat(s.before, s.after)), systemsWarmUp, true)
	s.Sub("another run asked for nothing", func(l *drill.Lab) {
		if made := tokensMade(slices.Concat(s.after, s.again)); made > 0 {
			l.Errorf("servers made %.0f tokens", made)
		}
	})
	s.inTables(measurement.Simulated, s.budgets)
}

// systemsWarmUp is how many tokens the servers make before the runs of a setting: a
// warm-up, and a proof of the thinking budget.
const systemsWarmUp = replicas * (64 + 16)
