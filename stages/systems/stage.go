package systems

import (
	"errors"
	"fmt"
	"slices"

	"speceval/internal/coupled"
	"speceval/internal/flops"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Name and version of the stage.
const (
	name    = "systems"
	about   = "timed runs of Uniform, HBN-sync and HBN-async"
	version = 4
)

// Settings are what the stage needs to know.
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

	Simulated *Simulated // nil: no simulated runs
	Measured  *Measured  // nil: no measured runs

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
	if err := s.check(); err != nil {
		return stage, err
	}
	stage.Units = append(stage.Units, s.plansUnit())
	var g gathering
	for _, setting := range s.settings() {
		if s.simulates(setting.pair) {
			stage.Units = append(stage.Units, setting.simulatedUnit(), setting.stagedUnit())
			g.simulated = append(g.simulated, setting)
		}
	}
	if s.Measured != nil {
		for _, setting := range s.byModel() {
			stage.Units = append(stage.Units, setting.planUnit(), setting.measuredUnit())
			g.measured = append(g.measured, setting)
			if setting.scoredRepeats() > 0 {
				stage.Units = append(stage.Units, setting.scoredUnit())
				g.scored = append(g.scored, setting)
			}
		}
	}
	if len(g.simulated) > 0 {
		stage.Units = append(stage.Units, s.stagedPlansUnit(), g.benefitUnit())
	}
	stage.Units = append(stage.Units, g.unit(), g.runsUnit())
	if len(g.measured) > 0 {
		stage.Units = append(stage.Units, predicting{&s, g.measured}.unit())
	}
	return stage, nil
}

// simulates reports whether a pair has simulated runs.
func (s *Settings) simulates(p pair.Pair) bool {
	return s.Simulated != nil && s.Simulated.Knows(p)
}

// check says what is wrong with the settings, if anything.
func (s *Settings) check() error {
	var faults []error
	for _, p := range s.Pairs {
		if _, err := s.architecture(p.Model); err != nil && (s.Measured != nil || s.simulates(p)) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// settings are the pairs at each budget, in canonical order.
func (s *Settings) settings() []*setting {
	var all []*setting
	for _, p := range s.Pairs {
		for _, b := range s.Budgets {
			all = append(all, &setting{Settings: s, pair: p, budget: b})
		}
	}
	return all
}

// byModel are the settings of one model after the other, so that servers
// change models as seldom as can be.
func (s *Settings) byModel() []*setting {
	var models []string
	for _, p := range s.Pairs {
		if !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	all := s.settings()
	slices.SortStableFunc(all, func(a, b *setting) int {
		return slices.Index(models, a.pair.Model) - slices.Index(models, b.pair.Model)
	})
	return all
}

func (s *Settings) architecture(model string) (flops.Architecture, error) {
	i := slices.IndexFunc(s.Architectures, func(a flops.Architecture) bool { return a.Model == model })
	if i < 0 {
		return flops.Architecture{}, fmt.Errorf("the FLOP proxy has no coefficients for model %s: give its [[model]] theta_core, theta_head, full_attention_layers and attention_width", model)
	}
	return s.Architectures[i], nil
}

// config is the part of the configuration that a unit of the setting reads: the
// keys given, and how rollouts are generated, which their identities name.
func (s *setting) config(keys ...string) map[string]string {
	c := s.Slice(append(keys, commonKeys...)...)
	for key, value := range s.Sampling(s.pair.Model) {
		c[key] = value
	}
	return c
}

// budgetIndex is the place of the setting's budget among all.
func (s *setting) budgetIndex() int { return slices.Index(s.Budgets, s.budget) }

// id is the setting in a unit's name.
func (s *setting) id() string { return fmt.Sprintf("%s/budget=%d", s.pair.Name(), s.budget) }

// runsFile holds the setting's executions of a kind, a measurement.Run each, and
// requestsFile their requests.
func (s *setting) runsFile(kind string) string { return s.file("runs", kind) }

func (s *setting) requestsFile(kind string) string { return s.file("requests", kind) }

func (s *setting) file(what, kind string) string {
	return fmt.Sprintf("systems/%s/%s/benchmark=%s/model=%s/budget=%d.parquet", what, kind, s.pair.Benchmark, s.pair.Model, s.budget)
}

// feed makes the profile, and what coupled rewards follow from, inputs of a
// unit.
func (s *setting) feed(u *dag.Unit) {
	s.pair.Feed(u)
	u.Sources = append(u.Sources, s.ReleasesSource)
}
