package replay

import (
	"context"
	"fmt"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/method/staged"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// stagesReplay replays policies in stages, all with the same donors, on one profile. Their
// pilots are HBN's, draw by draw; the stages after have random numbers of their own, which
// all of them share.
type stagesReplay struct {
	profile profile.Profile
	sources []profile.Profile // of the donors
	known   *policy.Donors
	prior   *neyman.Prior
	hbn     []variance.Design // HBN's, by budget
	runs    []*stagesRun
	at      seed.Seed
}

// stagesRun is the replay of a policy in stages at one budget.
type stagesRun struct {
	policy *policy.Policy
	design variance.Design
	trial  *pilot.Trial // under the donors of the replicate at hand

	ratio, difference clustered    // of the ratio itself, and of how far it is above HBN's
	errors            *sensitivity // of the ratio to the profile; nil where donors are drawn, which may be from it
}

// Policies in stages are replayed on a fraction of the draws of others, which leaves their
// means good to a fiftieth of a percentage point. Where donors are drawn anew, what they are
// decides as much as all else that is drawn: a draw of them has few evaluations, more of
// fewer tasks.
const (
	stagesFraction = 8
	donorsFraction = 64  // draws of donors
	donorTasks     = 100 // that the evaluations with one of them have in all
)

// drawsOf is how many of the draws a replay of some tasks with these donors takes, two at
// least for an error, and how many times the donors are drawn.
func drawsOf(known *policy.Donors, tasks, all int) (draws, clusters int) {
	if known.Rollouts == 0 {
		return max(2, all/stagesFraction), 1
	}
	clusters = max(2, all/donorsFraction)
	return clusters * max(2, donorTasks/tasks), clusters
}

// replay takes all draws: the runs then have the ratios and the differences to HBN's.
func (s *stagesReplay) replay(ctx context.Context, draws int, pilots seed.Stream) error {
	draws, clusters := drawsOf(s.known, s.profile.N(), draws)
	longest := 0
	for _, d := range s.hbn {
		longest = max(longest, int(d.Budget)-1)
	}
	for _, r := range s.runs {
		longest = max(longest, int(r.design.Budget)-1)
	}
	ps, all, prefix := probabilities(s.profile), s.profile.VarianceSum(), make([]int, s.profile.N())
	cluster := -1
	err := pilot.EachSweep(ctx, ps, draws, longest, pilots, func(sw *pilot.Sweep, first int) error {
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
			later := s.at.Child("later").Stream().At(uint64(first + draw))
			for _, r := range s.runs {
				sw.Pilot(draw, int(r.design.M), prefix)
				random := later
				ratio, err := r.once(ps, all, prefix, &random)
				if err != nil {
					return fmt.Errorf("%s at budget %d: %w", r.policy.Key(), r.design.Budget, err)
				}
				r.ratio.add(ratio)
				if r.errors != nil {
					decisive, shrinkage := r.trial.Decided()
					r.errors.add(decisive.Rollouts, decisive.Passes, shrinkage)
				}
				if its := hbn[r.design.Budget]; its != nil {
					r.difference.add(ratio - its[draw])
				}
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
	of := func(k int) (policy.Continuation, error) { return continuation(s.hbn[k], &bench) }
	err := eachValue(sw, s.hbn, of, func(k, _ int, c float64) {
		d := s.hbn[k]
		ratios[d.Budget] = append(ratios[d.Budget], neyman.Risk(int(d.Budget), int(d.M), d.W, c))
	})
	return ratios, err
}

// renew begins a cluster of draws: with donors drawn anew, if they are drawn.
func (s *stagesReplay) renew(cluster int) error {
	prior, err := informedBy(s.known, s.profile, s.sources, s.at.Child("donors").Index(cluster))
	if err != nil {
		return err
	}
	posterior := prior.Posterior()
	for _, r := range s.runs {
		if cluster > 0 {
			r.ratio.next()
			r.difference.next()
		}
		d, tasks := r.design, s.profile.N()
		plan, err := r.policy.InStages.Plan(tasks, int(d.Budget), int(d.M), d.W)
		if err != nil {
			return err
		}
		stages, err := staged.New(tasks, int(d.Budget), plan)
		if err != nil {
			return err
		}
		r.trial = pilot.NewTrial(stages, posterior)
	}
	return nil
}

// once is the ratio of one evaluation, all being Σ p(1−p).
func (r *stagesRun) once(ps []float64, all float64, prefix []int, random *seed.Stream) (float64, error) {
	sum, err := r.trial.Run(ps, prefix, random)
	return float64(r.design.Budget) * sum / all, err
}

// clustered is the mean of values that come in clusters: evaluations with the same draw of
// donors.
type clustered struct {
	means  sample // of the clusters
	within sample // of the values of the cluster at hand
	all    sample
}

func (c *clustered) add(value float64) {
	c.within.add(value)
	c.all.add(value)
}

// next ends a cluster.
func (c *clustered) next() {
	c.means.add(c.within.mean())
	c.within = sample{}
}

// se is the standard error of the mean: by the clusters, or by the values where all
// are in one.
func (c *clustered) se() float64 {
	if c.means.draws > 1 {
		return c.means.se()
	}
	return c.all.se()
}

// stagesID is the unit that replays the policies in stages with some donors on a
// profile.
func stagesID(known *policy.Donors, p pair.Pair) string {
	return "stages/" + known.Name + "/" + p.Name()
}

// stagesDifferences is where it keeps the differences to HBN.
func stagesDifferences(known *policy.Donors, p pair.Pair) string {
	return partFile("differences/" + known.Name + "/" + p.Name())
}

// stagesErrors is where it keeps the errors that come from the profile.
func stagesErrors(known *policy.Donors, p pair.Pair) string {
	return partFile("errors/" + known.Name + "/" + p.Name())
}

// stagesUnit replays the policies in stages that have some donors on one profile. A
// profile without siblings has none to be informed by: it is replayed without, and
// a note says so.
func (b *builder) stagesUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	u := b.unit(stagesID(known, of), []string{keySeed, keyBudgets, keyDraws, keyOrder}, designsID)
	u.Cost = b.ofDraws(stagesSeconds) * float64(of.N()) / 100
	draws, _ := drawsOf(known, of.N(), b.Draws)
	u.Cost *= float64(draws) / float64(b.Draws)
	u.Outputs = append(u.Outputs, stagesDifferences(known, of))
	if known.Rollouts == 0 {
		u.Outputs = append(u.Outputs, stagesErrors(known, of))
	}
	b.replayUnit(&u, of, known, func(ctx context.Context, job *dag.Job, p profile.Profile, selected []variance.Design, prior *neyman.Prior, at seed.Seed) (results, error) {
		sources, err := b.sources(job, of, known)
		if err != nil {
			return results{}, err
		}
		s := &stagesReplay{profile: p, sources: sources, known: known, prior: prior, at: at}
		s.hbn = designsFor(selected, policy.HBN)
		for _, policy := range inStages(known) {
			for _, d := range designsFor(selected, policy) {
				if d.For(p.Benchmark, p.Model) {
					run := &stagesRun{policy: policy, design: d}
					if known.Rollouts == 0 {
						run.errors = newSensitivity(p, d.Budget)
					}
					s.runs = append(s.runs, run)
				}
			}
		}
		err = s.replay(ctx, b.Draws, b.branch(profileID(of)).Stream())
		return s.results(), err
	})
	return u
}

// results are the rows of all runs. There are differences to HBN where that is replayed, and
// errors that come from the profile where its donors are known and there are fewestDraws.
func (s *stagesReplay) results() (all results) {
	for _, r := range s.runs {
		d := &r.design
		ratio := variance.Ratio{
			Benchmark: s.profile.Benchmark, Model: s.profile.Model, NTasks: d.NTasks, Budget: d.Budget,
			Policy: r.policy.Name, Donors: r.policy.Donors.Name, M: &d.M, W: &d.W,
			VarianceRatio: r.ratio.all.mean(), RatioSE: r.ratio.se(), Draws: int32(r.ratio.all.draws),
		}
		if r.policy.InStages.LeaveOneOut {
			ratio.W = nil // each task has its own
		}
		all.ratios = append(all.ratios, ratio)
		if r.errors != nil && r.errors.draws >= fewestDraws {
			row := profileErrorOf(ratio)
			r.errors.fill(&row)
			all.errors = append(all.errors, row)
		}
		if r.difference.all.draws > 0 {
			all.differences = append(all.differences, variance.Difference{
				Benchmark: ratio.Benchmark, Model: ratio.Model, NTasks: d.NTasks, Budget: d.Budget, Policy: ratio.Policy, Donors: ratio.Donors,
				Difference: r.difference.all.mean(), DifferenceSE: r.difference.se(), Draws: int32(r.difference.all.draws),
			})
		}
	}
	return all
}
