package replay

import (
	"context"
	"fmt"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/method/neyman"
	"speceval/method/staged"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// stagesReplay replays policies in stages, with the same donors, on one profile, and HBN on
// the same draws.
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
	stages *staged.Stages
	trial  *pilot.Trial // under the donors of the draw at hand

	ratio, difference replicated   // of the ratio itself, and of how far it is above HBN's
	errors            *sensitivity // of the ratio to the profile; nil where donors are drawn, which may be from it
}

// A replay of policies in stages has few draws, in even replicates whose means agree far
// better than means of as many independent draws. Where donors are drawn anew, each draw has
// its own.
const (
	stagesDraws    = 27   // of a replicate
	donorsDraws    = 17   // of one where donors are drawn anew
	stagesFraction = 1024 // draws of other policies for which there is a replicate
)

// drawsOf is the draws of a replicate with these donors, and the number of replicates, two at
// least for an error.
func drawsOf(known *policy.Donors, all int) (draws, replicates int) {
	draws = stagesDraws
	if known.Rollouts > 0 {
		draws = donorsDraws
	}
	return draws, max(2, all/stagesFraction)
}

// replay takes all draws: the runs then have the ratios and the differences to HBN's.
func (s *stagesReplay) replay(ctx context.Context, all int) error {
	ps, tasks, sum := probabilities(s.profile), s.profile.N(), s.profile.VarianceSum()
	hbn := map[int32]func(pilot.Outcomes) (float64, error){}
	for _, d := range s.hbn {
		hbn[d.Budget] = twoStageRatio(ps, d, policy.HBN.TwoStage.Allocates(s.prior, setting(d)))
	}
	draws, replicates := drawsOf(s.known, all)
	for replicate := range replicates {
		even := pilot.NewEven(draws, tasks*(1+len(s.sources)), s.at.Child("draws").Index(replicate).Stream())
		for draw := range draws {
			if s.known.Rollouts > 0 || replicate+draw == 0 {
				donors := func(source, task, rollouts int, p float64) int { // whose tasks come after the profile's
					return even.Passes(0, tasks*(1+source)+task, rollouts, p)
				}
				if err := s.renew(donors); err != nil {
					return err
				}
			}
			known := map[int32]float64{}
			for budget, ratio := range hbn {
				var err error
				if known[budget], err = ratio(even.Passes); err != nil {
					return err
				}
			}
			for _, r := range s.runs {
				left, err := r.trial.Run(ps, even.Passes)
				if err != nil {
					return fmt.Errorf("%s at budget %d: %w", r.policy.Key(), r.design.Budget, err)
				}
				ratio := float64(r.design.Budget) * left / sum
				r.ratio.within.addDraw(ratio)
				if r.errors != nil {
					rollouts, passes, shrinkage := r.trial.Decided()
					r.errors.addEvaluation(replicate, rollouts, passes, shrinkage)
				}
				if its, there := known[r.design.Budget]; there {
					r.difference.within.addDraw(ratio - its)
				}
			}
			even.Next()
		}
		for _, r := range s.runs {
			r.ratio.next()
			r.difference.next()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// twoStageRatio is the ratio of a policy in two stages by its pilot.
func twoStageRatio(ps []float64, d variance.Design, rule pilot.Scores) func(pilot.Outcomes) (float64, error) {
	vs, passes, continuation := variances(ps), make([]int, len(ps)), continued(setting(d), rule)
	all := total(vs)
	return func(draw pilot.Outcomes) (float64, error) {
		for i, p := range ps {
			passes[i] = draw(0, i, int(d.M), p)
		}
		allocation, err := continuation(passes)
		sum := 0.0
		for i, n := range allocation {
			sum += vs[i] / float64(n)
		}
		return neyman.Risk(int(d.Budget), int(d.M), d.W, sum/all), err
	}
}

// renew gives the runs donors, whose counts are drawn if they are not known.
func (s *stagesReplay) renew(draw pilot.Outcomes) error {
	prior, err := s.known.Prior(s.profile, s.sources, draw)
	if err != nil {
		return err
	}
	posterior := prior.Posterior()
	for _, r := range s.runs {
		if d, tasks := r.design, s.profile.N(); r.stages == nil {
			plan, err := r.policy.InStages.Plan(tasks, int(d.Budget), int(d.M), d.W)
			if err != nil {
				return err
			}
			if r.stages, err = staged.New(tasks, int(d.Budget), plan); err != nil {
				return err
			}
		}
		r.trial = pilot.NewTrial(r.stages, posterior)
	}
	return nil
}

// replicated is the mean of values that come in independent replicates.
type replicated struct {
	means  sample // of the replicates
	within sample // of the values of the replicate at hand
	draws  int32
}

// next ends a replicate.
func (r *replicated) next() {
	if r.within.draws > 0 {
		r.means.addDraw(r.within.mean())
		r.draws += int32(r.within.draws)
	}
	r.within = sample{}
}

// stagesUnit replays the policies in stages that have some donors on one profile. A
// profile without siblings has none to be informed by: it is replayed without, and
// a note says so.
func (b *builder) stagesUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	at := "/" + known.Name + "/" + of.Name()
	u := b.unit("stages"+at, []string{keySeed, keyBudgets, keyDraws, keyOrder}, designsID)
	draws, replicates := drawsOf(known, b.Draws)
	u.Cost = stagesSeconds * float64(of.N()*draws*replicates) * b.stagesWork()
	u.Outputs = append(u.Outputs, partFile("differences"+at))
	if known.Rollouts == 0 {
		u.Outputs = append(u.Outputs, partFile("errors"+at))
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
						run.errors = newSensitivity(p, d.Budget, replicates)
					}
					s.runs = append(s.runs, run)
				}
			}
		}
		err = s.replay(ctx, b.Draws)
		return s.results(), err
	})
	return u
}

// results are the rows of all runs. There are differences to HBN where that is replayed, and
// errors that come from the profile where the donors are not drawn from it.
func (s *stagesReplay) results() (all results) {
	for _, r := range s.runs {
		d := &r.design
		ratio := variance.Ratio{
			Subject: variance.Subject{Benchmark: s.profile.Benchmark, Model: s.profile.Model, NTasks: d.NTasks, Budget: d.Budget, Policy: r.policy.Name, Donors: r.policy.Donors.Name}, M: &d.M, W: &d.W,
			VarianceRatio: r.ratio.means.mean(), RatioSE: r.ratio.means.se(), Draws: r.ratio.draws,
		}
		if r.policy.InStages.LeaveOneOut {
			ratio.W = nil // each task has its own
		}
		all.ratios = append(all.ratios, ratio)
		if r.errors != nil {
			row := variance.ProfileError{Subject: ratio.Subject}
			r.errors.fill(&row)
			all.errors = append(all.errors, row)
		}
		if r.difference.draws > 0 {
			all.differences = append(all.differences, variance.Difference{
				Subject: ratio.Subject, Difference: r.difference.means.mean(), DifferenceSE: r.difference.means.se(), Draws: r.difference.draws,
			})
		}
	}
	return all
}
