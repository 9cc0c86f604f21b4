// Package replay is the stage that finds out what each policy's variance would
// be: ex-ante designs of the pilot size and stage weight, and replays of the
// designs on fixed task-probability profiles.
//
// Its units are the estimates of designs, one replicate of panels for one task
// count or one profile each, the selection of all designs, the replay of one
// profile, and the final tables of ratios, with their differences.
// Further units, one a profile, compute the part of a ratio's error that comes from its
// profile, and simulated evaluations of one profile. All draw from distinct branches of
// the seed tree.
package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Settings are the configuration of the stage.
type Settings struct {
	Seed            uint64    // of the experiment
	Budgets         []int     // average rollouts per task, each at least 2, ascending
	Draws           int       // panels of a design replicate and pilot vectors of a replay
	Replicates      int       // independent replicates of HBN's and IBN's designs
	EvenPanels      bool      // fewer panels than Draws, as precise: see policy.Panels
	QuadratureOrder int       // Gauss–Legendre nodes in each of ξ and δ
	Alphas          []float64 // IBN's prior strengths, ascending
	Resamples       int       // profiles redrawn from each, at least 2, for allocations known beforehand
	ResampleDraws   int       // pilot vectors on each, for the derivatives of other policies' ratios
	CaseStudy       CaseStudy
	TSNeyman        TSNeyman

	// Slice gives the canonical text of keys of the configuration, by key, for
	// the units that read them.
	Slice func(keys ...string) map[string]string
}

const (
	name = "replay"

	// version is raised when the same inputs give other numbers, or other columns.
	version = 6

	// mostTasks bounds a profile, so that a count of its tasks fits the 16 bits
	// that the panels give it.
	mostTasks = 1<<16 - 1
)

// Keys of the configuration that units read.
const (
	keySeed    = "experiment.seed"
	keyBudgets = "experiment.budgets"
	keyDraws   = "replay.draws"
	keyOrder   = policy.KeyOrder
	keyAlphas  = policy.KeyAlphas
)

// Names of the units that gather what others write.
const (
	designsID  = "designs"
	selectedID = "designs/selected" // of its outputs
	twoStageID = "two_stage"
)

// Schemas of the rows that units write.
const (
	designSchema     = "designs.v2"
	ratioSchema      = "ratios.v2"
	differenceSchema = "differences.v2"
	errorSchema      = "profile_errors.v2"
)

// Stage returns the stage for the pairs to evaluate. A profile that turns out to
// be degenerate when it is made is left out of all results. It is an error if
// one has more tasks than the stage can count.
func Stage(s Settings, pairs []pair.Pair) (dag.Stage, error) {
	b := builder{Settings: s, pairs: pairs, cs: pilot.AllCandidates(s.Budgets)}
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
		if units[i].Cost == 0 {
			units[i].Cost = gatherSeconds * float64(len(pairs))
		}
		units[i].Cost = max(units[i].Cost, leastSeconds)
	}
	return dag.Stage{
		Name:    name,
		About:   "designs and variance replays of HBN, EN, IBN and the Oracle",
		Version: version,
		Units:   units,
		Shared: map[string]string{
			keyBudgets: "all budgets share the paths of common random numbers and are part of each key, so that those that were there run again too",
		},
	}, nil
}

// builder makes the units of a stage.
type builder struct {
	Settings
	pairs []pair.Pair
	sizes []int // task counts, ascending
	cs    pilot.Candidates
}

// units are the units of the stage, each after the units that it needs.
func (b *builder) units() []dag.Unit {
	estimates := b.estimates()
	var designing, profiles, stages, resampled []dag.Unit
	for _, e := range estimates {
		designing = append(designing, e.Unit)
	}
	for _, of := range b.pairs {
		profiles, resampled = append(profiles, b.profileUnit(of)), append(resampled, b.resampleUnit(of))
	}
	for _, known := range knowing() {
		for _, of := range b.pairs {
			stages = append(stages, b.stagesUnit(known, of))
		}
	}
	twoStage, search := b.twoStageUnit(profiles), b.tsUnits()
	return slices.Concat(designing, []dag.Unit{b.designsUnit(estimates, designing)}, profiles, stages,
		[]dag.Unit{twoStage, b.differencesUnit(twoStage, slices.Concat(profiles, stages))},
		resampled, []dag.Unit{b.errorsUnit(resampled, stages)},
		b.caseUnits(twoStage), search, b.suiteUnits(), []dag.Unit{b.ratiosUnit(twoStage, search[len(search)-1], stages)})
}

// unit is a unit that reads keys of the configuration, needs other units of the stage,
// and writes a Parquet file of its own.
func (b *builder) unit(id string, keys []string, needs ...string) dag.Unit {
	u := dag.Unit{ID: id, Outputs: []string{partFile(id)}, Provenance: "computed"}
	if len(keys) > 0 {
		u.Config = b.Slice(keys...)
	}
	for _, other := range needs {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: other})
	}
	return u
}

// gather is a unit that puts together what others have written.
func (b *builder) gather(id string, keys []string, outputs []string, of ...dag.Unit) dag.Unit {
	u := b.unit(id, keys)
	u.Outputs = outputs
	for _, other := range of {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: other.ID})
	}
	return u
}

// outputs are the first, second or third output of units, by its index.
func outputs(index int, units ...dag.Unit) (files []string) {
	for _, u := range units {
		files = append(files, u.Outputs[index])
	}
	return files
}

// profileWork is the work of a unit on a profile, which draws from the unit's branch of the
// seed tree.
type profileWork func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) error

// onProfile makes a unit work on one profile, and on the profiles of its donors.
func (b *builder) onProfile(u *dag.Unit, of pair.Pair, known *policy.Donors, work profileWork) {
	pair.Feed(u, of)
	if known.Siblings {
		pair.Feed(u, pair.Siblings(b.pairs, of)...)
	}
	at := b.branch(u.ID)
	u.Seed = at.Label()
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := of.Profile(job)
		if err != nil {
			return err
		}
		return work(ctx, job, p, at)
	}
}

// rowsOf is the work that writes the rows of a profile, none of a degenerate one.
func rowsOf[T any](output, schema string, of func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) ([]T, error)) profileWork {
	return func(ctx context.Context, job *dag.Job, p profile.Profile, at seed.Seed) (err error) {
		var rows []T
		if p.VarianceSum() > 0 {
			if rows, err = of(ctx, job, p, at); err != nil {
				return err
			}
		}
		return dag.WriteRows(job, output, schema, rows)
	}
}

// partFile is where a unit keeps its rows.
func partFile(id string) string { return "replay/parts/" + id + ".parquet" }

// branch is the branch of the seed tree that a unit draws from.
func (b *builder) branch(id string) seed.Seed {
	at := seed.Root(b.Seed).Child(name)
	for label := range strings.SplitSeq(id, "/") {
		at = at.Child(label)
	}
	return at
}

// sources reads the profiles that donors of a profile are counted on, or drawn from:
// its siblings', or its own.
func (b *builder) sources(job *dag.Job, of pair.Pair, known *policy.Donors) ([]profile.Profile, error) {
	switch {
	case known == policy.None:
		return nil, nil
	case known.Siblings:
		return pair.Profiles(job, pair.Siblings(b.pairs, of))
	}
	return pair.Profiles(job, []pair.Pair{of})
}

// inStages is the policies that have some donors and decide stage by stage.
func inStages(known *policy.Donors) policy.List {
	return slices.DeleteFunc(slices.Clone(policy.All), func(p *policy.Policy) bool {
		return p.InStages == nil || p.Donors != known
	})
}

// knowing is the donors that policies in stages have.
func knowing() []*policy.Donors {
	return slices.DeleteFunc(slices.Clone(policy.AllDonors), func(d *policy.Donors) bool { return len(inStages(d)) == 0 })
}

// What units take, in seconds of one core, as measured in runs at budgets from 8 to 1024
// on the machine that dag compares others with. Plans, and the packing of units into jobs,
// go by them where a unit has never run.
const (
	profileSeconds     = 3.8e-9  // per draw, rollout of the largest budget, and task; 100 tasks are added
	resampleSeconds    = 1.3e-6  // per pilot of a task; a redrawn profile takes two
	stagesSeconds      = 1.25e-6 // per task, draw and unit of stagesWork, as the next two
	donorDesignSeconds = 2.7e-5
	suiteSeconds       = 1.7e-8
	caseSeconds        = 7.3e-9 // per rollout
	gatherSeconds      = 0.004  // per profile, of units that only read and sum up
	leastSeconds       = 0.02
	tsStepSeconds      = 2.5e-7
	tsStateSeconds     = 2e-8
)

// paperDraws are the draws of the paper's replays.
const paperDraws = 8192

// stagesWork is the work of an evaluation in stages at every budget.
func (b *builder) stagesWork() (work float64) {
	for _, budget := range b.Budgets {
		work += 1 + float64(budget)/128
	}
	return work
}
