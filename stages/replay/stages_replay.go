package replay

import (
	"context"
	"fmt"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/sweep"
	"speceval/internal/trial"
	"speceval/internal/variance"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
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
	err := sweep.Each(ctx, s.ps, draws, longest, sweep.OneStream(pilots), func(sw *sweep.Sweep, first int) error {
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
func (s *stagesReplay) hbnRatios(sw *sweep.Sweep) (map[int32][]float64, error) {
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
func (r *stagesRun) under(posterior *informed.Posterior, tasks int) (*trial.Trial, error) {
	d := r.design
	plan, err := r.policy.InStages.Plan(tasks, int(d.Budget), int(d.M), d.W)
	if err != nil {
		return nil, err
	}
	stages, err := staged.New(tasks, int(d.Budget), plan)
	if err != nil {
		return nil, err
	}
	return trial.New(stages, posterior), nil
}

// draw takes one draw of every run; number counts it among all.
func (s *stagesReplay) draw(sw *sweep.Sweep, draw, number int, hbn map[int32][]float64) error {
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
