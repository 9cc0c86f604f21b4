package drift_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/method/drift"
)

// fewDraws are enough where a rate of alarms is found.
const fewDraws = 199

func same(t testing.TB, references []drift.Reference, pilot []drift.Outcome, draws, seed int) drift.Verdict {
	t.Helper()
	v, err := drift.Same(references, pilot, draws, uint64(seed))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// draw is outcomes of so many rollouts of tasks with the probabilities ps.
func draw(random *rand.Rand, ps []float64, rollouts ...int) (all []drift.Outcome) {
	for i, p := range ps {
		passes, n := 0, rollouts[i%len(rollouts)]
		for range n {
			if random.Float64() < p {
				passes++
			}
		}
		all = append(all, drift.Outcome{passes, n})
	}
	return all
}

// chances are tasks as benchmarks have them: many easy, some hopeless, some in between.
func chances(random *rand.Rand, tasks int) []float64 {
	ps := make([]float64, tasks)
	for i := range ps {
		x := 3 * random.NormFloat64()
		ps[i] = 1 / (1 + math.Exp(-1-x))
	}
	return ps
}

// TestOneTaskIsFishersTest compares the p-value of the shift with the hypergeometric
// law's, within the error of the draws.
func TestOneTaskIsFishersTest(t *testing.T) {
	choose := func(n, k int) float64 {
		ways := 1.0
		for j := range k {
			ways = ways * float64(n-j) / float64(j+1)
		}
		return ways
	}
	const draws = 20_000
	for _, tt := range [][4]int{{9, 12, 2, 8}, {30, 40, 8, 8}, {1, 5, 3, 4}} {
		old, n, fresh, m := tt[0], tt[1], tt[2], tt[3]
		v := same(t, []drift.Reference{{Tasks: []drift.Outcome{drift.Outcome{old, n}}}}, []drift.Outcome{drift.Outcome{fresh, m}}, draws, 3)
		passes := old + fresh
		expected := float64(m) * float64(passes) / float64(n+m)
		want := 0.0
		for s := max(0, passes-n); s <= min(m, passes); s++ {
			if math.Abs(float64(s)-expected) >= math.Abs(float64(fresh)-expected)-1e-9 {
				want += choose(passes, s) * choose(n+m-passes, m-s) / choose(n+m, m)
			}
		}
		c := v.By[0]
		if se := math.Sqrt(want*(1-want)/draws) + 1e-4; math.Abs(c.ShiftP-want) > 5*se || c.ShiftP != c.ChangeP || c.P != c.ShiftP {
			t.Errorf("%v: p %v and %v, want %v ± %v", tt, c.ShiftP, c.ChangeP, want, se)
		}
		if gap := float64(fresh)/float64(m) - float64(old)/float64(n); math.Abs(c.Shift-gap) > 1e-12 || c.Tasks != 1 {
			t.Errorf("%v: a shift of %v of %d tasks, want %v", tt, c.Shift, c.Tasks, gap)
		}
	}
}

// TestModelsThatStayAreLeftAlone draws references and pilots of the same tasks: with many
// and with few rollouts, and of different numbers for every task. The rate of alarms is
// at most 1%, and the shift has the stated error.
func TestModelsThatStayAreLeftAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	ps := chances(random, 40)
	for name, outcomes := range map[string]func() (old, fresh []drift.Outcome){
		"many":   func() (old, fresh []drift.Outcome) { return draw(random, ps, 64), draw(random, ps, 4) },
		"few":    func() (old, fresh []drift.Outcome) { return draw(random, ps, 2), draw(random, ps, 3) },
		"uneven": func() (old, fresh []drift.Outcome) { return draw(random, ps, 1, 0, 30, 7), draw(random, ps, 4) },
	} {
		const pairs = 700
		alarms, seen, stated := 0, 0.0, 0.0
		for k := range pairs {
			old, fresh := outcomes()
			v := same(t, []drift.Reference{{Tasks: old}}, fresh, fewDraws, k)
			if v.Moved {
				alarms++
			}
			seen += v.By[0].Shift * v.By[0].Shift / pairs
			stated += v.By[0].Error * v.By[0].Error / pairs
		}
		if share := float64(alarms) / pairs; share > 0.01+4*math.Sqrt(0.01*0.99/pairs) || share == 0 {
			t.Errorf("%s: alarms in %v of the cases", name, share)
		}
		if math.Abs(seen/stated-1) > 5*math.Sqrt(2.0/pairs) {
			t.Errorf("%s: the shift has the variance %v, stated %v", name, seen, stated)
		}
	}
}

// TestMovedModelsAreFound: a shift by the one statistic, tasks that go either way by the
// other.
func TestMovedModelsAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 4))
	ps := chances(random, 100)
	worse, other := slices.Clone(ps), slices.Clone(ps)
	gap := 0.0
	for i, p := range ps {
		worse[i] = 0.8 * p
		gap += (worse[i] - p) / float64(len(ps))
		if i%8 == 0 {
			other[i] = 1 - p
		}
	}
	const pairs = 40
	var shifted, changed int
	for k := range pairs {
		old := []drift.Reference{{Tasks: draw(random, ps, 32)}}
		v := same(t, old, draw(random, worse, 8), fewDraws, k)
		if v.Moved && v.By[0].ShiftP <= 0.01 && math.Abs(v.By[0].Shift-gap) < 5*v.By[0].Error {
			shifted++
		}
		if v = same(t, old, draw(random, other, 8), fewDraws, k); v.Moved && v.By[0].ChangeP <= 0.01 {
			changed++
		}
	}
	if shifted < pairs-2 || changed < pairs-2 {
		t.Errorf("%d of %d shifts and %d changes are found", shifted, pairs, changed)
	}
}

func TestSeedsDecideTheDraws(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 4))
	ps := chances(random, 20)
	old, fresh := []drift.Reference{{Tasks: draw(random, ps, 16)}}, draw(random, ps, 4)
	a, b, c := same(t, old, fresh, fewDraws, 1), same(t, old, fresh, fewDraws, 1), same(t, old, fresh, fewDraws, 2)
	if !reflect.DeepEqual(a, b) || a.By[0].ShiftP == c.By[0].ShiftP {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	// Tasks that tell nothing change nothing but the mean shift's denominator.
	old[0].Tasks = append(old[0].Tasks, drift.Outcome{5, 5}, drift.Outcome{}, drift.Outcome{2, 3})
	fresh = append(fresh, drift.Outcome{4, 4}, drift.Outcome{1, 4}, drift.Outcome{})
	if d := same(t, old, fresh, fewDraws, 1); d.P != a.P || d.By[0].Tasks != 21 || math.Abs(d.By[0].Shift*21-a.By[0].Shift*20) > 1e-12 {
		t.Errorf("%+v, without them %+v", d, a)
	}
	two := same(t, []drift.Reference{{Name: "pilot", Tasks: old[0].Tasks}, {Name: "last stage", Tasks: fresh}}, fresh, fewDraws, 1)
	if len(two.By) != 2 || two.By[1].Name != "last stage" || two.P != min(1, 2*two.By[0].P, 2*two.By[1].P) {
		t.Errorf("%+v by two references", two)
	}
}

func TestComparisonsThatAreNone(t *testing.T) {
	good := []drift.Outcome{{1, 4}, {2, 2}}
	for want, tt := range map[string]struct {
		references []drift.Reference
		pilot      []drift.Outcome
		draws      int
	}{
		"0 references and 9 draws":             {nil, good, 9},
		"1 references and 0 draws":             {[]drift.Reference{{Tasks: good}}, good, 0},
		"last month: 1 tasks, the pilot has 2": {[]drift.Reference{{"last month", good[:1]}}, good, 9},
		"last month: task 1: 3 passes of 2":    {[]drift.Reference{{"last month", []drift.Outcome{good[0], {3, 2}}}}, good, 9},
		"task 0: -1 passes of 1 rollouts":      {[]drift.Reference{{"x", good}}, []drift.Outcome{{-1, 1}, good[1]}, 9},
		"no task has rollouts both":            {[]drift.Reference{{"x", []drift.Outcome{good[0], {}}}}, []drift.Outcome{{}, good[1]}, 9},
	} {
		if _, err := drift.Same(tt.references, tt.pilot, tt.draws, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Ten tasks of which 16 rollouts each are known, and a pilot of 4: most tasks are solved
// less often than they were.
func ExampleSame() {
	known := drift.Reference{Name: "last month"}
	var pilot []drift.Outcome
	for _, passes := range []int{16, 15, 12, 14, 9, 16, 11, 13, 0, 15} {
		known.Tasks = append(known.Tasks, drift.Outcome{passes, 16})
		pilot = append(pilot, drift.Outcome{passes / 5, 4})
	}
	v, err := drift.Same([]drift.Reference{known}, pilot, drift.Draws, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := v.By[0]
	fmt.Printf("moved: %v, p = %.4f; by %.1f ± %.1f points on %d tasks\n", v.Moved, v.P, 100*c.Shift, 100*c.Error, c.Tasks)
	// Output: moved: true, p = 0.0030; by -23.1 ± 6.6 points on 10 tasks
}
