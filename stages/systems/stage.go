// Package systems is the stage that executes Uniform, HBN-sync and HBN-async and measures
// their time, compute and waste: under coupled rewards (paper, Section 4.3 and appendix on
// system execution), and under scorers' rewards, so that a run's estimate can be held
// against the replay.
package systems

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"speceval/internal/policy/coupled"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/flops"
	"speceval/internal/store/group"
	"speceval/method/controller"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Name and version of the stage.
const (
	name    = "systems"
	about   = "timed runs of Uniform, HBN-sync and HBN-async"
	version = 4
)

// Settings are the settings of the stage.
type Settings struct {
	Seed            uint64 // of the experiment, and of coupled rewards
	Budgets         []int
	QuadratureOrder int
	Pairs           []pair.Pair
	Releases        coupled.Releases
	ReleasesSource  dag.Source // of Releases
	Architectures   []flops.Architecture

	// AsPublished lets the router work as in the published runs, where the paper
	// asks for more: see controller.Settings.Late and router.Settings.Sparse.
	AsPublished bool
	// Sampling is how rollouts of a model are generated, for identities.
	Sampling func(model string) map[string]string

	Simulated *Simulated
	Measured  *Measured // nil: no measured runs

	cold func() (controller.Prior, error) // of HBN, whose tables all executions share

	// Slice gives the canonical text of keys of the configuration, by key.
	Slice func(keys ...string) map[string]string
}

// Kinds of units and of the folders of their files.
const (
	simulatedKind = "simulated" // under the virtual clock
	stagedKind    = "stages"    // there, of policies in stages
	measuredKind  = "measured"  // on servers
	scoredKind    = "scored"    // on servers, under real rewards
)

// commonKeys are keys of the configuration that all executions depend on.
var commonKeys = []string{
	"experiment.seed", "replay.quadrature_order", "systems.replicas", "systems.window", "systems.protocol",
}

// Satisfied is the stage where nothing can be run; why says so.
func Satisfied(why string) dag.Stage {
	return dag.Stage{Name: name, About: about, Version: version, Satisfied: why}
}

// Stage is the stage with a unit for every setting, a pair at a budget,
// under the virtual clock and on servers, and one that gathers measurements.
func Stage(s Settings) (dag.Stage, error) {
	stage := dag.Stage{Name: name, About: about, Version: version}
	var faults []error
	for _, same := range group.By(s.Pairs, func(p pair.Pair) string { return p.Model }) {
		p := same[0]
		if _, err := s.architecture(p.Model); err != nil && (s.Measured != nil || s.Simulated.Knows(p)) {
			faults = append(faults, err)
		}
	}
	if faults != nil {
		return stage, errors.Join(faults...)
	}
	s.cold = sync.OnceValues(func() (controller.Prior, error) {
		prior, err := neyman.NewPrior(s.QuadratureOrder)
		if err != nil {
			return nil, err
		}
		return controller.Cold(prior), nil
	})
	stage.Units = append(stage.Units, s.plansUnit())
	e := executed{}
	for _, setting := range s.settings() {
		if s.Simulated.Knows(setting.pair) {
			stage.Units = append(stage.Units, setting.simulatedUnit(), setting.stagedUnit())
			e[simulatedKind], e[stagedKind] = append(e[simulatedKind], setting), append(e[stagedKind], setting)
		}
	}
	if s.Measured != nil {
		byModel := group.By(s.settings(), (*setting).model) // servers change models as seldom as can be
		for _, setting := range slices.Concat(byModel...) {
			stage.Units = append(stage.Units, setting.planUnit(), setting.measuredUnit())
			e[measuredKind] = append(e[measuredKind], setting)
			if setting.scoredRepeats() > 0 {
				stage.Units = append(stage.Units, setting.scoredUnit())
				e[scoredKind] = append(e[scoredKind], setting)
			}
		}
	}
	if len(e[simulatedKind]) > 0 {
		stage.Units = append(stage.Units, s.stagedPlansUnit(), s.benefitUnit(e))
	}
	stage.Units = append(stage.Units, s.measurementsUnit(e), s.runsUnit(e))
	if len(e[measuredKind]) > 0 {
		stage.Units = append(stage.Units, s.predictionsUnit(e[measuredKind]))
	}
	return stage, nil
}

// settings are the pairs at each budget, in canonical order.
func (s *Settings) settings() []*setting {
	var all []*setting
	for _, p := range s.Pairs {
		for i, b := range s.Budgets {
			all = append(all, &setting{Settings: s, pair: p, budget: b, index: i})
		}
	}
	return all
}

func (s *Settings) architecture(model string) (flops.Architecture, error) {
	i := slices.IndexFunc(s.Architectures, func(a flops.Architecture) bool { return a.Model == model })
	if i < 0 {
		return flops.Architecture{}, fmt.Errorf("the FLOP proxy has no coefficients for model %s: give its [[model]] theta_core, theta_head, full_attention_layers and attention_width", model)
	}
	return s.Architectures[i], nil
}

// setting is a pair at a budget: what strategies are compared in.
type setting struct {
	*Settings
	pair   pair.Pair
	budget int // b
	index  int // of the budget among all
}

func (s *setting) model() string { return s.pair.Model }

// unit executes the setting in one way: it reads keys of the configuration, how rollouts
// are generated, which their identities name, the profile, and what coupled rewards follow
// from; and writes the executions, a measurement.Run each, and their requests.
func (s *setting) unit(kind string, needs dag.Ref, keys ...string) dag.Unit {
	u := dag.Unit{
		ID:      s.ref(kind).Unit,
		Config:  s.Slice(append(keys, commonKeys...)...),
		Seed:    s.seed().Label(),
		Needs:   []dag.Ref{needs},
		Outputs: []string{s.runsFile(kind), s.requestsFile(kind)},
	}
	maps.Copy(u.Config, s.Sampling(s.pair.Model))
	s.feed(&u)
	return u
}

// feed makes the profile, and what coupled rewards follow from, inputs of a unit.
func (s *setting) feed(u *dag.Unit) {
	pair.Feed(u, s.pair)
	u.Sources = append(u.Sources, s.ReleasesSource)
}

// seed is the branch of the seed tree of the setting's pair.
func (s *setting) seed() seed.Seed {
	return seed.Root(s.Seed).Child(name).Child(s.pair.Benchmark).Child(s.pair.Model)
}

// id is the setting in a unit's name, and ref its unit of a kind.
func (s *setting) id() string { return fmt.Sprintf("%s/budget=%d", s.pair.Name(), s.budget) }

func (s *setting) ref(kind string) dag.Ref { return dag.Ref{Stage: name, Unit: kind + "/" + s.id()} }

func (s *setting) runsFile(kind string) string { return s.file("runs", kind) }

func (s *setting) requestsFile(kind string) string { return s.file("requests", kind) }

func (s *setting) file(what, kind string) string {
	return fmt.Sprintf("systems/%s/%s/benchmark=%s/model=%s/budget=%d.parquet", what, kind, s.pair.Benchmark, s.pair.Model, s.budget)
}

// write writes the outputs of a unit of a kind.
func (s *setting) write(job *dag.Job, kind string, runs []measurement.Run, requests []measurement.Request) error {
	if err := dag.WriteRows(job, s.requestsFile(kind), requestSchema, requests); err != nil {
		return err
	}
	return dag.WriteRows(job, s.runsFile(kind), measurement.RunSchema, runs)
}

// requestSchema is the schema of requests files.
const requestSchema = "systems-requests/1"
