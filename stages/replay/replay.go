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
	"math"
	"slices"
	"strings"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// replayed is a two-stage policy with the design chosen for it.
type replayed struct {
	design variance.Design
	sum    float64 // Σ C over the draws
	shift  float64 // C of the first draw, against cancellation
	drift  float64 // Σ (C − first)
	square float64 // Σ (C − first)²

	values []float64 // C of the draws of a sweep
	paired paired    // with HBN's at the same budget
}

// setting is what the continuation of a design is of.
func setting(d variance.Design) policy.Setting {
	s := policy.Setting{Tasks: int(d.NTasks), Budget: int(d.Budget), M: int(d.M)}
	if d.Alpha != nil {
		s.Alpha = *d.Alpha
	}
	return s
}

// continuation is that of a design; it holds until the next call with this bench.
func continuation(policies policy.List, d variance.Design, bench *policy.Bench) (policy.Continuation, error) {
	p := policies.Find(d.Key())
	if p == nil || p.TwoStage == nil {
		return nil, fmt.Errorf("design of policy %q: this replay does not know it", d.Key())
	}
	return p.TwoStage.Continuation(bench, setting(d)), nil
}

// add takes the continuation coefficient C = Σ(v/L)/Σv of one more draw.
func (r *replayed) add(coefficient float64) {
	if r.sum == 0 {
		r.shift = coefficient
	}
	d := coefficient - r.shift
	r.sum += coefficient
	r.drift += d
	r.square += d * d
}

// ratio turns the draws into the variance ratio b·{w²/m + (1−w)²·C} with its
// Monte Carlo standard error (paper, Eq. 9 over Uniform's variance).
func (r *replayed) ratio(p profile.Profile, draws int) variance.Ratio {
	d, n := r.design, float64(draws)
	spread := math.NaN()
	if draws > 1 {
		spread = math.Sqrt(max(0, r.square-r.drift*r.drift/n) / (n - 1))
	}
	return variance.Ratio{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget,
		Policy: d.Policy, Donors: d.Donors, Alpha: d.Alpha, M: &d.M, W: &d.W,
		VarianceRatio: neyman.Risk(int(d.Budget), int(d.M), d.W, r.sum/n),
		RatioSE:       r.slope() * spread / math.Sqrt(n),
		Draws:         int32(draws),
	}
}

// slope is that of the ratio in C.
func (r *replayed) slope() float64 {
	d := r.design
	return float64(d.Budget) * (1 - d.W) * (1 - d.W)
}

// replay evaluates the selected designs on a fixed profile: draws pilot vectors,
// shared by all policies and budgets as prefixes of one path, with the
// continuation's variance computed exactly (paper, appendix on the variance
// evaluation protocol). The rows of allocations known
// beforehand come first. The differences are those
// of every ratio to HBN's at its budget, in the same order.
func replay(ctx context.Context, policies policy.List, p profile.Profile, designs []variance.Design, prior *neyman.Prior, draws int, random seed.Stream) ([]variance.Ratio, []variance.Difference, error) {
	ratios, err := analytic(policies, p, designs)
	if err != nil {
		return nil, nil, err
	}
	longest := 0
	runs := make([]*replayed, len(designs))
	for i, d := range designs {
		runs[i] = &replayed{design: d}
		longest = max(longest, int(d.Budget)-1)
	}
	bench := policy.Bench{Prior: prior}
	err = pilot.EachSweep(ctx, probabilities(p), draws, longest, pilot.OneStream(random), func(sw *pilot.Sweep, _ int) error {
		for _, run := range runs {
			run.values = run.values[:0]
		}
		err := eachValue(sw, designs, func(k int) (policy.Continuation, error) { return continuation(policies, designs[k], &bench) }, func(k, _ int, c float64) {
			runs[k].values = append(runs[k].values, c)
			runs[k].add(c)
		})
		pairUp(runs)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		ratios = append(ratios, run.ratio(p, draws))
	}
	return ratios, differences(ratios, runs), nil
}

// eachValue takes a sweep to its end and visits the continuation coefficient of
// every draw under every design, by the design's index. At a design's pilot size
// it asks for the continuation, which it uses at once for all draws.
func eachValue(sw *pilot.Sweep, designs []variance.Design, of func(k int) (policy.Continuation, error), visit func(k, draw int, coefficient float64)) error {
	for sw.M() < sw.Rollouts() {
		sw.Advance()
		for k, d := range designs {
			if int(d.M) != sw.M() {
				continue
			}
			c, err := of(k)
			if err != nil {
				return err
			}
			for draw := range sw.Draws() {
				visit(k, draw, c.Value(sw, draw, int(d.Budget))/sw.Total())
			}
		}
	}
	return nil
}

// total is the sum of xs, in order.
func total(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum
}

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
	b := builder{Settings: s, pairs: pairs, policies: policies, cs: pilot.AllCandidates(s.Budgets)}
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
	pairs    []pair.Pair
	policies policy.List
	sizes    []int // task counts, ascending
	cs       pilot.Candidates
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
