package systems_test

import (
	"context"
	"io"
	"testing"

	"speceval/data"
	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/servers/flops"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/controller"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// lab is the stage on two small profiles, after a replay that is made up.
type lab struct {
	t        testing.TB
	dir      string
	settings systems.Settings
	profiles []profile.Profile // known ones, of settings.Pairs
	designs  []variance.Design
	ratios   []variance.Ratio
	staged   []variance.Ratio // of policies in stages; nil: stagedRatios
	remade   int              // how often the replay was changed
}

func newLab(t testing.TB) *lab {
	architectures := must(flops.Parse(data.Architectures(), data.ArchitecturesName))
	l := &lab{t: t, dir: t.TempDir()}
	l.settings = systems.Settings{
		Seed: 42, Budgets: []int{4, 9}, QuadratureOrder: 8, Releases: coupled.Releases{}, ReleasesSource: dag.Source{Name: "releases", SHA256: "r"}, Architectures: architectures,
		Sampling:  func(string) map[string]string { return nil },
		Simulated: &systems.Simulated{Repeats: 3, Source: dag.Source{Name: "fleet", SHA256: "f"}, Knows: func(pair.Pair) bool { return true }, Worker: smallWorker},
		Slice:     func(keys ...string) map[string]string { return map[string]string{} },
	}
	l.know(
		profile.Profile{Benchmark: "quiz", Model: "qwen3_5_4b", TaskIDs: []string{"a", "b", "c", "d", "e"}, PassCounts: []int{0, 3, 8, 15, 16}, TestedK: 16},
		profile.Profile{Benchmark: "quiz", Model: "qwen2_5_3b", TaskIDs: []string{"a", "b", "c", "d", "e"}, PassCounts: []int{0, 0, 4, 8, 16}, TestedK: 16},
	)
	for _, budget := range []int32{4, 9} {
		l.designs = append(l.designs, variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: 5, Budget: budget, M: budget / 3, W: 0.4, Risk: 0.8, Selected: true})
		for _, p := range l.profiles {
			l.ratios = append(l.ratios, variance.Ratio{Subject: variance.Subject{Benchmark: p.Benchmark, Model: p.Model, NTasks: 5, Budget: budget, Policy: policy.HBN.Name, Donors: "none"}, VarianceRatio: 0.7})
			if p.Model == "qwen2_5_3b" && budget == 4 {
				l.ratios[len(l.ratios)-1].VarianceRatio = 1
			}
		}
	}
	return l
}

// stagedRatios are those of the timed policies wherever HBN has one: 0.7, 0.7, 0.6, 0.6,
// 0.5 and 0.5.
func (l *lab) stagedRatios() (all []variance.Ratio) {
	m, w := int32(1), 0.3
	for _, r := range l.ratios {
		for k, p := range policy.Timed {
			own := r
			own.Policy, own.Donors, own.M, own.W, own.VarianceRatio = p.Name, p.Donors.Name, &m, &w, 0.7-0.1*float64(k/2)
			all = append(all, own)
		}
	}
	return all
}

// know makes these the profiles of the lab.
func (l *lab) know(profiles ...profile.Profile) {
	l.profiles, l.settings.Pairs = profiles, pair.AllKnown(profiles)
}

// smallWorker is a worker of two replicas with four places each, on which
// harder tasks take longer.
func smallWorker(p profile.Profile, _ int, lengths seed.Seed) (virtual.Settings, error) {
	random := lengths.Stream()
	return virtual.Settings{
		Timing: fleet.Small, Replicas: 2, Window: 4,
		Lengths: func(id controller.ID) (prompt, tokens int) {
			return 20, 1 + int(300*random.Float64()*(1.5-p.P(int(id.Task))))
		},
	}, nil
}

// stages are the made-up replay and the stage.
func (l *lab) stages() []dag.Stage {
	write := func(job *dag.Job, output string, write func(io.Writer) error) error {
		return job.Write(output, 1, write)
	}
	staged := l.staged
	if staged == nil {
		staged = l.stagedRatios()
	}
	replay := dag.Stage{Name: "replay", Version: 1 + l.remade, Units: []dag.Unit{
		{ID: "designs", Outputs: []string{variance.DesignsFile}, Provenance: "computed", Run: func(_ context.Context, job *dag.Job) error {
			return write(job, variance.DesignsFile, func(w io.Writer) error { return rowfile.Write(w, l.designs, nil) })
		}},
		{ID: "two_stage", Outputs: []string{variance.TwoStageFile}, Provenance: "computed", Run: func(_ context.Context, job *dag.Job) error {
			return write(job, variance.TwoStageFile, func(w io.Writer) error { return rowfile.Write(w, l.ratios, nil) })
		}},
		{ID: "ratios", Outputs: []string{variance.RatiosFile}, Provenance: "computed", Run: func(_ context.Context, job *dag.Job) error {
			return write(job, variance.RatiosFile, func(w io.Writer) error { return rowfile.Write(w, append(l.ratios, staged...), nil) })
		}},
	}}
	stage := must(systems.Stage(l.settings))
	score := dag.Stage{Name: "score", Version: 1}
	for _, p := range l.profiles {
		score.Units = append(score.Units, dag.Unit{ID: p.Name(), Sources: []dag.Source{{Name: "answers", SHA256: p.SHA256()}}, Outputs: []string{profileFile(p)}, Provenance: "computed", Run: func(_ context.Context, job *dag.Job) error {
			return write(job, profileFile(p), func(w io.Writer) error { return profile.Write(w, []profile.Profile{p}, nil) })
		}})
	}
	return []dag.Stage{score, replay, stage}
}

// profileFile is where the made-up score stage writes a profile.
func profileFile(p profile.Profile) string { return "score/" + p.Name() + ".parquet" }

// make lets the made-up score stage make the profiles of the lab.
func (l *lab) make() {
	for i, p := range l.profiles {
		l.settings.Pairs[i] = pair.Made(p.Benchmark, p.Model, p.TaskIDs, dag.Ref{Stage: "score", Unit: p.Name()}, profileFile(p))
	}
}

// plan is what a run would do.
func (l *lab) plan() *dag.Plan {
	l.t.Helper()
	return dagtest.Plan(l.t, l.stages(), l.dir, dag.Selection{})
}

// stale lists the units that would run.
func (l *lab) stale() (ids []string) {
	l.t.Helper()
	for _, stage := range l.plan().Stages {
		for _, u := range stage.Run {
			ids = append(ids, u.Unit.Unit)
		}
	}
	return ids
}

func (l *lab) run() { dagtest.Run(l.t, l.stages(), l.dir) }

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
