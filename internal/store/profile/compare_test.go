package profile_test

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
)

// counted is a profile of tasks t0, t1, …
func counted(k int, passes ...int) profile.Profile {
	p := profile.Profile{Benchmark: "b", Model: "m", TestedK: k, PassCounts: passes}
	for i := range passes {
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint("t", i))
	}
	return p
}

func TestDifferencesOfTasks(t *testing.T) {
	c := profile.Compare(counted(4, 4, 1, 0), counted(16, 0, 4, 0), 0.01)
	// The pass rate of both is 4/20 and 5/20: √(0.2·0.8·(1/4+1/16)) = √0.05, √(0.25·0.75·0.3125) = √0.05859375.
	se := []float64{math.Sqrt(0.05), math.Sqrt(0.05859375), 0}
	want := []profile.TaskDifference{
		{TaskID: "t0", Passes: [2]int{4, 0}, Rollouts: [2]int{4, 16}, Rate: [2]float64{1, 0}, Difference: 1, SE: se[0], Z: 1 / se[0], P: 2.0 / 4845, Differs: true},
		{TaskID: "t1", Passes: [2]int{1, 4}, Rollouts: [2]int{4, 16}, Rate: [2]float64{0.25, 0.25}, SE: se[1], P: 1},
		{TaskID: "t2", Rollouts: [2]int{4, 16}, P: 1},
	}
	for i, w := range want {
		got := c.Tasks[i]
		for _, pair := range [][2]*float64{{&got.SE, &w.SE}, {&got.Z, &w.Z}, {&got.P, &w.P}} {
			if math.Abs(*pair[0]-*pair[1]) < 1e-12 {
				*pair[0] = *pair[1]
			}
		}
		if got != w {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
	if c.Mean != [2]float64{1.25 / 3, 0.25 / 3} || math.Abs(c.Bias-1.0/3) > 1e-15 || math.Abs(c.SE-math.Sqrt(0.10859375)/3) > 1e-15 {
		t.Errorf("means %v, bias %v ± %v", c.Mean, c.Bias, c.SE)
	}
	if c.Agree || c.Differing != 1 {
		t.Errorf("%d tasks differ", c.Differing)
	}
}

func TestTasksAreMatchedByID(t *testing.T) {
	a := profile.Profile{TaskIDs: []string{"x", "only a", "y"}, PassCounts: []int{3, 1, 5}, TestedK: 8, Scorer: "v1"}
	b := profile.Profile{TaskIDs: []string{"y", "z", "x", "w"}, PassCounts: []int{5, 1, 3, 0}, TestedK: 8, Scorer: "v2"}
	c := profile.Compare(a, b, 0.01)
	if len(c.Tasks) != 2 || c.Tasks[0].TaskID != "x" || c.Tasks[1].TaskID != "y" || c.Bias != 0 || c.P != 1 || !c.Agree {
		t.Errorf("got %+v", c)
	}
	if want := [2][]string{{"only a"}, {"z", "w"}}; !reflect.DeepEqual(c.Only, want) {
		t.Errorf("in one alone are %q, want %q", c.Only, want)
	}
	if c.Scorer != [2]string{"v1", "v2"} {
		t.Errorf("scorers %q", c.Scorer)
	}
	c = profile.Compare(a, counted(8, 1, 2), 0.01)
	if c.Agree || len(c.Tasks) != 0 || c.P != 1 || len(c.Worst()) != 0 {
		t.Errorf("profiles without a task in common: %+v", c)
	}
}

// Of tasks with rollouts of their own number the passes are still as likely to be
// anybody's: t0 has 4 of 4 and 0 of 16, t1 1 of 2 and 1 of 2.
func TestTasksWithRolloutsOfTheirOwnNumber(t *testing.T) {
	a, b := counted(0, 4, 1), counted(0, 0, 1)
	a.Tested, b.Tested = []int{4, 2}, []int{16, 2}
	c := profile.Compare(a, b, 0.01)
	if got := c.Tasks[0].P; math.Abs(got-2.0/4845) > 1e-15 || c.Tasks[1].P != 1 || c.Mean != [2]float64{0.75, 0.25} {
		t.Errorf("p = %v and %v, means %v", got, c.Tasks[1].P, c.Mean)
	}
	// 5 of all passes or more are the first file's with 4 of t0 and 1 of t1 at least, or
	// with 3 of t0, in 64 of 4845 ways, and 2 of t1, in 1 of 6.
	if want := 2 * (5.0/6 + 64.0/6) / 4845; math.Abs(c.P-want) > 1e-12 {
		t.Errorf("p of the mean = %v, want %v", c.P, want)
	}
}

// tail is the two-sided p-value of Fisher's exact test for a sum over tasks by
// counting all the ways in which the passes of each can fall, with n1 and n2
// rollouts a task.
func tail(n1, n2 int, passes [][2]int) float64 {
	ways := map[int]*big.Int{0: big.NewInt(1)}
	count := 0
	for _, p := range passes {
		next := map[int]*big.Int{}
		s := p[0] + p[1]
		for a := max(0, s-n2); a <= min(s, n1); a++ {
			choices := new(big.Int).Mul(new(big.Int).Binomial(int64(n1), int64(a)), new(big.Int).Binomial(int64(n2), int64(s-a)))
			for sum, n := range ways {
				if next[sum+a] == nil {
					next[sum+a] = new(big.Int)
				}
				next[sum+a].Add(next[sum+a], new(big.Int).Mul(n, choices))
			}
		}
		ways, count = next, count+p[0]
	}
	all, below, above := new(big.Int), new(big.Int), new(big.Int)
	for sum, n := range ways {
		all.Add(all, n)
		if sum <= count {
			below.Add(below, n)
		}
		if sum >= count {
			above.Add(above, n)
		}
	}
	if below.Cmp(above) > 0 {
		below = above
	}
	p, _ := new(big.Rat).SetFrac(below.Lsh(below, 1), all).Float64()
	return min(1, p)
}

// Exact arithmetic against the recurrence and the convolution.
func TestPValuesAreExact(t *testing.T) {
	random := seed.Root(5).Stream()
	for range 400 {
		n1, n2 := 1+int(random.Uint64()%40), 1+int(random.Uint64()%40)
		tasks := 1 + int(random.Uint64()%6)
		a, b := make([]int, tasks), make([]int, tasks)
		passes := make([][2]int, tasks)
		for i := range tasks {
			a[i], b[i] = int(random.Uint64()%uint64(n1+1)), int(random.Uint64()%uint64(n2+1))
			passes[i] = [2]int{a[i], b[i]}
		}
		c := profile.Compare(counted(n1, a...), counted(n2, b...), 0.01)
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-10*want+1e-19 { // what is left out of a law is below 1e-20
				t.Errorf("%s of %v in %d and %d rollouts: p = %v, want %v", what, passes, n1, n2, got, want)
			}
		}
		near("the mean", c.P, tail(n1, n2, passes))
		for i := range tasks {
			near("a task", c.Tasks[i].P, tail(n1, n2, passes[i:i+1]))
		}
	}
}

// Where the convolution gives way to a normal distribution, p-values do not
// jump. 80 tasks with 300 passes in 200 and 1000 rollouts have a variance of
// 2,502, of which 2,500 is the most that is worth a convolution.
func TestManyRolloutsAreAsGoodAsNormal(t *testing.T) {
	p := func(tasks, more int) float64 {
		a, b := make([]int, tasks), make([]int, tasks)
		for i := range a {
			a[i], b[i] = 50, 250
		}
		step := 1
		if more < 0 {
			step = -1
		}
		for i := range step * more {
			a[i%tasks] += step
			b[i%tasks] -= step
		}
		return profile.Compare(counted(200, a...), counted(1000, b...), 0.01).P
	}
	for _, sigmas := range []float64{-4, -2, -1, 0, 1, 2, 4} {
		exact := p(79, int(math.Round(sigmas*math.Sqrt(79*31.27)))) // variance 2,471
		normal := p(81, int(math.Round(sigmas*math.Sqrt(81*31.27))))
		if ratio := exact / normal; ratio < 1/1.3 || ratio > 1.3 {
			t.Errorf("at %v standard deviations: %v exactly, %v as normal", sigmas, exact, normal)
		}
	}
}

func TestHolmAsksLessOfTheNextTask(t *testing.T) {
	// Of 10 rollouts each: 10 against 0 has p = 2/184756 = 1.1e-5, 8 against 0
	// has p = 7.1e-4, 6 against 0 has p = 1.1e-2.
	a, b := counted(10, 10, 8, 6), counted(10, 0, 0, 0)
	for _, c := range []struct {
		level float64 // of the tasks
		want  int
	}{
		{3.1e-5, 0}, {3.3e-5, 1}, // 3 × 1.1e-5 = 3.25e-5
		{1.4e-3, 1}, {1.5e-3, 2}, // 2 × 7.1e-4 = 1.43e-3
		{1.05e-2, 2}, {1.1e-2, 3},
	} {
		got := profile.Compare(a, b, 2*c.level)
		if got.Differing != c.want {
			t.Errorf("at %v %d tasks differ, want %d: %+v", c.level, got.Differing, c.want, got.Tasks)
		}
	}
	p := profile.Compare(a, b, 0.01).P // the bias is held against half of the level
	if profile.Compare(a, b, 1.99*p).Biased || !profile.Compare(a, b, 2.01*p).Biased {
		t.Errorf("a bias with p = %v", p)
	}
	c := profile.Compare(counted(10, 3, 10, 0), counted(10, 3, 0, 8), 0.01)
	if worst := c.Worst(); worst[0].TaskID != "t1" || worst[1].TaskID != "t2" || worst[2].TaskID != "t0" {
		t.Errorf("the worst first: %+v", worst)
	}
}

// draw is a profile of k rollouts a task with the given success probabilities.
func draw(random *seed.Stream, k int, p []float64) profile.Profile {
	passes := make([]int, len(p))
	for i := range p {
		for range k {
			if random.Float64() < p[i] {
				passes[i]++
			}
		}
	}
	return counted(k, passes...)
}

// Of profiles with the same success probabilities no more disagree than the
// level says, and p-values of the bias are as small as they should be: within
// four standard errors of the share of 2,000 pairs, which one in 16,000 such
// checks would exceed by chance.
func TestFalseAlarmsAreAsRareAsStated(t *testing.T) {
	const pairs, level = 2000, 0.1
	for _, k := range [][2]int{{4, 4}, {4, 300}, {50, 50}, {400, 400}} {
		random := seed.Root(7).Index(k[0]).Index(k[1]).Stream()
		alarms, small := 0, 0
		p := make([]float64, 30)
		for range pairs {
			for i := range p { // easy, hard and middling tasks
				p[i] = []float64{0.01, 0.5, 0.97}[i%3] + 0.02*random.Float64()
			}
			c := profile.Compare(draw(&random, k[0], p), draw(&random, k[1], p), level)
			if !c.Agree {
				alarms++
			}
			if c.P <= level {
				small++
			}
		}
		most := level + 4*math.Sqrt(level*(1-level)/pairs)
		if share := float64(alarms) / pairs; share > most {
			t.Errorf("%d and %d rollouts: a share of %v disagrees, want %v at most", k[0], k[1], share, level)
		}
		// Counts are whole: a p-value may jump past the level.
		if share := float64(small) / pairs; share > most || share < level/2 {
			t.Errorf("%d and %d rollouts: the bias has p ≤ %v in a share of %v", k[0], k[1], level, share)
		}
	}
}

// Counts of billions are no hazard.
func TestHugeCountsAreCompared(t *testing.T) {
	const k = math.MaxInt32
	c := profile.Compare(counted(k, k/2, 0, k), counted(k, k/2+200_000, 1, k), 0.01)
	if !c.Tasks[0].Differs || c.Tasks[1].Differs || c.Tasks[2].Differs || math.IsNaN(c.P) {
		t.Errorf("got %+v", c)
	}
	c = profile.Compare(counted(1, 1, 0), counted(k, k/2, k/2), 0.01)
	if !c.Agree {
		t.Errorf("got %+v", c)
	}
}
