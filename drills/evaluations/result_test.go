//go:build drill

package evaluations_test

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// checkResult ends the drill if a result of an evaluation with this budget is impossible:
// the rollouts that count are N·b unless the evaluation stopped by what it found, every
// task has the pilot and a continuation unless the policy is Uniform, and the estimates
// follow from the counts by stage (paper, Eq. 3, for more stages).
func checkResult(l *drill.Lab, r *evaluation.Result, budget int) {
	l.Helper()
	if len(r.Rows) == 0 || len(r.Rows) != r.Tasks {
		l.Fatalf("results of %d tasks, n_tasks is %d", len(r.Rows), r.Tasks)
	}
	all, value := 0, 0.0
	for _, t := range r.Rows {
		if len(t.Stages) == 0 {
			l.Fatalf("task %s has no stages", t.ID)
		}
		by, weights := evaluation.Task{}, 0.0
		for k, s := range t.Stages {
			if s.Rewards != math.Trunc(s.Rewards) {
				l.Fatalf("task %s has rewards of %v, want passes", t.ID, s.Rewards)
			}
			if n, passes := int32(s.Rollouts), int32(s.Rewards); k == 0 {
				by.Pilots, by.PilotPasses = n, passes
			} else {
				by.Continuations, by.ContinuationPasses = by.Continuations+n, by.ContinuationPasses+passes
			}
			by.Estimate += s.Weight * s.Rewards / float64(s.Rollouts)
			by.Shrinkage += s.Weight * s.Weight / float64(s.Rollouts)
			weights += s.Weight
		}
		if by.Pilots != t.Pilots || by.PilotPasses != t.PilotPasses || by.Continuations != t.Continuations ||
			by.ContinuationPasses != t.ContinuationPasses || !near(by.Estimate, t.Estimate) || !near(by.Shrinkage, t.Shrinkage) {
			l.Fatalf("task %s is %+v, by its stages %+v", t.ID, t, by)
		}
		if !near(weights, 1) {
			l.Fatalf("task %s: the weights of its stages add up to %v", t.ID, weights)
		}
		if w := t.Stages[0].Weight; r.Extends == "" && (int(t.Pilots) != r.Design.Pilots || !near(w, r.Design.Weight)) {
			l.Fatalf("task %s has %d pilot rollouts of weight %v, the design is %+v", t.ID, t.Pilots, w, r.Design)
		}
		if r.Policy != uniform && t.Continuations < 1 {
			l.Fatalf("task %s has no continuation", t.ID)
		}
		all += int(t.Pilots + t.Continuations)
		value += cmp.Or(t.Share, 1/float64(r.Tasks)) * t.Estimate
	}
	if want := r.Tasks * budget; r.Stop == nil && all != want || r.Rollouts != all {
		l.Fatalf("%d rollouts of the tasks, %d in all, want %d", all, r.Rollouts, want)
	}
	if !near(value, r.Estimate) {
		l.Fatalf("the estimate is %v, by the tasks %v", r.Estimate, value)
	}
}

// near reports whether two numbers are the same except for rounding.
func near(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

// boxed is a result in the form in which answers are asked for.
var boxed = regexp.MustCompile(`\\boxed\{([^{}]*)\}`)

// recount counts the rollouts of a complete evaluation again, stage by stage, from their
// texts and nothing else that the program has worked out: a rollout passes if the last
// box in it holds the task's answer, letter for letter. It ends the drill if the stages or
// the verdicts differ from that, or if a rollout that counts has no text or no verdict. A
// rollout that is there twice ends the reading.
func recount(l *drill.Lab, folder string, r *evaluation.Result, answers map[string]string) {
	l.Helper()
	passed, judged := map[rollout.ID]bool{}, map[rollout.ID]bool{}
	for one, err := range rollout.Responses([]string{filepath.Join(folder, "rollouts.parquet")}) {
		l.OK(err)
		if int(one.TaskIndex) >= len(r.Rows) || one.TaskID != r.Rows[one.TaskIndex].ID {
			l.Fatalf("%s: task %d is %s", folder, one.TaskIndex, one.TaskID)
		}
		boxes := boxed.FindAllStringSubmatch(one.Text, -1)
		passed[one.ID()] = len(boxes) > 0 && boxes[len(boxes)-1][1] == answers[one.TaskID]
	}
	for v, err := range rollout.Scores(filepath.Join(folder, "scores.parquet")) {
		l.OK(err)
		want, there := passed[v.ID()]
		if !there || v.Correct != want {
			l.Fatalf("%s: the verdict on %v is %v, by its text %v (there: %v)", folder, v.ID(), v.Correct, want, there)
		}
		judged[v.ID()] = true
	}
	for i, t := range r.Rows {
		id := rollout.ID{Task: int32(i)}
		for k, stage := range t.Stages {
			passes := 0
			for range stage.Rollouts {
				if !judged[id] {
					l.Fatalf("%s: %v counts and has no verdict", folder, id)
				}
				passes += one(passed[id])
				id.Rollout++
			}
			if float64(passes) != stage.Rewards {
				l.Fatalf("%s: task %s has %v of %d passes in stage %d, by its rollouts %d",
					folder, t.ID, stage.Rewards, stage.Rollouts, k, passes)
			}
		}
	}
}

// completion is how rewards depend on the time to completion in an evaluation: the pass
// rates of the half of its pilot that was answered faster, and of the other half.
func completion(l *drill.Lab, folder string) (fast, slow float64) {
	l.Helper()
	path := filepath.Join(folder, "requests.parquet")
	rows, _, err := rowfile.ReadFile[evaluation.Request](path)
	l.OK(err)
	rows = slices.DeleteFunc(rows, func(r evaluation.Request) bool {
		return r.Phase != "pilot" || r.Finished == nil || r.Passed == nil
	})
	if len(rows) < 2 {
		l.Fatalf("%s has %d pilot rollouts with rewards", path, len(rows))
	}
	slices.SortFunc(rows, func(a, b evaluation.Request) int {
		return cmp.Compare(*a.Finished-a.Submitted, *b.Finished-b.Submitted)
	})
	half := len(rows) / 2
	for i, r := range rows {
		if i < half {
			fast += float64(one(*r.Passed)) / float64(half)
		} else {
			slow += float64(one(*r.Passed)) / float64(len(rows)-half)
		}
	}
	return fast, slow
}

// rules decide on the rollouts of an evaluation by its setup: method/staged under a prior,
// without the controller that executes it.
type rules struct {
	*drill.Lab
	setup     *evaluation.Setup
	plan      staged.Plan
	reference *neyman.Prior
	informed  *informed.Prior // nil in the paper's two stages
}

// rulesOf are the rules of a setup of any policy except Uniform.
func rulesOf(l *drill.Lab, setup *evaluation.Setup, reference *neyman.Prior) *rules {
	r := &rules{Lab: l, setup: setup, reference: reference, plan: staged.Plan{
		Pilots: setup.Design.Pilots, Weight: setup.Design.Weight, Fractions: setup.Design.Fractions,
		Least: setup.Floor(setup.Design.Pilots), TaskShares: setup.Shares,
	}}
	if len(r.plan.Fractions) == 0 {
		r.plan.Fractions = []float64{1}
	}
	if len(setup.Donors) > 0 || len(r.plan.Fractions) > 1 {
		var err error
		r.informed, err = setup.Informed()
		l.OK(err)
	}
	return r
}

// spend goes through the stages of an evaluation, after the stages of the evaluation that
// is extended, if there is one. ask returns how many of the rollouts of a task in a stage
// pass: what a stage asks of every task follows from the passes of the stages before it.
func (r *rules) spend(past [][]estimate.Stage, ask func(task, rollouts int, weight float64) (passes int)) *staged.Stages {
	tasks := len(r.setup.TaskIDs)
	var stages *staged.Stages
	var err error
	score, spent := r.score(), 0
	decide := func(sizes, passes []int) {
		scores := score(sizes, passes)
		for _, n := range sizes {
			spent += n
		}
		if r.setup.Stop != nil {
			b := stages.Barrier(scores)
			r.OK(stages.Resize(max(b.Least, r.left(b, spent))))
		}
		r.OK(stages.Decide(scores))
	}
	if past == nil {
		stages, err = staged.New(tasks, r.setup.Budget, r.plan)
		r.OK(err)
	} else {
		before, sizes, passes := summed(past)
		left := tasks * r.setup.Budget
		for _, n := range sizes {
			left -= n
		}
		stages, err = staged.Extend(before, left, r.plan)
		r.OK(err)
		decide(sizes, passes)
	}
	for {
		sizes, weights, passes := stages.Sizes(), stages.Weights(), make([]int, tasks)
		for i, n := range sizes {
			if n > 0 {
				passes[i] = ask(i, n, weights[i])
			}
		}
		r.OK(stages.Observe(passes))
		if stages.Done() {
			return stages
		}
		decide(sizes, passes)
	}
}

// summed are the stages of tasks, summed up.
func summed(all [][]estimate.Stage) (past staged.Past, sizes, passes []int) {
	for _, stages := range all {
		n, passed, mean, shrinkage := 0, 0, 0.0, 0.0
		for _, s := range stages {
			n, passed = n+s.Rollouts, passed+int(s.Rewards)
			mean += s.Weight * s.Rewards / float64(s.Rollouts)
			shrinkage += s.Weight * s.Weight / float64(s.Rollouts)
		}
		sizes, passes = append(sizes, n), append(passes, passed)
		past.Means, past.Shrinkage = append(past.Means, mean), append(past.Shrinkage, shrinkage)
	}
	return past, sizes, passes
}

// score returns what makes scores of the passes of stages, one after another: a posterior
// that observes them, or Eqs. 6 and 7 of the paper for a pilot.
func (r *rules) score() func(sizes, passes []int) (scores []float64) {
	scores := make([]float64, len(r.setup.TaskIDs))
	if r.informed != nil {
		posterior := r.informed.Posterior()
		return func(sizes, passes []int) []float64 {
			r.OK(posterior.Observe(sizes, passes))
			posterior.Scores(scores)
			return scores
		}
	}
	return func(sizes, passes []int) []float64 {
		pilots := r.plan.Pilots
		counts := make([]int, pilots+1)
		for i, n := range sizes {
			if n != pilots {
				r.Fatalf("%d rollouts of a task in a pilot of %d", n, pilots)
			}
			counts[passes[i]]++
		}
		by := r.reference.Pilot(pilots).Scores(counts, r.reference.NewWork())
		for i, n := range passes {
			scores[i] = by.At(n)
		}
		return scores
	}
}

// left is how many rollouts are left at a barrier of an evaluation that stops by what it
// finds: as few as the standard error takes, and no more than are allowed.
func (r *rules) left(b staged.Barrier, spent int) int {
	stop, left := r.setup.Stop, design.MostBudget*len(r.setup.TaskIDs)-spent
	if stop.StandardError > 0 {
		left = min(left, b.Toward(stop.StandardError*stop.StandardError))
	}
	if stop.Rollouts > 0 {
		left = min(left, stop.Rollouts-spent)
	}
	return left
}

// checkAllocation ends the drill if the rollouts and weights of a result are not those
// that its setup decides on by the rewards of each stage's predecessors: the exact Neyman
// allocation by the scores of the pilot in two stages (paper, Eqs. 7 and 8), and
// method/staged by the posterior of the setup's donors otherwise.
func checkAllocation(l *drill.Lab, folder string, r *evaluation.Result, setup *evaluation.Setup, reference *neyman.Prior) {
	l.Helper()
	if len(r.Rows) != len(setup.TaskIDs) {
		l.Fatalf("%s: results of %d tasks, the setup has %d", folder, len(r.Rows), len(setup.TaskIDs))
	}
	taken := make([]int, len(r.Rows)) // stages by task
	ask := func(task, rollouts int, weight float64) (passes int) {
		t, at := r.Rows[task], taken[task]
		if at >= len(t.Stages) {
			l.Fatalf("%s: task %s has %d stages, and none of %d rollouts after them", folder, t.ID, at, rollouts)
		}
		s := t.Stages[at]
		if s.Rollouts != rollouts || !near(s.Weight, weight) {
			l.Fatalf("%s: task %s has %d rollouts with weight %v, want %d with %v", folder, t.ID, s.Rollouts, s.Weight, rollouts, weight)
		}
		taken[task]++
		return int(s.Rewards)
	}
	var past [][]estimate.Stage
	if setup.Extends != nil {
		past = setup.Extends.Stages
	}
	for i, stages := range past { // they count with the weight of the pilot
		for _, was := range stages {
			if passes := ask(i, was.Rollouts, setup.Design.Weight*was.Weight); passes != int(was.Rewards) {
				l.Fatalf("%s: task %d has %d passes in a stage of what it extends, which has %v", folder, i, passes, was.Rewards)
			}
		}
	}
	if setup.Policy == uniform {
		for i := range r.Rows {
			ask(i, setup.Budget, 1)
		}
	} else {
		rulesOf(l, setup, reference).spend(past, ask)
	}
	for i, t := range r.Rows {
		if taken[i] != len(t.Stages) {
			l.Fatalf("%s: task %s has %d stages, want %d", folder, t.ID, len(t.Stages), taken[i])
		}
	}
}

// prediction is the variance of a policy's estimates relative to Uniform's.
type prediction struct {
	Ratio float64 // mean over draws
	SE    float64 // its Monte Carlo standard error; 0 of Uniform, which is 1 by definition
	Spent float64 // rollouts per task, mean over draws: the budget unless the evaluation stops by what it finds
}

// String is the ratio with its error.
func (p prediction) String() string { return fmt.Sprintf("%.3f ± %.4f", p.Ratio, p.SE) }

// predict draws evaluations of a profile whose pass rates are taken for the truth, under
// the setups of an evaluation and of the one that it extends, if there is one. It is the
// mean over draws of Σ p(1−p)·Σ c²/n, the variance of an estimate given the rollouts that
// decided on it, relative to Uniform's with as many rollouts on average (paper, Section
// 4.1, of which informed and staged policies are the general case).
func (b *bench) predict(p profile.Profile, draws int, number uint64, setups ...*evaluation.Setup) prediction {
	b.Helper()
	if setups[0].Policy == uniform {
		return prediction{Ratio: 1, Spent: float64(setups[0].Budget)}
	}
	var all []*rules // those of the evaluation that is extended come first
	for _, setup := range setups {
		all = slices.Insert(all, 0, rulesOf(b.Lab, setup, b.prior))
	}
	streams := seed.Root(number).Child("forecast").Child(p.Name()).Stream()
	var variances, spent []float64
	for draw := range draws {
		random, rollouts, variance := streams.At(uint64(draw)), 0, 0.0
		var past [][]estimate.Stage
		for _, r := range all {
			drawn := make([][]estimate.Stage, p.N())
			stages := r.spend(past, func(i, n int, weight float64) int {
				passes := pilot.Binomial(n, p.P(i), &random)
				drawn[i] = append(drawn[i], estimate.Binary(n, passes, weight))
				rollouts += n
				return passes
			})
			past, variance = drawn, 0
			for i, shrinkage := range stages.Shrinkage() {
				variance += p.P(i) * (1 - p.P(i)) * shrinkage
			}
		}
		variances = append(variances, variance)
		spent = append(spent, float64(rollouts)/float64(p.N()))
	}
	mean, se := meanOf(variances)
	perTask, _ := meanOf(spent)
	unit := p.VarianceSum() / perTask
	return prediction{Ratio: mean / unit, SE: se / unit, Spent: perTask}
}
