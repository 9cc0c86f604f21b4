package informed_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"speceval/method/informed"
	"speceval/method/neyman"
)

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func priorOf(tasks int, donors ...informed.Donor) *informed.Prior {
	return must(informed.New(tasks, donors))
}

// byReference are the scores of Eq. 7.
func byReference(rollouts, passes []int) (all []float64) {
	rewards := make([]float64, len(passes))
	for i, n := range passes {
		rewards[i] = float64(n)
	}
	update := must(must(neyman.NewPrior(16)).Update(rollouts, rewards))
	for i := range rollouts {
		_, v := update.Moments(i)
		all = append(all, v)
	}
	return all
}

// donorOf has so many rollouts of every task.
func donorOf(rollouts int, passes ...int) informed.Donor {
	return informed.Donor{Name: "a donor", Passes: passes, Rollouts: slices.Repeat([]int{rollouts}, len(passes))}
}

func observe(t testing.TB, p *informed.Posterior, rollouts, passes []int) {
	t.Helper()
	if err := p.Observe(rollouts, passes); err != nil {
		t.Fatal(err)
	}
}

func scores(p *informed.Posterior, tasks int) []float64 {
	all := make([]float64, tasks)
	p.Scores(all)
	return all
}

// close wants two lists to differ by no more than a share: what is lost with nodes
// that are e⁻⁷ times as likely as the best, of which there are many.
func closeTo(t *testing.T, got, want []float64, share float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]/want[i]-1) <= share) {
			t.Errorf("score %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// TestStepsAreAsGoodAsOne observes the same rollouts at once, one by one, and of
// different numbers in each step.
func TestStepsAreAsGoodAsOne(t *testing.T) {
	prior := priorOf(5, donorOf(16, 0, 3, 8, 16, 15), donorOf(1000, 100, 0, 900, 1000, 500))
	rollouts, passes := []int{3, 3, 3, 3, 3}, []int{0, 1, 2, 3, 3}
	once := prior.Posterior()
	observe(t, once, rollouts, passes)
	want := scores(once, 5)

	steps := prior.Posterior()
	for k := range 3 {
		some := make([]int, 5)
		for i, s := range passes {
			if k < s {
				some[i] = 1
			}
		}
		observe(t, steps, []int{1, 1, 1, 1, 1}, some)
	}
	closeTo(t, scores(steps, 5), want, 1e-3)

	uneven := prior.Posterior()
	observe(t, uneven, []int{0, 1, 2, 0, 3}, []int{0, 1, 1, 0, 3})
	observe(t, uneven, []int{3, 2, 1, 3, 0}, []int{0, 0, 1, 3, 0})
	closeTo(t, scores(uneven, 5), want, 1e-3)

	once.Restart()
	observe(t, once, rollouts, passes)
	if got := scores(once, 5); !slices.Equal(got, want) {
		t.Errorf("after a restart the scores are %v, not %v", got, want)
	}
}

// TestThePilotDecidesWhoHelps has a donor that is the model itself, one that is like
// it, and one that is not.
func TestThePilotDecidesWhoHelps(t *testing.T) {
	const tasks = 60
	random := rand.New(rand.NewPCG(3, 3))
	count := func(n int, p float64) (s int) {
		for range n {
			if random.Float64() < p {
				s++
			}
		}
		return s
	}
	same, like, other := donorOf(200), donorOf(200), donorOf(200)
	pilot := make([]int, tasks)
	for i := range tasks {
		x := 6 * random.NormFloat64()
		p := 1 / (1 + math.Exp(-x))
		for _, d := range []*informed.Donor{&same, &like, &other} {
			d.Rollouts = slices.Repeat([]int{200}, tasks)
		}
		same.Passes = append(same.Passes, count(200, p))
		like.Passes = append(like.Passes, count(200, 1/(1+math.Exp(-x+2+random.NormFloat64()))))
		other.Passes = append(other.Passes, random.IntN(201))
		pilot[i] = count(4, p)
	}
	post := priorOf(tasks, other, like, same).Posterior()
	observe(t, post, slices.Repeat([]int{4}, tasks), pilot)
	shares, mean, none := post.Shares()
	if len(shares) != 3 || shares[2] < 0.9 || none < 0.05-1e-12 || math.Abs(shares[0]+shares[1]+shares[2]+mean+none-1) > 1e-9 {
		t.Errorf("the donors have the shares %v, their mean %v, none %v", shares, mean, none)
	}
	post = priorOf(tasks, other, like).Posterior()
	observe(t, post, slices.Repeat([]int{4}, tasks), pilot)
	if shares, _, none := post.Shares(); shares[0] > 0.01 || shares[1] < 0.9 {
		t.Errorf("without the same model they have %v, none %v", shares, none)
	}
	post = priorOf(tasks, other).Posterior()
	observe(t, post, slices.Repeat([]int{4}, tasks), pilot)
	if _, _, none := post.Shares(); none < 0.9 {
		t.Errorf("a donor that is of no use leaves %v to none", none)
	}
}

// TestDonorsMayBeAnything wants finite positive scores whatever the counts are, and
// of one task or two.
func TestDonorsMayBeAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for tasks := range 12 {
		tasks++
		for range 40 {
			var donors []informed.Donor
			for range random.IntN(4) {
				d := informed.Donor{Name: "d", Passes: make([]int, tasks), Rollouts: make([]int, tasks)}
				for i := range tasks {
					n := []int{0, 1, 16, 1024, 1 << 30}[random.IntN(5)]
					d.Rollouts[i], d.Passes[i] = n, []int{0, n, n / 2, n / 100}[random.IntN(4)]
				}
				d.Rollouts[0] = max(1, d.Rollouts[0])
				donors = append(donors, d)
			}
			post := priorOf(tasks, donors...).Posterior()
			for range 3 {
				rollouts, passes := make([]int, tasks), make([]int, tasks)
				for i := range tasks {
					rollouts[i] = []int{0, 1, 5, 70, 3000}[random.IntN(5)]
					passes[i] = random.IntN(rollouts[i] + 1)
				}
				observe(t, post, rollouts, passes)
				for i, v := range scores(post, tasks) {
					if !(v > 0 && v <= 0.25) {
						t.Fatalf("task %d of %d has the score %v, with donors %v", i, tasks, v, donors)
					}
				}
			}
		}
	}
}

func TestBadDonorsAreNamed(t *testing.T) {
	for _, tt := range []struct {
		donor informed.Donor
		want  string
	}{
		{donorOf(4, 1, 5, 0), "task 1 has 5 passes of 4 rollouts"},
		{donorOf(4, 1, -1, 0), "task 1 has -1 passes of 4 rollouts"},
		{donorOf(-1, 0, 0, 0), "task 0 has 0 passes of -1 rollouts"},
		{donorOf(4, 1, 2), "passes of 2 tasks and rollouts of 2, want 3 of each"},
		{donorOf(0, 0, 0, 0), "no rollout of any of the 3 tasks: are they of another benchmark?"},
	} {
		if _, err := informed.New(3, []informed.Donor{donorOf(2, 0, 1, 2), tt.donor}); err == nil || !strings.Contains(err.Error(), "a donor") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	if _, err := informed.New(0, nil); err == nil {
		t.Error("a prior of no tasks is made")
	}
	post := priorOf(2).Posterior()
	for _, tt := range [][2][]int{{{1}, {1}}, {{1, 1}, {2, 0}}, {{1, -1}, {0, 0}}, {{1, 1}, {0, -1}}} {
		if err := post.Observe(tt[0], tt[1]); err == nil {
			t.Errorf("%v is observed", tt)
		}
	}
}

// TestDrawsAreOfThePrior compares the mean of p(1−p) over draws with the scores
// before any rollout, at 4 standard errors.
func TestDrawsAreOfThePrior(t *testing.T) {
	prior := priorOf(3, donorOf(16, 0, 8, 16), informed.Donor{Name: "b", Passes: []int{1, 0, 0}, Rollouts: []int{2, 0, 0}})
	const draws = 40_000
	sums, squares := make([]float64, 3), make([]float64, 3)
	ps, source := make([]float64, 3), rand.NewPCG(8, 8)
	for range draws {
		prior.Draw(float64(source.Uint64()>>11)*0x1p-53, source, ps)
		for i, p := range ps {
			v := p * (1 - p)
			sums[i] += v
			squares[i] += v * v
		}
	}
	for i, want := range scores(prior.Posterior(), 3) {
		mean := sums[i] / draws
		se := math.Sqrt((squares[i]/draws - mean*mean) / draws)
		if math.Abs(mean-want) > 4*se {
			t.Errorf("task %d has %v ± %v in draws, score %v", i, mean, se, want)
		}
	}
}

// TestAPosteriorMayBeginAgain has the bits of a posterior of its own for every evaluation,
// whatever it observed before: the same pilot, another one of that size, or a longer one.
func TestAPosteriorMayBeginAgain(t *testing.T) {
	prior := priorOf(5, donorOf(8, 8, 0, 3, 5, 1), donorOf(16, 12, 1, 3, 16, 0))
	again := prior.Posterior()
	for k, pilot := range [][]int{{2, 0, 1, 2, 0}, {2, 0, 1, 2, 0}, {0, 2, 1, 0, 2}, {2, 0, 1, 2, 0}, {3, 0, 1, 2, 3}, {2, 0, 1, 2, 0}} {
		again.Restart()
		fresh := prior.Posterior()
		for _, stage := range [][2][]int{{slices.Repeat([]int{slices.Max(pilot)}, 5), pilot}, {{3, 0, 1, 2, 0}, {1, 0, 1, 0, 0}}} {
			observe(t, again, stage[0], stage[1])
			observe(t, fresh, stage[0], stage[1])
			if k == 2 && stage[1][0] == 0 {
				continue // without its scores
			}
			if got, want := scores(again, 5), scores(fresh, 5); !slices.Equal(got, want) {
				t.Errorf("evaluation %d, after passes %v: scores %v, want %v", k, stage[1], got, want)
			}
		}
	}
}

// TestEveryTaskIsOfItsOwnKind has many tasks of different counts, in two steps.
func TestEveryTaskIsOfItsOwnKind(t *testing.T) {
	const tasks = 300
	random := rand.New(rand.NewPCG(6, 6))
	post := priorOf(tasks).Posterior()
	rollouts, passes, ps := make([]int, tasks), make([]int, tasks), make([]float64, tasks)
	for i := range ps {
		ps[i] = random.Float64()
	}
	for range 2 {
		more, passed := make([]int, tasks), make([]int, tasks)
		for i := range tasks {
			more[i] = random.IntN(12)
			for range more[i] {
				if random.Float64() < ps[i] {
					passed[i]++
				}
			}
			rollouts[i] += more[i]
			passes[i] += passed[i]
		}
		observe(t, post, more, passed)
	}
	closeTo(t, scores(post, tasks), byReference(rollouts, passes), 0.01)
}

// TestMixtureIsThePosterior holds the joint law to the scores of the same posterior.
func TestMixtureIsThePosterior(t *testing.T) {
	const tasks = 4
	post := priorOf(tasks, donorOf(20, 1, 10, 19, 20), donorOf(4, 0, 0, 4, 4)).Posterior()
	observe(t, post, []int{3, 3, 3, 3}, []int{0, 2, 3, 3})
	observe(t, post, []int{0, 5, 1, 2}, []int{0, 2, 1, 1})
	want, mixture := scores(post, tasks), post.Mixture()
	var sums []neyman.Sum
	for i := range tasks {
		v := make([]float64, tasks)
		v[i] = 1
		sums = append(sums, neyman.Sum{V: v})
	}
	means, _ := mixture.Joint(sums...)
	closeTo(t, means, want, 1e-12)
}

// TestForecastsGoByDonors has a model that was evaluated before, and one like it: the variance that
// is likely is about theirs, where the prior of an evaluation expects a third of it to be of any model.
func TestForecastsGoByDonors(t *testing.T) {
	const tasks = 60
	flat := donorOf(1000, slices.Repeat([]int{800}, tasks)...)
	for name, tt := range map[string]struct {
		prior     *informed.Prior
		low, high float64 // of the variance of a task
	}{
		"the model itself":           {must(informed.Likely(tasks, []informed.Donor{flat}, true)), 0.158, 0.161},
		"by few rollouts":            {must(informed.Likely(tasks, []informed.Donor{donorOf(5, slices.Repeat([]int{4}, tasks)...)}, true)), 0.15, 0.18},
		"a model like it":            {must(informed.Likely(tasks, []informed.Donor{flat}, false)), 0.07, 0.15},
		"any model":                  {must(informed.Likely(tasks, nil, false)), 1.0/12 - 1e-9, 1.0/12 + 1e-9},
		"the prior of an evaluation": {priorOf(tasks, flat), 0.08, 0.14},
	} {
		if v := tt.prior.Variance() / tasks; !(v >= tt.low && v <= tt.high) {
			t.Errorf("%s: the variance of a task is likely %.4f, want %v to %v", name, v, tt.low, tt.high)
		}
	}
	if _, err := informed.Likely(3, []informed.Donor{donorOf(4, 1, 5, 0)}, true); err == nil {
		t.Error("a donor with more passes than rollouts is taken")
	}
}
