package studies

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
)

// gated is a gate for a model that is better than its baseline by some margins.
type gated struct {
	budget int // of the first look; each further one doubles it
	looks  int
	better float64 // in margins: −1 is just too bad, 0 is as good
}

// margin is what the drill's gates allow.
const margin = 0.03

// allowance is by how much gates may be wrong more often than they say, on average over
// profiles: their bounds are of approximate intervals.
const allowance = 0.01

// verdicts are the outcomes of one profile's gates.
type verdicts struct {
	count    int
	outcomes [3]int // by estimate.Outcome
	spent    float64
	se       float64 // of the difference at the last look that was needed
}

// gate lets models pass a gate whose baseline is the profile, both evaluated by HBN, and
// compares wrong verdicts with the gate's error rate.
func (s *study) gate(ctx context.Context) error {
	s.heading(fmt.Sprintf("gate: no worse than %.0f points, %d pairs of evaluations by HBN for each of %d profiles", 100*margin, s.number, len(s.profiles)),
		"b at the looks", "true difference, points", "no worse", "most of a profile", "worse", "most of a profile", "undecided", "rollouts per task", "no worse, by the stated error")
	for _, g := range []gated{{budget: 8, looks: 1}, {budget: 16, looks: 1}, {budget: 64, looks: 1}, {budget: 16, looks: 3}} {
		for _, g.better = range []float64{-2, -1, 0} {
			all, err := collect(ctx, s, fmt.Sprintf("gate %+v", g), func(_ int, p profile.Profile, random *seed.Stream) (verdicts, error) {
				return s.passes(g, p, random)
			})
			if err != nil {
				return err
			}
			if err := s.judged(g, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// judged prints the verdicts of all profiles, and is an error if they are wrong too often.
func (s *study) judged(g gated, all []verdicts) error {
	var shares, most [3]float64
	var spent, power, variance float64
	n := float64(len(all))
	for _, v := range all {
		for k, count := range v.outcomes {
			share := float64(count) / float64(v.count)
			shares[k] += share / n
			most[k] = math.Max(most[k], share)
			variance += share * (1 - share) / float64(v.count) / (n * n) / 2
		}
		spent += v.spent / float64(v.count) / n
		p, err := estimate.Gate{Margin: margin, Look: g.looks, Looks: g.looks}.Power(v.se / float64(v.count))
		if err != nil {
			return err
		}
		power += p / n
	}
	looks := fmt.Sprint(g.budget)
	for k := 1; k < g.looks; k++ {
		looks += fmt.Sprintf(", %d", g.budget<<k)
	}
	expected := ""
	if g.better == 0 {
		expected = percent(power)
	}
	s.line(looks, fmt.Sprintf("%+.0f", 100*g.better*margin), percent(shares[estimate.NoWorse]), percent(most[estimate.NoWorse]),
		percent(shares[estimate.Worse]), percent(most[estimate.Worse]), percent(shares[estimate.Undecided]), fmt.Sprintf("%.1f", spent), expected)
	wrong := map[estimate.Outcome]bool{estimate.NoWorse: g.better <= -1, estimate.Worse: g.better >= -1}
	for outcome, is := range wrong {
		if is && s.number >= fewest && shares[outcome] > estimate.GateRate+allowance+4*math.Sqrt(variance) {
			return fmt.Errorf("b = %s: %.1f%% of models that are %+.0f points better are found to be %v", looks, 100*shares[outcome], 100*g.better*margin, outcome)
		}
	}
	return nil
}

// passes lets models pass the gate of one profile.
func (s *study) passes(g gated, p profile.Profile, random *seed.Stream) (v verdicts, err error) {
	e := s.evaluator()
	baseline := probabilities(p)
	for i, q := range baseline { // a model can be worse on tasks that it solves
		baseline[i] = min(0.999, max(0.001, q))
	}
	model := append([]float64{}, baseline...)
	if g.better != 0 {
		shift(model, g.better*margin)
	}
	if average(model)-average(baseline) > g.better*margin+1e-9 { // no model is as bad as that
		baseline = append([]float64{}, model...)
		shift(baseline, -g.better*margin)
	}
	for range s.number {
		if err := s.pass(e, g, model, baseline, random, &v); err != nil {
			return v, err
		}
	}
	return v, nil
}

// pass evaluates a model and its baseline until the gate is decided, or has had its looks.
func (s *study) pass(e *evaluator, g gated, model, baseline []float64, random *seed.Stream, v *verdicts) error {
	var tasks [2][]estimate.Task
	for look := 1; ; look++ {
		var means [2]estimate.Bounded
		for k, ps := range [2][]float64{model, baseline} {
			var err error
			if look == 1 {
				tasks[k], err = e.evaluate(ps, g.budget, plan(g.budget), random)
			} else {
				tasks[k], err = e.extend(tasks[k], ps, g.budget<<(look-2), random)
			}
			if err != nil {
				return err
			}
			m, err := estimate.Of(s.prior, tasks[k])
			if err != nil {
				return err
			}
			means[k] = m.Bounded()
		}
		difference := means[0].Minus(means[1])
		verdict, err := estimate.Gate{Margin: margin, Look: look, Looks: g.looks}.Judge(difference)
		if err != nil {
			return err
		}
		if verdict.Outcome != estimate.Undecided || look == g.looks {
			v.count++
			v.outcomes[verdict.Outcome]++
			v.spent += float64(g.budget << (look - 1))
			v.se += difference.StandardError
			return nil
		}
	}
}
