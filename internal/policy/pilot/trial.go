package pilot

import (
	"context"
	"math"

	"speceval/internal/policy/seed"
	"speceval/method/informed"
	"speceval/method/staged"
)

// Trials simulate evaluations in stages, of tasks whose pass probabilities
// are known: one at a time, rollout by rollout, for replays of a fixed profile, and
// on panels of a prior, for designs. What a simulated evaluation is worth is exact
// given the rollouts that decided on it: Σ p(1−p)·Σ c²/n over its tasks and stages
// (method/staged).

// Trial simulates evaluations under one plan and one prior, one after the other. It
// serves one goroutine.
type Trial struct {
	stages     *staged.Stages
	posteriors informed.Posteriors
	passes     []int
	scores     []float64
	rollouts   []int
	decisive   decisive
}

// NewTrial simulates evaluations of some tasks, of one benchmark or of several with a
// posterior each.
func NewTrial(stages *staged.Stages, posteriors ...*informed.Posterior) *Trial {
	n := len(stages.Sizes())
	return &Trial{
		stages: stages, posteriors: posteriors, passes: make([]int, n), scores: make([]float64, n), rollouts: make([]int, n),
		decisive: decisive{make([]int, n), make([]int, n)},
	}
}

// decisive is the rollouts of each task, and the passes among them, by which an evaluation
// was decided: all but the last stage's.
type decisive struct{ rollouts, passes []int }

// Run simulates an evaluation of tasks with probabilities ps. It returns Σ p(1−p)·Σ c²/n
// over the tasks and their stages, the variance of the estimate times N². Where tasks have
// shares in the mean, each counts by the square of its share times N.
func (t *Trial) Run(ps []float64, draw Outcomes) (float64, error) {
	t.stages.Restart()
	t.posteriors.Restart()
	clear(t.rollouts)
	clear(t.decisive.rollouts)
	clear(t.decisive.passes)
	t.count()
	for {
		for i, n := range t.stages.Sizes() {
			t.passes[i] = draw(t.stages.Stage(), i, n, ps[i])
		}
		if err := t.stages.Observe(t.passes); err != nil {
			return 0, err
		}
		if err := t.posteriors.Observe(t.stages.Sizes(), t.passes); err != nil {
			return 0, err
		}
		for i, n := range t.stages.Sizes() {
			t.decisive.rollouts[i] += n
			t.decisive.passes[i] += t.passes[i]
		}
		t.posteriors.Scores(t.scores)
		if err := t.stages.Decide(t.scores); err != nil {
			return 0, err
		}
		t.count()
		if t.stages.Left() == 0 { // the outcome of the last stage decides nothing
			return t.variance(ps), nil
		}
	}
}

// Rollouts is the rollouts of each task in the last evaluation. It holds until the next one.
func (t *Trial) Rollouts() []int { return t.rollouts }

// Decided returns the rollouts and passes of each task by which the last evaluation was decided,
// and Σ c²/n of each task in it. They hold until the next evaluation.
func (t *Trial) Decided() (rollouts, passes []int, shrinkage []float64) {
	return t.decisive.rollouts, t.decisive.passes, t.stages.Shrinkage()
}

// count counts the rollouts of the stage under way.
func (t *Trial) count() {
	for i, n := range t.stages.Sizes() {
		t.rollouts[i] += n
	}
}

// variance is Σ p(1−p)·Σ c²/n, by shares.
func (t *Trial) variance(ps []float64) float64 {
	sum := 0.0
	for i, s := range t.stages.Shrinkage() {
		share := t.stages.Share(i)
		sum += share * share * ps[i] * (1 - ps[i]) * s
	}
	return sum
}

// growth is how much larger each stage after the pilot is than the one before. On
// the paper's profiles 1.3 to 2 are alike at every budget and number of stages.
const growth = 1.5

// Fractions are the fractions of a plan with the given stages after the pilot.
func Fractions(after int) []float64 {
	fractions := make([]float64, after)
	rest, size := 0.0, math.Pow(growth, float64(after-1))
	for k := after - 1; k >= 0; k-- {
		rest += size
		fractions[k] = size / rest
		size /= growth
	}
	return fractions
}

// StagedCandidates are the pilot sizes that are compared for some budgets: fewer than for
// two stages, since the risk is flatter.
func StagedCandidates(budgets []int) Candidates {
	var cs Candidates
	for _, b := range budgets {
		for _, m := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64} {
			if m < b && m*m <= 8*b {
				cs = append(cs, Candidate{Budget: b, M: m})
			}
		}
	}
	return cs
}

// StagedCoefficients estimates the coefficient C of what comes after the pilot, the mean of
// Σ v·Σ c²/n over Σ v with weights that add up to one, on panels of tasks drawn from
// a prior, for plans with some numbers of stages after the pilot and every candidate:
// [plan][candidate][replicate]. The risk is b·{w²/m + (1−w)²·C} as in two stages (paper,
// Eq. 11). Where the plan has shares of tasks in the mean, v counts by the square of its
// share. A stream is a replicate, whose panels all plans and candidates share.
func StagedCoefficients(ctx context.Context, prior informed.Suite, like staged.Plan, cs Candidates, after []int, panels int, replicates []seed.Stream) ([][][]float64, error) {
	trials, posteriors := make([][]*Trial, len(after)), prior.Posteriors()
	var stages *staged.Stages
	coefficients := make([][][]float64, len(after))
	for plan, n := range after {
		for _, c := range cs {
			like.Pilots, like.Fractions = c.M, Fractions(n)
			var err error
			if stages, err = staged.New(prior.Tasks(), c.Budget, like); err != nil {
				return nil, err
			}
			trials[plan] = append(trials[plan], NewTrial(stages, posteriors...))
			coefficients[plan] = append(coefficients[plan], make([]float64, len(replicates)))
		}
	}
	ps := make([]float64, prior.Tasks())
	for replicate, random := range replicates {
		all, even := 0.0, NewEven(panels, len(ps)+len(prior), random.At(uint64(panels)))
		for panel := range panels {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			own := random.At(uint64(panel))
			prior.Draw(func(k int) float64 { return even.Uniform(0, len(ps)+k) }, &own, ps)
			for i, p := range ps {
				share := stages.Share(i)
				all += share * share * p * (1 - p)
			}
			for plan := range after {
				for k, t := range trials[plan] {
					sum, err := t.Run(ps, even.Passes)
					if err != nil {
						return nil, err
					}
					coefficients[plan][k][replicate] += sum
				}
			}
			even.Next()
		}
		for _, estimates := range coefficients {
			for k, c := range cs {
				if estimates[k][replicate] /= all; all == 0 { // no panel says anything
					estimates[k][replicate] = 1 / float64(c.Budget-c.M)
				}
			}
		}
	}
	return coefficients, nil
}
