//go:build drill

package servers_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/results/measurement"
	"speceval/internal/store/profile"
)

var short = flag.Bool("short", false, "drill-systems: one profile at one budget")

// TestSystems is the drill of the systems stage over HTTP. It serves made tasks by the
// simulated fleet, kills the stage with SIGKILL and a replica in the middle of timed runs,
// and lets it end. Then it checks, by the Parquet files and the servers' own metrics: exact
// counts, the same rollouts as under the virtual clock, barriers, windows, speculation and
// its end, which runs were kept and which was void.
func TestSystems(t *testing.T) {
	l := drill.New(t, 15*time.Minute)
	l.Small = l.Small || *short
	s := newSystems(l)
	s.do("run", "replay")
	l.Logf("%d settings, 4 strategies, on %d replicas of %d requests, at %d times their speed", len(s.settings), replicas, window, speed)

	// The stage is killed when a run is kept and the next one is under way.
	p, busy := s.start("run", "systems"), 0
	p.Until(func() bool {
		busy = inFlight(sampled(l, s.urls))
		return busy > replicas && len(keptRuns(l, s.out)) > 0
	})
	p.Kill()
	at, first := time.Now(), keptRuns(l, s.out)
	l.Until("servers without requests", func() bool { return inFlight(sampled(l, s.urls)) == 0 })
	l.Logf("speceval killed with %d requests at the servers, which had none %.2f s later; %d runs were kept", busy, time.Since(at).Seconds(), len(first))

	// It loses a replica in the middle of a run, which is started again: when the replica has
	// made more tokens than the two windows of a warm-up have.
	warm := sampled(l, s.urls[:1])[0].tokens + 2*window*64
	p = s.start("run", "systems")
	p.Until(func() bool {
		victim := sampled(l, s.urls[:1])
		return victim[0].tokens > warm && inFlight(victim) >= window/8
	})
	s.victim.Kill()
	l.Logf("replica %s killed in the middle of a run", s.urls[0])
	s.serve("victim-again", s.models[0]["id"], 1, s.port)
	p.Wait()
	p.Says(1, "runs are void")
	voids, kept := voidRuns(l, s.out), keptRuns(l, s.out)
	unchanged(l, first, kept)

	// It ends, and is run once more.
	begin := time.Now()
	s.do("run", "systems", "report")
	after := sampled(l, s.urls)
	s.do("run", "systems", "report")
	again := sampled(l, s.urls)
	l.Logf("the last run kept %d runs; with another one it took %.1f s", len(kept), time.Since(begin).Seconds())

	measured := readRuns(l, s.out, measurement.Measured, s.settings)
	handled(l, measured)
	shape{replicas, window, measurement.Simulated}.checkRuns(l, s.settings, measured)
	l.Sub("the virtual clock selects the same rollouts, with the same rewards", func(l *drill.Lab) {
		selected := map[string][]string{}
		for _, r := range readRuns(l, s.out, measurement.Simulated, s.settings) {
			selected[r.name()] = r.selection()
		}
		for _, r := range measured {
			if !slices.Equal(r.selection(), selected[r.name()]) {
				l.Errorf("%s accepted others", r.name())
			}
		}
	})
	l.Sub("HBN-async speculated, and its surplus ended", func(l *drill.Lab) { checkSpeculation(l, measured, !l.Small) })
	l.Sub("the lost replica voided one run alone", func(l *drill.Lab) {
		if len(voids) != 1 {
			l.Errorf("%d void runs: %q", len(voids), voids)
		}
	})
	l.Sub("runs that were kept are there as they were", func(l *drill.Lab) {
		now := map[string]string{}
		for _, r := range measured {
			now[r.name()] = r.Started
		}
		unchanged(l, kept, now)
		if len(kept) < 2 || len(kept) >= len(now) {
			l.Errorf("%d of %d were kept", len(kept), len(now))
		}
	})
	l.Sub("no server had a request left right after the end", func(l *drill.Lab) {
		if n := inFlight(after); n > 0 {
			l.Errorf("%d requests", n)
		}
	})
	l.Sub("another run asked for nothing", func(l *drill.Lab) {
		for i, s := range again {
			if made := s.tokens - after[i].tokens; made > 0 {
				l.Errorf("servers made %.0f tokens", made)
			}
		}
	})
	inTables(l, s.out, measurement.Simulated, s.settings)
}

// The worker of the paper.
const (
	replicas = 8
	window   = 32
	speed    = 8 // times that of the paper's servers
)

// systemsProfiles are the published profiles that are run: of the first model, one whose
// pilot fits the worker's places, and a small one; of another, a large one.
var systemsProfiles = []string{"aime24__model=qwen3_5_4b", "gpqa_diamond__domain_biology__model=qwen3_5_4b", "math_100__model=qwen2_5_3b"}

// systemsModels are their models.
var systemsModels = []drill.Settings{
	{"id": "qwen3_5_4b", "max_sequences": 128, "thinking": true, "thinking_budget": 64, "reasoning_parser": "qwen3"},
	{"id": "qwen2_5_3b", "max_sequences": 128},
}

// systems is the experiment and its fleet.
type systems struct {
	*trial
	models   []drill.Settings
	settings []setting
	urls     []string       // of all replicas, the victim's first
	victim   *drill.Process // a replica of the first model, by itself
	port     int            // the victim's
}

// newSystems starts a fleet of the worker's size for each model.
func newSystems(l *drill.Lab) *systems {
	s := &systems{models: systemsModels[:l.Often(1, 2)], port: l.FreePorts(2 * replicas)}
	budgets := []int{8, 32}[:l.Often(1, 2)]
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	l.OK(err)
	wanted := systemsProfiles[:l.Often(1, 3)]
	published = slices.DeleteFunc(published, func(p profile.Profile) bool { return !slices.Contains(wanted, p.Name()) })
	var benchmarks []drill.Settings
	for _, p := range published {
		benchmarks = append(benchmarks, drill.Settings{"id": p.Benchmark})
		for _, budget := range budgets {
			s.settings = append(s.settings, setting{p, budget})
		}
	}
	writeInputs(l, published...)
	experiment := drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed, "budgets": budgets},
		"corpus":     drill.Settings{"profiles": l.Path(profilesFile), "tasks": l.Path(tasksFolder)},
		"sampling":   drill.Settings{"max_tokens": 1200, "context_tokens": 4096},
		"replay":     drill.Settings{"draws": 1024, "replicates": 2, "quadrature_order": 8}, // enough for designs
		"systems":    drill.Settings{"replicas": replicas, "window": window, "repeats": 1},
		"serving":    drill.Settings{"outage_seconds": 60},
		"model":      s.models,
		"benchmark":  benchmarks,
	}
	s.trial = newTrial(l, "fleet", experiment)
	for i, model := range s.models {
		first := s.port + i*replicas
		s.urls = append(s.urls, drill.URLs(first, replicas)...)
		if i == 0 {
			s.victim = s.serve("victim", model["id"], 1, first)
			s.serve("others", model["id"], replicas-1, first+1)
		} else {
			s.serve("fleet", model["id"], replicas, first)
		}
	}
	experiment["worker"] = []drill.Settings{{"name": "fleet", "urls": s.urls}}
	experiment["systems"].(drill.Settings)["engine"] = "vllm"
	s.trial = newTrial(l, "out", experiment)
	return s
}

// serve starts so many replicas of a model, from a port on.
func (s *systems) serve(name string, model any, n, port int) *drill.Process {
	return s.Serve(name+".txt", s.Path("fleet.toml"), drill.URLs(port, n), "--model", fmt.Sprint(model),
		"--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--speed", fmt.Sprint(speed))
}
