package replay

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// stagesReplay replays policies in stages, all with the same donors, on one profile.
// Their pilots are those that HBN is replayed on, draw by draw; what comes after has
// random numbers of its own, which all of them share.
type stagesReplay struct {
	profile profile.Profile
	ps      []float64
	total   float64           // Σ p(1−p)
	sources []profile.Profile // of the donors
	known   *policy.Donors
	prior   *neyman.Prior
	hbn     []variance.Design // HBN's, by budget
	runs    []*stagesRun
	at      seed.Seed

	prefix []int // passes of a pilot, by task
}

// Policies in stages are replayed on a fraction of the draws of others, which leaves
// their means good to a fiftieth of a percentage point. Where donors are drawn anew, a
// replay has so many draws of them and a smaller fraction.
const (
	donorDraws     = 32
	stagesFraction = 8
	donorsFraction = 16
)

// drawsOf is how many of the draws a replay with these donors takes, two at least for
// an error, and how many times the donors are drawn.
func drawsOf(known *policy.Donors, all int) (draws, clusters int) {
	if known.Rollouts == 0 {
		return max(2, all/stagesFraction), 1
	}
	draws = max(2, all/donorsFraction)
	return draws, min(donorDraws, max(1, draws/2))
}

// replay takes all draws: the runs then have the ratios and the differences to HBN's.
func (s *stagesReplay) replay(ctx context.Context, draws int, pilots seed.Stream) error {
	draws, clusters := drawsOf(s.known, draws)
	longest := 0
	for _, d := range s.hbn {
		longest = max(longest, int(d.Budget)-1)
	}
	for _, r := range s.runs {
		longest = max(longest, int(r.design.Budget)-1)
	}
	s.prefix = make([]int, len(s.ps))
	cluster := -1
	err := pilot.EachSweep(ctx, s.ps, draws, longest, pilot.OneStream(pilots), func(sw *pilot.Sweep, first int) error {
		hbn, err := s.hbnRatios(sw)
		if err != nil {
			return err
		}
		for draw := range sw.Draws() {
			if now := (first + draw) * clusters / draws; now != cluster {
				cluster = now
				if err := s.renew(cluster); err != nil {
					return err
				}
			}
			if err := s.draw(sw, draw, first+draw, hbn); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	for _, r := range s.runs {
		r.ratio.next()
		r.difference.next()
	}
	return err
}

// hbnRatios are HBN's ratios on the draws of a sweep, by budget.
func (s *stagesReplay) hbnRatios(sw *pilot.Sweep) (map[int32][]float64, error) {
	ratios := map[int32][]float64{}
	bench := policy.Bench{Prior: s.prior}
	of := func(k int) (policy.Continuation, error) {
		return policy.HBN.TwoStage.Continuation(&bench, setting(s.hbn[k])), nil
	}
	err := eachValue(sw, s.hbn, of, func(k, _ int, c float64) {
		d := s.hbn[k]
		ratios[d.Budget] = append(ratios[d.Budget], neyman.Risk(int(d.Budget), int(d.M), d.W, c))
	})
	return ratios, err
}

// renew begins a cluster of draws: with donors drawn anew, if they are drawn.
func (s *stagesReplay) renew(cluster int) error {
	prior, err := s.informedBy(s.at.Child("donors").Index(cluster))
	if err != nil {
		return err
	}
	posterior := prior.Posterior()
	for _, r := range s.runs {
		if cluster > 0 {
			r.ratio.next()
			r.difference.next()
		}
		if r.trial, err = r.under(posterior, len(s.ps)); err != nil {
			return err
		}
	}
	return nil
}

// informedBy is the prior that the donors inform, as they are or drawn from a branch
// of the seed tree.
func (s *stagesReplay) informedBy(at seed.Seed) (*informed.Prior, error) {
	random := at.Stream()
	all, err := s.known.Count(s.profile, s.sources, &random)
	if err != nil {
		return nil, err
	}
	return informed.New(len(s.ps), all)
}

// under makes the run's evaluations ready.
func (r *stagesRun) under(posterior *informed.Posterior, tasks int) (*pilot.Trial, error) {
	d := r.design
	plan, err := r.policy.InStages.Plan(tasks, int(d.Budget), int(d.M), d.W)
	if err != nil {
		return nil, err
	}
	stages, err := staged.New(tasks, int(d.Budget), plan)
	if err != nil {
		return nil, err
	}
	return pilot.NewTrial(stages, posterior), nil
}

// draw takes one draw of every run; number counts it among all.
func (s *stagesReplay) draw(sw *pilot.Sweep, draw, number int, hbn map[int32][]float64) error {
	later := s.at.Child("later").Stream().At(uint64(number))
	for _, r := range s.runs {
		sw.Pilot(draw, int(r.design.M), s.prefix)
		random := later
		sum, err := r.trial.Run(s.ps, s.prefix, &random)
		if err != nil {
			return fmt.Errorf("%s at budget %d: %w", r.policy.Key(), r.design.Budget, err)
		}
		ratio := float64(r.design.Budget) * sum / s.total
		r.ratio.add(ratio)
		if its := hbn[r.design.Budget]; its != nil {
			r.difference.add(ratio - its[draw])
		}
	}
	return nil
}

// Policies in stages are replayed on a quarter of the redrawn profiles, and on a
// quarter of the draws: an evaluation takes ten times as long as one in two, or more.
const fewerResamples = 4

// resampleStages is resample for policies in stages, under the designs as they are
// stored. The donors stay as they are.
func (b *builder) resampleStages(ctx context.Context, job *dag.Job, known *policy.Donors, of pair.Pair, ratios []variance.Ratio, at seed.Seed) ([]variance.ProfileError, error) {
	p, err := of.Profile(job)
	if err != nil {
		return nil, err
	}
	s := &stagesReplay{profile: p, known: known, ps: probabilities(p), at: at}
	if s.sources, err = b.sources(job, of, known); err != nil {
		return nil, err
	}
	for _, r := range ratios {
		d := variance.Design{NTasks: r.NTasks, Budget: r.Budget, M: *r.M}
		if r.W != nil {
			d.W = *r.W
		}
		s.runs = append(s.runs, &stagesRun{policy: b.policies.Find(r.Key()), design: d})
	}
	if err := s.renew(0); err != nil {
		return nil, err
	}
	return s.resample(ctx, ratios, max(2, b.Resamples/fewerResamples), max(2, b.ResampleDraws/fewerResamples))
}

// resample finds the errors of the ratios, in their order.
func (s *stagesReplay) resample(ctx context.Context, ratios []variance.Ratio, resamples, draws int) ([]variance.ProfileError, error) {
	errors := make([]pooled, len(s.runs))
	random := s.at.Child("profiles").Stream()
	groups := max(1, resamples/together)
	for g := range groups {
		var others []profile.Profile
		for range (g+1)*resamples/groups - g*resamples/groups {
			others = append(others, redrawn(s.profile, &random))
		}
		for k, r := range s.runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			table, err := r.crossed(s.profile, others, draws, s.at.Child("draws").Index(g).Stream())
			if err != nil {
				return nil, err
			}
			errors[k].add(table)
		}
	}
	var rows []variance.ProfileError
	for k, r := range ratios {
		row := variance.ProfileError{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget, Policy: r.Policy, Donors: r.Donors,
			ProfileSE: errors[k].spread(), Resamples: int32(resamples), Draws: int32(draws),
		}
		row.Shift, row.ShiftSE = errors[k].mean()
		rows = append(rows, row)
	}
	return rows, nil
}

// crossed is by how much the ratio of each redrawn profile is above the profile's own,
// draw by draw: all meet the same random numbers.
func (r *stagesRun) crossed(p profile.Profile, others []profile.Profile, draws int, random seed.Stream) (*crossed, error) {
	own, err := r.ratios(p, draws, random)
	if err != nil {
		return nil, err
	}
	table := newCrossed(len(others), draws)
	for row, other := range others {
		theirs, err := r.ratios(other, draws, random)
		if err != nil {
			return nil, err
		}
		for draw, ratio := range theirs {
			table.set(row, draw, ratio-own[draw])
		}
	}
	return table, nil
}

// ratios are those of some draws on a profile.
func (r *stagesRun) ratios(p profile.Profile, draws int, random seed.Stream) ([]float64, error) {
	ps, all := probabilities(p), p.VarianceSum()
	ratios := make([]float64, draws)
	for draw := range ratios {
		own := random.At(uint64(draw))
		sum, err := r.trial.Run(ps, nil, &own)
		if err != nil {
			return nil, err
		}
		ratios[draw] = float64(r.design.Budget) * sum / all
	}
	return ratios, nil
}

// stagesRun is the replay of a policy in stages at one budget.
type stagesRun struct {
	policy *policy.Policy
	design variance.Design
	trial  *pilot.Trial // under the donors of the replicate at hand

	ratio, difference clustered // of the ratio itself, and of how far it is above HBN's
}

// clustered is the mean of values that come in clusters: evaluations that share what
// was drawn of donors.
type clustered struct {
	means  paired // of the clusters
	within paired // of the values of the cluster at hand
	all    paired
}

func (c *clustered) add(value float64) {
	c.within.add(value)
	c.all.add(value)
}

// next ends a cluster.
func (c *clustered) next() {
	c.means.add(c.within.mean())
	c.within = paired{}
}

// se is the standard error of the mean: by the clusters, or by the values where all
// are in one.
func (c *clustered) se() float64 {
	if c.means.draws > 1 {
		return c.means.se()
	}
	return c.all.se()
}

// rows are the ratio of a run with its difference to HBN's, which is nil if HBN is
// not replayed.
func (r *stagesRun) rows(p profile.Profile) (variance.Ratio, *variance.Difference) {
	d := r.design
	ratio := variance.Ratio{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget,
		Policy: r.policy.Name, Donors: r.policy.Donors.Name, M: &d.M, W: &d.W,
		VarianceRatio: r.ratio.all.mean(), RatioSE: r.ratio.se(), Draws: int32(r.ratio.all.draws),
	}
	if r.policy.InStages.LeaveOneOut {
		ratio.W = nil // each task has its own
	}
	if r.difference.all.draws == 0 {
		return ratio, nil
	}
	return ratio, &variance.Difference{
		Benchmark: p.Benchmark, Model: p.Model, NTasks: d.NTasks, Budget: d.Budget,
		Policy: r.policy.Name, Donors: r.policy.Donors.Name,
		Difference: r.difference.all.mean(), DifferenceSE: r.difference.se(), Draws: int32(r.difference.all.draws),
	}
}

// mean is the mean of the values, NaN of none.
func (p *paired) mean() float64 {
	if p.draws == 0 {
		return math.NaN()
	}
	return p.first + p.drift/p.draws
}
