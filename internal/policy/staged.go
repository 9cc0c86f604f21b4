package policy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// InStages is a policy that asks a pilot of m rollouts of every task and spends the
// rest of the budget in further stages. The size and the weight of each are decided
// by all before it and by the donors (method/staged, method/informed).
type InStages struct {
	After int // stages after the pilot; 1 is a continuation, as in the paper

	// LeaveOneOut gives the pilot of each task a weight of its own, by the pilots of
	// all others, in the place of the design's.
	LeaveOneOut bool
}

// mostAfter is the number of stages after the pilot of the policies that have more
// than one.
const mostAfter = 4

// ruleOrder is the order of the quadrature behind leave-one-out weights: any function of the
// other tasks' pilots is unbiased, and more nodes give none that is better.
const ruleOrder = 8

// Plan is the plan of N tasks and a budget of b rollouts each, with the design's pilot size
// and weight.
func (s *InStages) Plan(tasks, budget, pilots int, weight float64) (staged.Plan, error) {
	p := staged.Plan{Pilots: pilots, Weight: weight, Fractions: pilot.Fractions(s.After)}
	if !s.LeaveOneOut {
		return p, nil
	}
	prior, err := neyman.NewPrior(ruleOrder)
	if err != nil {
		return p, err
	}
	rule, err := neyman.NewLeaveOneOut(prior, tasks, budget, pilots)
	if err != nil {
		return p, fmt.Errorf("leave-one-out weights: %w", err)
	}
	p.LeaveOneOut = rule.Weight
	return p, nil
}

// Text is the fractions of its plans in files: of what is left, by stage after the
// pilot.
func (s *InStages) Text() string {
	var all []string
	for _, f := range pilot.Fractions(s.After) {
		all = append(all, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return strings.Join(all, " ")
}

// panelsPerDraw is how many draws of a replay one panel of a design counts for: a
// panel is an evaluation in stages for every candidate.
const panelsPerDraw = 96

// stagedCoefficients estimates the coefficients C of a policy without donors on one
// replicate of panels of the reference prior.
func stagedCoefficients(ctx context.Context, p Panels, random seed.Stream) ([][][]float64, error) {
	prior, err := informed.New(p.Tasks, nil)
	if err != nil {
		return nil, err
	}
	return pilot.StagedCoefficients(ctx, informed.Suite{prior}, staged.Plan{}, p.Candidates, []int{mostAfter}, max(1, p.Draws/panelsPerDraw), []seed.Stream{random})
}

// Staged is HBN in more than two stages: sizes and weights of a stage are fixed
// before it is seen, by all stages before it. It is not in the paper.
var Staged = &Policy{
	Name: "hbn_staged", Label: "Staged HBN", Macro: "Staged", Donors: None,
	InStages: &InStages{After: mostAfter},
	Design: Design{
		Unit: "staged", OnPanels: stagedCoefficients, Candidates: pilot.StagedCandidates,
		Seconds: func(p Panels) float64 { return (0.0009 + 3e-5*float64(p.Tasks)) * p.draws(0, 1./128, 1) },
	},
}

// LOO is HBN, but for the stage weight: each task has its own, by the pilots of
// all other tasks and never by its own. It is not in the paper.
var LOO = &Policy{
	Name: "hbn_loo", Label: "Leave-one-out HBN", Macro: "LOO", Donors: None,
	InStages: &InStages{After: 1, LeaveOneOut: true},
	Design:   Design{As: HBN},
}

// Informed is HBN in two stages under a prior that knows donors, one policy for
// each. InformedStaged is the same in more stages. Neither is in the paper.
var (
	Informed       = knowingAll(Policy{Name: "hbn_informed", Label: "Informed HBN", Macro: "Informed", InStages: &InStages{After: 1}})
	InformedStaged = knowingAll(Policy{Name: "hbn_informed_staged", Label: "Informed staged HBN", Macro: "InformedStaged", InStages: &InStages{After: mostAfter}})
)

// knowingAll is a policy with every donor that there is.
func knowingAll(like Policy) (all List) {
	for _, d := range AllDonors {
		if d == None {
			continue
		}
		own := like
		own.Macro, own.Donors = like.Macro+d.Macro, d
		own.Design.OnDonors, own.Design.Candidates = true, pilot.StagedCandidates
		all = append(all, &own)
	}
	return all
}

// InStagesKnowing is the policy in more than two stages that has some donors.
func InStagesKnowing(d *Donors) *Policy {
	if d == None {
		return Staged
	}
	return InformedStaged.knowing(d)
}

// SuiteFloor is the part of its own budget that every benchmark of a suite has at least,
// where nothing else is said. On all of the paper's profiles the error of its own mean is then
// at most 1.5 times the error of a separate run (docs/policies.md).
const SuiteFloor = 2.0 / 3

// FloorOf is a floor of some rollouts per task in rollouts of a benchmark, rounded up.
func FloorOf(tasks int, rollouts float64) int { return int(math.Ceil(float64(tasks)*rollouts - 1e-6)) }

// knowing is the policy of the list that has some donors.
func (l List) knowing(d *Donors) *Policy {
	return l[slices.IndexFunc(l, func(p *Policy) bool { return p.Donors == d })]
}

// Donors is the knowledge of a policy about the tasks before it asks a rollout of them:
// counts of other evaluations. It never has the counts of the profile that it is replayed
// on. Its name and its donors identify a policy.
type Donors struct {
	Name  string // in files; never changes
	Label string // for people, behind a policy's label
	Macro string // within the names of LaTeX commands, letters only

	// Rollouts is how many each task has of a donor, drawn anew from its profile; 0
	// where the counts are as published.
	Rollouts int

	// Siblings are the other checkpoints on the same benchmark. Without, donors are
	// an earlier evaluation of the same one.
	Siblings bool
}

// What there is to know.
var (
	None = &Donors{Name: "none", Label: "nothing known"}

	// The published counts of the other checkpoints on the benchmark, or 16 rollouts of each
	// task by every one of them.
	Siblings   = &Donors{Name: "siblings", Label: "siblings", Macro: "Siblings", Siblings: true}
	Siblings16 = &Donors{Name: "siblings16", Label: "siblings by 16", Macro: "SiblingsOneSix", Rollouts: 16, Siblings: true}

	// An earlier evaluation of the same model with 16 or 64 rollouts of each task.
	Earlier16 = &Donors{Name: "earlier16", Label: "earlier 16", Macro: "EarlierOneSix", Rollouts: 16}
	Earlier64 = &Donors{Name: "earlier64", Label: "earlier 64", Macro: "EarlierSixFour", Rollouts: 64}
)

// AllDonors is all that a policy may know, in the order of files and tables.
var AllDonors = []*Donors{None, Siblings, Siblings16, Earlier16, Earlier64}

// Key tells policies apart in the rows of files.
type Key struct{ Name, Donors string }

// String is the key as labels of rows have it: hbn, or hbn_informed siblings.
func (k Key) String() string {
	if k.Donors == None.Name {
		return k.Name
	}
	return k.Name + " " + k.Donors
}

// Key is the key of the policy in rows.
func (p *Policy) Key() Key { return Key{p.Name, p.Donors.Name} }

// Title is the policy with its donors, for people.
func (p *Policy) Title() string {
	if p.Donors == None {
		return p.Label
	}
	return p.Label + ", " + p.Donors.Label
}

// Count returns the knowledge of a profile's tasks by the counts of others, as they are or
// drawn anew, each source as a stage: its siblings, or itself where the donor is an earlier
// evaluation of the same model. A profile is never a donor of its own counts.
func (d *Donors) Count(p profile.Profile, sources []profile.Profile, draw pilot.Outcomes) ([]informed.Donor, error) {
	var all []informed.Donor
	for stage, source := range sources {
		if source.Benchmark != p.Benchmark {
			return nil, fmt.Errorf("%s is of another benchmark than %s: it cannot be its donor", source.Name(), p.Name())
		}
		if (d.Siblings || d.Rollouts == 0) && source.Model == p.Model {
			return nil, fmt.Errorf("%s cannot be a donor of itself", p.Name())
		}
		all = append(all, counted(p, source, d.Rollouts, stage, draw))
	}
	return all, nil
}

// Prior is the prior that the donors of a profile inform, by their counts as Count has them.
func (d *Donors) Prior(p profile.Profile, sources []profile.Profile, draw pilot.Outcomes) (*informed.Prior, error) {
	donors, err := d.Count(p, sources, draw)
	if err != nil {
		return nil, err
	}
	return informed.New(p.N(), donors)
}

// counted is one profile's counts of another's tasks, or with rollouts above 0 as many
// rollouts of each, drawn from it. Tasks that it lacks have none.
func counted(p, source profile.Profile, rollouts, stage int, draw pilot.Outcomes) informed.Donor {
	d := informed.Donor{Name: source.Name(), Passes: make([]int, p.N()), Rollouts: make([]int, p.N())}
	at := make(map[string]int, source.N())
	for i, id := range source.TaskIDs {
		at[id] = i
	}
	for i, id := range p.TaskIDs {
		k, there := at[id]
		switch {
		case !there:
		case rollouts == 0:
			d.Passes[i], d.Rollouts[i] = source.PassCounts[k], source.Rollouts(k)
		default:
			d.Passes[i], d.Rollouts[i] = draw(stage, i, rollouts, source.P(k)), rollouts
		}
	}
	return d
}
