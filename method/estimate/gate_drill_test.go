//go:build drill

package estimate_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"speceval/data"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

var gateBudgets = flag.String("budgets", "8,16,32,64", "largest budgets of gates, in rollouts per task")

// mixed is a law of tasks that pass with a few probabilities, or whose rewards are even about
// them or those of thirds.
func mixed(rewards string, tasks []int, ps ...float64) law {
	var all []float64
	for k, n := range tasks {
		all = append(all, slices.Repeat(ps[k:k+1], n)...)
	}
	return law{fmt.Sprint(tasks, ps, rewards), len(all), func(i int) float64 { return all[i] }, func(i int, random *seed.Stream) float64 {
		if rewards == "even" {
			return all[i] + min(all[i], 1-all[i])*(2*random.Float64()-1)
		}
		n, passed := map[string]int{"": 1, "thirds": 3}[rewards], 0.0
		for range n {
			if random.Float64() < all[i] {
				passed++
			}
		}
		return passed / float64(n)
	}}
}

// made are the 24 profiles that were made to hurt the error (drills/evaluations).
var made = []law{
	mixed("", []int{50, 50}, .05, .95), mixed("", []int{15, 15}, .02, .98), mixed("", []int{40, 10}, .02, .5), mixed("", []int{10, 10, 10}, 0, .5, 1),
	mixed("", []int{90, 10}, 0, .05), mixed("", []int{95, 5}, 0, .02), mixed("", []int{98, 2}, 0, .5), mixed("", []int{50, 49, 1}, 0, 1, .5), mixed("", []int{97, 3}, 1, .3),
	mixed("", []int{100}, .99), mixed("", []int{30}, .99), mixed("", []int{30}, .9), mixed("", []int{200}, .03), mixed("", []int{10}, .1),
	mixed("", []int{10}, .5), mixed("", []int{5}, .5), mixed("", []int{3}, .5), mixed("", []int{1, 1, 1}, .2, .5, .9), mixed("", []int{2}, .5), mixed("", []int{1, 1}, .3, .9),
	mixed("thirds", []int{50, 50}, .05, .95), mixed("thirds", []int{5}, .5), mixed("even", []int{10, 10, 10}, .1, .5, .9), mixed("even", []int{20, 3}, 0, .5),
}

// published are the profiles of the paper.
func published(t *testing.T) (all []law) {
	t.Helper()
	every := must(profile.Parse(data.Profiles(), data.ProfilesName))
	profiles, _, err := profile.Evaluated(every)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		all = append(all, law{p.Name(), p.N(), p.P, func(i int, random *seed.Stream) float64 {
			if random.Float64() < p.P(i) {
				return 1
			}
			return 0
		}})
	}
	return all
}

// gateLooks are the budgets of the looks up to one, as of `evaluate gate --live` on servers
// with few places.
func gateLooks(budget int) (budgets []int) {
	first := max(4, (budget+3)/4)
	step := max(3, (budget-first+11)/12)
	if budget >= 32 {
		step = max(2, (budget-first+11)/12)
	}
	for b := budget; b >= first; b -= step {
		budgets = append(budgets, b)
	}
	slices.Reverse(budgets)
	return budgets
}

// grower draws evaluations of a law. It belongs to one goroutine.
type grower struct {
	law
	prior   *neyman.Prior
	partial *neyman.Partial
	work    *neyman.Work
	random  *seed.Stream
}

// grown is an evaluation that can be extended.
type grown struct {
	budget    int
	precision float64 // that was expected before the first rollout
	tasks     []estimate.Task
	mean      estimate.Mean
}

// begin draws an evaluation in five stages.
func (g *grower) begin(budget int, d design.InStages) grown {
	e := grown{budget: budget, precision: float64(budget) / min(1, d.Risk), tasks: make([]estimate.Task, g.tasks)}
	g.spend(&e, must(staged.New(g.tasks, budget, d.Plan)))
	return e
}

// extend draws what an evaluation is extended by, in two stages, and weighs as `evaluate extend`.
func (g *grower) extend(e grown, budget int) grown {
	added := float64(budget-e.budget) / 0.5
	longer := grown{budget, e.precision + added, make([]estimate.Task, g.tasks), estimate.Mean{}}
	weight, past := e.precision/longer.precision, staged.Past{}
	for i, t := range e.tasks {
		past.Means, past.Shrinkage = append(past.Means, e.mean.Tasks[i].Value), append(past.Shrinkage, shrinkage(t))
		for _, s := range t.Stages {
			s.Weight *= weight
			longer.tasks[i].Stages = append(longer.tasks[i].Stages, s)
		}
	}
	g.spend(&longer, must(staged.Extend(past, g.tasks*(budget-e.budget), staged.Plan{Weight: weight, Fractions: pilot.Fractions(2)})))
	return longer
}

func shrinkage(t estimate.Task) (sum float64) {
	for _, s := range t.Stages {
		sum += s.Weight * s.Weight / float64(s.Rollouts)
	}
	return sum
}

func (g *grower) spend(e *grown, stages *staged.Stages) {
	for n := g.tasks; !stages.Done(); {
		observed, passes, scores, sums := make([]int, n), make([]int, n), make([]float64, n), make([]float64, n)
		for i, t := range e.tasks {
			for _, s := range t.Stages {
				observed[i] += s.Rollouts
				sums[i] += s.Rewards
			}
			passes[i] = int(math.Round(sums[i]))
		}
		if observed[0] > 0 {
			g.partial.Scores(observed, passes, g.work, scores)
			must(0, stages.Decide(scores))
		}
		for i, n := range stages.Sizes() {
			stage := estimate.Stage{Rollouts: n, Weight: stages.Weights()[i]}
			for range n {
				stage.Add(g.draw(i, g.random))
			}
			if sums[i] = stage.Rewards; n > 0 {
				e.tasks[i].Stages = append(e.tasks[i].Stages, stage)
			}
		}
		must(0, stages.ObserveRewards(sums))
	}
	e.mean = must(estimate.Of(g.prior, e.tasks))
}

// lookAt is a look at an evaluation by its difference from a baseline.
func lookAt(e, before grown, difference estimate.Bounded, budget int) estimate.Look {
	own := e.mean.StandardError * e.mean.StandardError
	l := estimate.Look{
		Difference: difference, Time: float64(e.budget) / float64(budget), Own: own,
		Ahead: e.precision / (e.precision + float64(budget-e.budget)/0.5),
	}
	if before.budget > 0 {
		now, then := 0.0, 0.0
		for i, t := range e.mean.Tasks {
			now += t.Variance * shrinkage(e.tasks[i])
			then += t.Variance * shrinkage(before.tasks[i])
		}
		l.Kept, l.Before = before.precision/e.precision, own*then/now
	}
	return l
}

// trial is a gate that is asked until it has an outcome. It goes on after it has become futile,
// and remembers when that was.
type trial struct {
	gate     estimate.Gate
	baseline estimate.Bounded
	spent    int // until it stopped; 0: it has not
	futile   bool
	outcome  estimate.Outcome
	done     bool
}

func (g *trial) ask(e, before grown, budget int) {
	if g.done {
		return
	}
	v := must(g.gate.Judge(lookAt(e, before, e.mean.Bounded().Minus(g.baseline), budget)))
	g.outcome, g.done = v.Outcome, v.Outcome != estimate.Undecided || e.budget == budget
	if g.futile = g.futile || v.Futile; (g.done || g.futile) && g.spent == 0 {
		g.spent = e.budget
	}
}

// tally is what became of the gates of one law.
type tally struct {
	number                int
	falsePass, falseWorse int     // at the edge of what passes
	fixed, passed, lost   int     // of models as good as the baseline; lost: futile, and would have passed
	spent                 float64 // of the largest budget
	atMargin              int     // gates of models at the margin; 0 where the baseline would be above 1
	marginSpent           float64
}

// gates draws models of a law against baselines of the same law: known exactly, or evaluated by
// the largest budget. Two gates look at each evaluation, one of which has the margin 0: its
// model is at the edge. The other one's is such that a gate with one look passes 80%.
func gates(g *grower, budget int, exact bool, designs map[int]design.InStages, number int) (c tally) {
	looks, truth := gateLooks(budget), g.truth()
	gate := func(margin float64) estimate.Gate { return estimate.Gate{Margin: margin, Looks: len(looks)} }
	base := func(mean float64) estimate.Bounded {
		if exact {
			return must(estimate.Stored(mean, 0, mean, mean)).Bounded()
		}
		return g.begin(budget, designs[budget]).mean.Bounded()
	}
	variance := 0.0
	for range 20 {
		se := g.begin(budget, designs[budget]).mean.StandardError
		variance += se * se / 20
	}
	if !exact {
		variance *= 2
	}
	margin := min(0.99, 2.4864749*math.Sqrt(variance))
	for range number {
		baseline := base(truth)
		edge, good, bad := &trial{gate: gate(0), baseline: baseline}, &trial{gate: gate(margin), baseline: baseline}, &trial{done: true}
		if exact && truth+margin <= 1 {
			bad = &trial{gate: gate(margin), baseline: base(truth + margin)}
			c.atMargin++
		}
		var e, before grown
		for k, b := range looks {
			if before = e; k == 0 {
				e = g.begin(b, designs[b])
			} else {
				e = g.extend(before, b)
			}
			for _, one := range []*trial{edge, good, bad} {
				one.ask(e, before, budget)
			}
			if edge.done && good.done && bad.done {
				break
			}
		}
		for range singles {
			one := &trial{gate: estimate.Gate{Margin: margin}, baseline: baseline}
			one.ask(g.begin(budget, designs[budget]), grown{}, budget)
			c.fixed += count(one.outcome == estimate.NoWorse)
		}
		c.number++
		c.falsePass += count(edge.outcome == estimate.NoWorse)
		c.falseWorse += count(edge.outcome == estimate.Worse)
		c.passed += count(good.outcome == estimate.NoWorse && !good.futile)
		c.lost += count(good.outcome == estimate.NoWorse && good.futile)
		c.spent += float64(good.spent) / float64(budget)
		c.marginSpent += float64(bad.spent) / float64(budget)
	}
	return c
}

// singles is the number of gates with one look for each gate with several.
const singles = 4

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestGates draws gates of all laws by `evaluate gate --live`, prints a table, and holds their
// errors, power and budgets to what is stated.
func TestGates(t *testing.T) {
	scale := 1
	if *small {
		scale = 10
	}
	fmt.Println("| laws | baseline | b | pass at the edge | worse at the edge | power, one look | power | largest budget | expected | expected at the margin | futile, but would pass |\n|---|---|---:|---|---|---|---|---|---:|---:|---|")
	for _, group := range []struct {
		name   string
		laws   []law
		number int
	}{{"published", published(t), 20}, {"made", made, 80}, {"skewed", skewed, 150}, {"even", evenly, 150}} {
		for _, text := range strings.Split(*gateBudgets, ",") {
			var budget int
			must(fmt.Sscan(text, &budget))
			for _, exact := range []bool{true, false} {
				gateRow(t, prior, group.name, group.laws, budget, exact, max(4, group.number/scale))
			}
		}
	}
}

func gateRow(t *testing.T, prior *neyman.Prior, name string, laws []law, budget int, exact bool, number int) {
	designs := map[int]map[int]design.InStages{} // by tasks and budget
	for _, l := range laws {
		if designs[l.tasks] == nil {
			designs[l.tasks] = designsFor(l.tasks, budget)
		}
	}
	tallies, places := make([]tally, len(laws)), make(chan bool, runtime.NumCPU())
	var all sync.WaitGroup
	for k, l := range laws {
		all.Go(func() {
			places <- true
			defer func() { <-places }()
			random := seed.Root(11).Child(l.name).Child(fmt.Sprint(exact)).Index(budget).Stream()
			g := &grower{l, prior, prior.Partial(1), prior.NewWork(), &random}
			tallies[k] = gates(g, budget, exact, designs[l.tasks], number)
		})
	}
	all.Wait()
	var sum tally
	for k, c := range tallies {
		sum.number += c.number
		sum.falsePass += c.falsePass
		sum.falseWorse += c.falseWorse
		sum.fixed += c.fixed
		sum.passed += c.passed
		sum.lost += c.lost
		sum.spent += c.spent
		sum.atMargin += c.atMargin
		sum.marginSpent += c.marginSpent
		atMost(t, laws[k].name, max(c.falsePass, c.falseWorse), number)
	}
	n := float64(sum.number)
	atMost(t, fmt.Sprintf("%s, b = %d", name, budget), max(sum.falsePass, sum.falseWorse), sum.number)
	percent := func(count int, of float64) string {
		p := float64(count) / of
		return fmt.Sprintf("%.1f%% ± %.1f", 100*p, 100*math.Sqrt(p*(1-p)/of))
	}
	// By which budget as many pass: a normal difference passes by 1.645 and the quantile of its
	// power in standard errors.
	z := func(count int, of float64) float64 { return 1.6448536 + math.Sqrt2*math.Erfinv(2*float64(count)/of-1) }
	largest, expected := math.Pow(z(sum.fixed, singles*n)/z(sum.passed, n), 2), sum.spent/n
	const largestError = 1.35 // times the root of the number, at a power of 80%
	if name == "published" && budget >= 32 && (largest > 1.05+4*largestError/math.Sqrt(n) || expected > 0.78+4*0.25/math.Sqrt(n)) {
		t.Errorf("b = %d: a largest budget of %.3f, and %.3f expected", budget, largest, expected)
	}
	fmt.Printf("| %s | %s | %d | %s | %s | %s | %s | %.3f ± %.3f | %.3f | %.3f | %s |\n", name, map[bool]string{true: "exact", false: "as many"}[exact], budget,
		percent(sum.falsePass, n), percent(sum.falseWorse, n), percent(sum.fixed, singles*n), percent(sum.passed, n), largest, largestError/math.Sqrt(n),
		expected, sum.marginSpent/float64(max(1, sum.atMargin)), percent(sum.lost, n))
}

// atMost fails if verdicts are wrong more often than in 5% of the cases by more than chance: five
// standard errors and one verdict, for there are some hundred laws.
func atMost(t *testing.T, what string, wrong, number int) {
	n := float64(number)
	if most := estimate.GateRate*n + 5*math.Sqrt(estimate.GateRate*(1-estimate.GateRate)*n) + 1; float64(wrong) > most {
		t.Errorf("%s: %d of %d verdicts are wrong", what, wrong, number)
	}
}

// TestGatesOverTasks draws the tasks, too, from the tasks of two models on a benchmark, of which
// one is worse by the margin.
func TestGatesOverTasks(t *testing.T) {
	const budget = 16
	laws, number := published(t), 40
	if *small {
		number = 4
	}
	var passed, worse, all int
	designs := map[int]map[int]design.InStages{}
	for at := range laws[1:] {
		a, b := laws[at], laws[at+1]
		if benchmark, _, _ := strings.Cut(a.name, "__model="); !strings.HasPrefix(b.name, benchmark+"__model=") || a.tasks != b.tasks {
			continue
		}
		if a.truth() > b.truth() {
			a, b = b, a
		}
		n := a.tasks
		if designs[n] == nil {
			designs[n] = designsFor(n, budget)
		}
		random := seed.Root(12).Child(a.name).Stream()
		p, w := overTasks(a, b, prior, designs[n], budget, number, &random)
		passed, worse, all = passed+p, worse+w, all+number
		atMost(t, a.name+" over tasks", max(p, w), number)
	}
	atMost(t, "over tasks", max(passed, worse), all)
	fmt.Printf("over tasks: %d of %d at the edge pass, %d are worse\n", passed, all, worse)
}

// overTasks counts the outcomes of gates.
func overTasks(a, b law, prior *neyman.Prior, designs map[int]design.InStages, budget, number int, random *seed.Stream) (passed, worse int) {
	for range number {
		tasks := make([]int, a.tasks)
		for i := range tasks {
			tasks[i] = int(random.Float64() * float64(a.tasks))
		}
		sampled := func(l law) *grower {
			drawn := law{l.name, l.tasks, func(i int) float64 { return l.mean(tasks[i]) }, func(i int, random *seed.Stream) float64 { return l.draw(tasks[i], random) }}
			return &grower{drawn, prior, prior.Partial(1), prior.NewWork(), random}
		}
		model, baseline := sampled(a), sampled(b).begin(budget, designs[budget])
		var others []float64
		for _, t := range baseline.mean.Tasks {
			others = append(others, t.Value)
		}
		looks := gateLooks(budget)
		gate := estimate.Gate{Margin: b.truth() - a.truth(), Looks: len(looks)}
		var e, before grown
		for k, rollouts := range looks {
			if before = e; k == 0 {
				e = model.begin(rollouts, designs[rollouts])
			} else {
				e = model.extend(before, rollouts)
			}
			v := must(gate.Judge(lookAt(e, before, must(e.mean.Sample(nil, nil).Minus(estimate.Sample{Values: others}, 0)).Bounded, budget)))
			passed, worse = passed+count(v.Outcome == estimate.NoWorse), worse+count(v.Outcome == estimate.Worse)
			if v.Outcome != estimate.Undecided {
				break
			}
		}
	}
	return passed, worse
}

// designsFor are the designs of gates on a number of tasks: of the first look, and of a gate with
// one.
func designsFor(tasks, budget int) map[int]design.InStages {
	all := map[int]design.InStages{}
	for _, b := range []int{gateLooks(budget)[0], budget} {
		all[b] = must(design.ComputeInStages(context.Background(), design.StagesSettings{
			Prior: informed.Suite{must(informed.New(tasks, nil))}, Budget: b, Stages: 5, Seed: 42, Replicates: 2, Panels: min(64, max(2, 1600/tasks)),
		}))
	}
	return all
}
