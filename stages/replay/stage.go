// Package replay is the stage that finds out what each policy's variance would
// be: ex-ante designs of the pilot size and stage weight, and replays of the
// designs on fixed task-probability profiles.
//
// Its units are the estimates of designs, one replicate of panels for one task
// count or one profile each, the selection of all designs, the replay of one
// profile, and the final tables of ratios, with their differences.
// Beside them stand what of a ratio's error comes from its profile, a unit a
// profile, and simulated evaluations of one. All draw from distinct branches of
// the seed tree.
package replay

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/exante"
	"speceval/internal/policy"
	"speceval/internal/seed"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Settings are what the stage reads of the configuration.
type Settings struct {
	Seed            uint64    // of the experiment
	Budgets         []int     // average rollouts per task, each at least 2, ascending
	Draws           int       // panels of a design replicate and pilot vectors of a replay
	Replicates      int       // independent replicates of HBN's and IBN's designs
	EvenPanels      bool      // fewer panels than Draws, as precise: see policy.Panels
	QuadratureOrder int       // Gauss–Legendre nodes in each of ξ and δ
	Alphas          []float64 // IBN's prior strengths, ascending
	Resamples       int       // profiles redrawn from each, at least 2
	ResampleDraws   int       // pilot vectors of the replay of one
	CaseStudy       CaseStudy
	TSNeyman        TSNeyman

	// Slice gives the canonical text of keys of the configuration, by key, for
	// the units that read them.
	Slice func(keys ...string) map[string]string
}

// The units that write variance.DesignsFile, variance.TwoStageFile with
// variance.CandidatesFile, and variance.RatiosFile.
var (
	designsRef  = dag.Ref{Stage: name, Unit: "designs"}
	twoStageRef = dag.Ref{Stage: name, Unit: "two_stage"}
	ratiosRef   = dag.Ref{Stage: name, Unit: "ratios"}
)

const (
	name = "replay"

	// version is raised when the same inputs give other numbers, or other columns.
	version = 3
)

// mostTasks bounds a profile, so that a count of its tasks fits the 16 bits
// that the panels give it.
const mostTasks = 1<<16 - 1

// Stage returns the stage for the pairs to evaluate. A profile that turns out to
// be degenerate when it is made is left out of all results. It is an error if
// one has more tasks than the stage can count.
func Stage(s Settings, pairs []pair.Pair) (dag.Stage, error) {
	return stageOf(s, pairs, policy.All)
}

// stageOf is the stage for a list of policies.
func stageOf(s Settings, pairs []pair.Pair, policies policy.List) (dag.Stage, error) {
	b := builder{Settings: s, pairs: pairs, policies: policies, cs: exante.AllCandidates(s.Budgets)}
	for _, p := range pairs {
		if p.N() > mostTasks {
			return dag.Stage{}, fmt.Errorf("profile %s has %d tasks, the replay takes at most %d: split the benchmark", p.Name(), p.N(), mostTasks)
		}
		if !slices.Contains(b.sizes, p.N()) {
			b.sizes = append(b.sizes, p.N())
		}
	}
	slices.Sort(b.sizes)
	units := b.units()
	for i := range units {
		units[i].Cost = max(units[i].Cost, gatherSeconds)
	}
	return dag.Stage{
		Name:    name,
		About:   "designs and variance replays of HBN, EN, IBN and the Oracle",
		Version: version,
		Units:   units,
	}, nil
}

// builder makes the units of a stage.
type builder struct {
	Settings
	pairs    []pair.Pair
	policies policy.List
	sizes    []int // task counts, ascending
	cs       exante.Candidates
}

func (b *builder) units() []dag.Unit {
	units := b.estimateUnits()
	selection := b.designsUnit(units)
	units = append(units, selection)
	for _, p := range b.pairs {
		units = append(units, b.profileUnit(p))
	}
	units = append(units, b.stagesUnits()...)
	units = append(units, b.twoStageUnit(), b.differencesUnit())
	units = append(units, b.resampleUnits()...)
	units = append(units, b.caseUnits()...)
	units = append(units, b.tsUnits()...)
	return append(units, b.ratiosUnit())
}

// unit is a unit with one Parquet file of its own.
func (b *builder) unit(id string, config map[string]string) dag.Unit {
	return dag.Unit{
		ID: id, Config: config,
		Outputs:    []string{partFile(id)},
		Provenance: "computed",
	}
}

// partFile is where a unit keeps its rows.
func partFile(id string) string { return "replay/parts/" + id + ".parquet" }

// seeded gives a unit its branch of the seed tree and returns it.
func (b *builder) seeded(u *dag.Unit) seed.Seed {
	at := b.branch(u.ID)
	u.Seed = at.Label()
	return at
}

// branch is that of a unit.
func (b *builder) branch(id string) seed.Seed {
	at := seed.Root(b.Seed).Child(name)
	for label := range strings.SplitSeq(id, "/") {
		at = at.Child(label)
	}
	return at
}

// pilots is the stream of the pilots that a profile is replayed on.
func (b *builder) pilots(of pair.Pair) seed.Stream { return b.branch(profileID(of)).Stream() }

// Keys of the configuration that units read.
const (
	keySeed       = "experiment.seed"
	keyBudgets    = "experiment.budgets"
	keyDraws      = "replay.draws"
	keyReplicates = "replay.replicates"
	keyOrder      = policy.KeyOrder
	keyAlphas     = policy.KeyAlphas
)

// profileID is the unit that replays a profile.
func profileID(p pair.Pair) string { return "profile/" + p.Name() }
