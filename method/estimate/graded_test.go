package estimate_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/informed"
)

// law is graded rewards of some tasks.
type law struct {
	name  string
	tasks int
	mean  func(task int) float64
	draw  func(task int, random *seed.Stream) float64
}

func (l law) truth() float64 {
	sum := 0.0
	for i := range l.tasks {
		sum += l.mean(i)
	}
	return sum / float64(l.tasks)
}

// points is a law of a few rewards, each with its chance, alike for all tasks.
func points(name string, tasks int, rewards, chances []float64) law {
	mean := 0.0
	for k, r := range rewards {
		mean += r * chances[k]
	}
	return law{name, tasks, func(int) float64 { return mean }, func(_ int, random *seed.Stream) float64 {
		u := random.Float64()
		for k, chance := range chances {
			if u -= chance; u < 0 {
				return rewards[k]
			}
		}
		return rewards[len(rewards)-1]
	}}
}

// about is rewards up to a distance from a middle, but for some that are 0.
func about(name string, tasks int, middle func(x float64) float64, distance float64, zeros func(task int) float64) law {
	at := func(i int) float64 { return middle((float64(i) + 0.5) / float64(tasks)) }
	return law{name, tasks, func(i int) float64 { return at(i) * (1 - zeros(i)) }, func(i int, random *seed.Stream) float64 {
		if random.Float64() < zeros(i) {
			return 0
		}
		return at(i) + distance*(2*random.Float64()-1)
	}}
}

// Plans by budget, designs for 50 tasks.
var (
	twoStage = map[int]controller.Settings{8: {Pilots: 2, Weight: 0.2424585}, 16: {Pilots: 6, Weight: 0.3531034}}
	stages   = []float64{0.1230769, 0.2105263, 0.4, 1}
	inStages = map[int]controller.Settings{
		8:  {Pilots: 1, Weight: 0.1194693, Fractions: stages},
		16: {Pilots: 2, Weight: 0.1151688, Fractions: stages},
	}
)

// coverage is what became of intervals and of one-sided bounds at 5%.
type coverage struct {
	evaluations, covered, above, below int // above and below: the lower bound is above the truth, the upper one below
	length                             float64
}

func (c *coverage) add(m estimate.Mean, truth float64) {
	const rounding = 1e-12
	c.evaluations++
	if m.Low <= truth+rounding && truth <= m.High+rounding {
		c.covered++
	}
	low, high := m.Bounded().Bounds(estimate.GateRate)
	if low > truth+rounding {
		c.above++
	}
	if high < truth-rounding {
		c.below++
	}
	c.length += m.High - m.Low
}

// percent is a count as a share of the evaluations.
func (c *coverage) percent(count int) float64 { return 100 * float64(count) / float64(c.evaluations) }

// What the intervals of skewed laws must do, in percent, beyond the chance of as many
// evaluations: a check that four standard errors are allowed to fails by chance in one of
// 30,000, where the rates are these and no better.
const (
	leastCovered = 94
	mostWrong    = 5.5
	chance       = 4
)

func (c *coverage) check(t *testing.T, name string) {
	t.Helper()
	allowed := func(rate float64) float64 { return chance * math.Sqrt(rate*(100-rate)/float64(c.evaluations)) }
	if share := c.percent(c.covered); share < leastCovered-allowed(leastCovered) {
		t.Errorf("%s: %.1f%% are covered", name, share)
	}
	for _, wrong := range []int{c.above, c.below} {
		if share := c.percent(wrong); share > mostWrong+allowed(mostWrong) {
			t.Errorf("%s: %.1f%% of the bounds at 5%% are wrong", name, share)
		}
	}
}

// drawn are evaluations of a law by a policy, drawn by the controller.
func drawn(l law, policy string, budget, number int) (c coverage) {
	root := seed.Root(7).Child(l.name).Child(policy).Index(budget)
	settings := controller.Settings{Policy: controller.Uniform, Pilots: budget, Weight: 1}
	of := func(tasks []estimate.Task) (estimate.Mean, error) { return estimate.Of(prior, tasks) }
	switch policy {
	case "HBN":
		settings = twoStage[budget]
		settings.Policy, settings.Prior = controller.Sync, controller.Cold(prior)
	case "staged", "informed":
		settings = inStages[budget]
		settings.Policy, settings.Prior = controller.Sync, controller.Cold(prior)
	}
	if policy == "informed" {
		random := root.Child("donor").Stream()
		known := priorOf(l.tasks, donor(l, &random))
		settings.Prior = controller.Informed(known)
		of = func(tasks []estimate.Task) (estimate.Mean, error) { return estimate.Of(prior, tasks, known) }
	}
	settings.Tasks, settings.Budget = l.tasks, budget
	streams, truth := root.Stream(), l.truth()
	for k := range number {
		random := streams.At(uint64(k))
		c.add(must(of(drawTasks(l, settings, &random))), truth)
	}
	return c
}

// donor is another evaluation of the same model, of 64 rollouts a task, with its rewards rounded.
func donor(l law, random *seed.Stream) informed.Donor {
	d := informed.Donor{Name: "donor", Rollouts: slices.Repeat([]int{64}, l.tasks)}
	for i := range l.tasks {
		sum := 0.0
		for range 64 {
			sum += l.draw(i, random)
		}
		d.Passes = append(d.Passes, int(math.Round(sum)))
	}
	return d
}

// drawTasks draws an evaluation.
func drawTasks(l law, settings controller.Settings, random *seed.Stream) []estimate.Task {
	c := must(controller.New(settings))
	rewards := make([][]float64, l.tasks)
	for !c.Done() {
		id, _ := c.Next() // one is asked at a time, so that there is one
		r := l.draw(int(id.Task), random)
		rewards[id.Task] = append(rewards[id.Task], r)
		must(c.Rewarded(id, r))
	}
	tasks := make([]estimate.Task, l.tasks)
	for i := range tasks {
		if settings.Policy == controller.Uniform {
			tasks[i].Stages = []estimate.Stage{stageOf(rewards[i], 1)}
		}
		for _, s := range c.Observed() {
			n := s.Sizes[i]
			tasks[i].Stages = append(tasks[i].Stages, stageOf(rewards[i][:n], s.Weights[i]))
			rewards[i] = rewards[i][n:]
		}
	}
	return tasks
}

func stageOf(rewards []float64, weight float64) estimate.Stage {
	s := estimate.Stage{Rollouts: len(rewards), Weight: weight}
	for _, r := range rewards {
		s.Add(r)
	}
	return s
}

// zerosOf is a law of one reward, but for a share of zeros.
func zerosOf(tasks int, reward, zeros float64) law {
	return points(fmt.Sprintf("%d of %g, %.3g%% zeros", tasks, reward, 100*zeros), tasks, []float64{0, reward}, []float64{zeros, 1 - zeros})
}

// onesOf is a law of one reward, but for a share of ones.
func onesOf(tasks int, reward, ones float64) law {
	return points(fmt.Sprintf("%d of %g, %.3g%% ones", tasks, reward, 100*ones), tasks, []float64{1, reward}, []float64{ones, 1 - ones})
}

// Rare zeros and rare ones move a mean by more than the variance of the other rewards would
// have it. Bounds by Wilson's skewness alone are wrong in 9 to 30% of these.
func TestSkewedRewardsAreCovered(t *testing.T) {
	for _, tt := range []struct {
		law    law
		budget int
		number int
	}{
		{zerosOf(50, 0.98, 1-0.97/0.98), 8, 1500},
		{about("30 of .9 ± .002, .5% zeros", 30, func(float64) float64 { return 0.9 }, 0.002, func(int) float64 { return 0.005 }), 8, 400},
		{onesOf(40, 0.3, 0.02), 8, 800},
		{zerosOf(50, 0.98, 1-0.97/0.98), 2, 400},
	} {
		c := drawn(tt.law, "Uniform", tt.budget, tt.number)
		c.check(t, fmt.Sprintf("%s at b = %d", tt.law.name, tt.budget))
	}
	c := drawn(zerosOf(30, 0.9, 0.005), "staged", 8, 400)
	c.check(t, "in stages")
}

// The end where all n rewards but k zeros are .98 is that of Poisson's score interval, with
// what is allowed for unseen zeros, and Student's quantile.
func TestRareZerosHavePoissonsInterval(t *testing.T) {
	const tasks, each, k, a = 400, 10, 100, 0.98
	all := make([]estimate.Task, tasks)
	for i := range all {
		rewards := slices.Repeat([]float64{a}, each)
		if i < k {
			rewards[0] = 0
		}
		all[i].Stages = []estimate.Stage{stageOf(rewards, 1)}
	}
	m := must(estimate.Of(prior, all))
	const z, jump = 1.959963984540054, a / (tasks * each)
	want := jump * (z*z/2 + math.Sqrt(z*z*z*z/4+z*z*k))
	if got := m.Value - m.Low; math.Abs(got/want-1) > 0.05 {
		t.Errorf("the lower end is %v below the estimate, want about %v", got, want)
	}
	if got := m.High - m.Value; math.Abs(got/(jump*z*math.Sqrt(k))-1) > 0.05 {
		t.Errorf("the upper end is %v above the estimate, want about %v", got, jump*z*math.Sqrt(k))
	}
}

// Mirrored rewards have the mirrored interval.
func TestMirroredRewards(t *testing.T) {
	var tasks, mirrored []estimate.Task
	for i := range 20 {
		rewards, others := []float64{0.1, 0.3, float64(i%5) / 5, 0.2}, []float64{}
		for _, r := range rewards {
			others = append(others, 1-r)
		}
		two := func(r []float64) estimate.Task {
			return estimate.Task{Stages: []estimate.Stage{stageOf(r[:2], 0.3), stageOf(r[2:], 0.7)}}
		}
		tasks, mirrored = append(tasks, two(rewards)), append(mirrored, two(others))
	}
	a := must(estimate.Of(prior, tasks))
	b := must(estimate.Of(prior, mirrored))
	if math.Abs(a.Low-(1-b.High)) > 1e-9 || math.Abs(a.High-(1-b.Low)) > 1e-9 || math.Abs(a.StandardError-b.StandardError) > 1e-9 {
		t.Errorf("%v to %v ± %v, mirrored %v to %v ± %v", a.Low, a.High, a.StandardError, b.Low, b.High, b.StandardError)
	}
	// Cubes that were not counted may be any.
	for i := range tasks {
		for k := range tasks[i].Stages {
			tasks[i].Stages[k].Third = 0
		}
	}
	c := must(estimate.Of(prior, tasks))
	if !(c.Low < a.Low && a.High < c.High) || c.Value != a.Value || c.StandardError != a.StandardError {
		t.Errorf("without cubes %v to %v ± %v, with them %v to %v ± %v", c.Low, c.High, c.StandardError, a.Low, a.High, a.StandardError)
	}
}

// Few rollouts, or all alike, have an interval.
func TestFewGradedRewards(t *testing.T) {
	for name, rewards := range map[string][]float64{"one": {0.5}, "two": {0.5, 0.5}, "small": {1e-9, 0, 0}, "alike": {0.9, 0.9, 0.9, 0.9}} {
		var tasks []estimate.Task
		for range 3 {
			tasks = append(tasks, estimate.Task{Stages: []estimate.Stage{stageOf(rewards, 1)}})
		}
		m := must(estimate.Of(prior, tasks))
		if !(0 <= m.Low && m.Low < m.Value && m.Value < m.High && m.High <= 1 && m.StandardError > 0) {
			t.Errorf("%s: %v, %v to %v ± %v", name, m.Value, m.Low, m.High, m.StandardError)
		}
	}
}

// Numbers do not move: of rewards of 0 and 1, which are passes with Wilson's interval, and of
// graded ones, whose interval has a skewness of its own.
func TestNumbersStand(t *testing.T) {
	passes := []estimate.Task{two(4, 1, 10, 4, 0.3), two(4, 4, 2, 1, 0.3), two(4, 4, 1, 1, 0.3), two(4, 0, 1, 0, 0.3)}
	var graded []estimate.Task
	for _, rs := range [][]float64{{0.9, 0.8, 1, 0.9, 0}, {0.5, 0.7, 0.6, 0.4, 0.5}, {1, 0.95, 0.9, 1, 0.97}} {
		graded = append(graded, estimate.Task{Stages: []estimate.Stage{stageOf(rs[:2], 0.3), stageOf(rs[2:], 0.7)}})
	}
	for _, tt := range []struct {
		tasks []estimate.Task
		want  []float64
	}{
		{passes, []float64{0x1.80c5dd7f63d22p-04, 0x1.35ee20d48d606p-02, 0x1.661d0770e9c01p-01, 0x1.1103aff6b7918p+02, 0x1.2f60313abfdcp-03}},
		{graded, []float64{0x1.39b28bc9213b6p-04, 0x1.3f62cd1e54478p-04, 0x1.edaf0aa88804p-01, 0x1.1a7e958ff3579p+02, 0x1.96f6d10aed0e3p-05}},
	} {
		m := must(estimate.Of(prior, tt.tasks))
		for k, got := range []float64{m.StandardError, m.Low, m.High, m.Uniform.Value, m.Tasks[1].Variance} {
			if math.Abs(got/tt.want[k]-1) > 1e-13 {
				t.Errorf("%d of %d tasks: %v, want %v", k, len(tt.tasks), got, tt.want[k])
			}
		}
	}
}
