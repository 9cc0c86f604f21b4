package neyman

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy/seed"
)

// greedy is the paper's procedure word for word: start from one rollout a task, or
// from a larger floor, and give each further one to the task with the largest marginal
// reduction, the first of those that are equal, among tasks below a ceiling.
func greedy(scores []float64, total, least, most int) []int {
	allocation := slices.Repeat([]int{least}, len(scores))
	for spent := least * len(scores); spent < total; spent++ {
		best, gain := spent%len(scores), 0.0 // in turn where no task has a variance
		if slices.Max(scores) > 0 || allocation[best] >= most {
			gain = -1
		}
		for i, v := range scores {
			if l := allocation[i]; l < most && v/float64(l*(l+1)) > gain {
				best, gain = i, v/float64(l*(l+1))
			}
		}
		allocation[best]++
	}
	return allocation
}

// kindsOfScores makes scores as the policies do: few different values with many
// ties, values over many orders of magnitude, zeros.
func kindsOfScores(random *seed.Stream) []float64 {
	n := 1 + int(random.Uint64()%40)
	scores := make([]float64, n)
	kind := random.Uint64() % 5
	m := 1 + int(random.Uint64()%12)
	for i := range scores {
		s := float64(random.Uint64() % uint64(m+1))
		switch kind {
		case 0: // EN
			scores[i] = s * (float64(m) - s)
		case 1: // IBN
			scores[i] = (100*s + 13) * (100*(float64(m)-s) + 13)
		case 2:
			scores[i] = random.Float64()
		case 3:
			scores[i] = math.Exp(-30 * random.Float64())
		case 4: // squares, whose marginal gains tie between different scores
			scores[i] = float64([]int{0, 1, 3, 6, 10, 15}[random.Uint64()%6])
		}
	}
	return scores
}

// TestAllocationIsTheGreedyOne draws scores, totals, floors and ceilings. Below a ceiling it
// compares values, since tasks without variance may have any numbers.
func TestAllocationIsTheGreedyOne(t *testing.T) {
	value := func(scores []float64, allocation []int) (sum float64) {
		for i, v := range scores {
			sum += v / float64(allocation[i])
		}
		return sum
	}
	for name, tt := range map[string]struct{ rounds, tasks, floors, ceilings, more int }{
		"each has one": {8000, 1, 1, 0, 20}, "above a floor": {8000, 1, 8, 0, 20}, "below a ceiling": {8000, 1, 4, 30, 0},
		"many tasks, whose equal scores are one class": {5, manyTasks, 3, 0, 4},
	} {
		random := seed.Root(1).Child(name).Stream()
		below := func(n int) int { return int(random.Uint64() % uint64(n)) }
		var a Allocator
		for range tt.rounds {
			var scores []float64
			for n := tt.tasks + below(min(tt.tasks, 100)); len(scores) < n; {
				scores = append(scores, kindsOfScores(&random)...)
			}
			n, most := len(scores), math.MaxInt
			a.Least = 1 + below(tt.floors)
			total := a.Least * n
			if tt.ceilings > 0 {
				most = a.Least + below(tt.ceilings)
				a.Most, total = most, total+below(1+(most-a.Least)*n)
			} else {
				total += below(tt.more * n)
			}
			got, want, all := must(a.Allocate(scores, total)), greedy(scores, total, a.Least, most), 0
			for _, n := range got {
				all += n
			}
			alike := slices.Equal(got, want)
			if tt.ceilings > 0 {
				alike = all == total && slices.Min(got) >= a.Least && slices.Max(got) <= most && value(scores, got) <= value(scores, want)*(1+1e-12)
			}
			if !alike {
				t.Fatalf("%s: Allocate(%v, %d) from %d to %d =\n%v, greedy gives\n%v", name, scores, total, a.Least, most, got, want)
			}
		}
		if _, err := a.Allocate([]float64{1, 2}, 2*a.Most+1); a.Most > 0 && err == nil {
			t.Error("more rollouts than fit below the ceiling are allocated")
		}
	}
}

func TestAllocationRefusesNonsense(t *testing.T) {
	tests := []struct {
		scores []float64
		total  int
		want   string
	}{
		{nil, 3, "0 tasks"},
		{[]float64{1, 1}, 1, "every task needs at least 1"},
		{[]float64{1, 1, 1}, 2, "every task needs"},
		{[]float64{1, -1}, 5, "score 1 is -1"},
		{[]float64{math.NaN(), 1}, 5, "score 0 is NaN"},
		{[]float64{math.Inf(1), 1}, 5, "score 0 is +Inf"},
	}
	for _, tt := range tests {
		if got, err := Allocate(tt.scores, tt.total); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Allocate(%v, %d) = %v, %v; want an error with %q", tt.scores, tt.total, got, err, tt.want)
		}
	}
	above := Allocator{Least: 3}
	if got, err := above.Allocate([]float64{1, 1}, 5); err == nil || !strings.Contains(err.Error(), "every task needs at least 3") {
		t.Errorf("5 rollouts for two tasks of 3 or more: %v, %v", got, err)
	}
}

func FuzzAllocate(f *testing.F) {
	f.Add(uint16(7), 1.0, 2.0, 0.0)
	f.Add(uint16(500), 1e-300, 1e300, 1.0)
	f.Add(uint16(60000), 1e-320, 5e-324, 0.25)
	f.Fuzz(func(t *testing.T, total uint16, a, b, c float64) {
		scores := []float64{a, b, c, a}
		allocation, err := Allocate(scores, int(total))
		if err != nil {
			return
		}
		sum := 0
		for i, n := range allocation {
			if n < 1 {
				t.Fatalf("task %d gets %d", i, n)
			}
			sum += n
		}
		if sum != int(total) {
			t.Fatalf("%d rollouts allocated, want %d", sum, total)
		}
	})
}

// TestWeightIsOptimal compares the closed form with other weights.
func TestWeightIsOptimal(t *testing.T) {
	for _, m := range []int{1, 4, 16} {
		for _, coefficient := range []float64{0.01, 0.2, 3} {
			w := Weight(m, coefficient)
			risk := Risk(64, m, w, coefficient)
			if other := 64 * w / float64(m); math.Abs(risk-other) > 1e-12*risk {
				t.Errorf("risk %v is not b·w/m = %v", risk, other)
			}
			for _, d := range []float64{-1e-3, 1e-3} {
				if Risk(64, m, w+d, coefficient) <= risk {
					t.Errorf("m = %d, C = %v: weight %v is better than %v", m, coefficient, w+d, w)
				}
			}
		}
	}
}

// BenchmarkAllocate times an allocation task by task, beside the greedy
// procedure that it replaces.
func BenchmarkAllocate(b *testing.B) {
	for _, n := range []int{30, 100, 300, 1000, 20_000} {
		random := seed.Root(1).Stream()
		scores := make([]float64, n)
		for i := range scores {
			scores[i] = random.Float64()
		}
		b.Run(fmt.Sprintf("greedy/N=%d", n), func(b *testing.B) {
			if n > 1000 {
				b.Skip("it takes minutes")
			}
			for b.Loop() {
				greedy(scores, n*32, 1, math.MaxInt)
			}
			perSecond(b, "allocations/s")
		})
		b.Run(fmt.Sprintf("exact/N=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Allocate(scores, n*32); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b, "allocations/s")
		})
	}
}

// TestLadderFindsTheOptimum compares places on a ladder with the allocator that
// does without one, over the scores of IBN and EN, all numbers of tasks and
// totals, also beyond the ladder's reach.
func TestLadderFindsTheOptimum(t *testing.T) {
	random := seed.Root(5).Stream()
	found, missed := 0, 0
	var ladder Ladder
	for range 400 {
		m := 2 + int(random.Uint64()%40)
		scores := ladderScores(m, int(random.Uint64()%3))
		ladder.Build(scores, scores, 30/math.Sqrt(scores[len(scores)-1]))
		for range 50 {
			counts, top := randomCounts(len(scores), &random)
			total := 0.0
			var classes Classes
			tally := Tally{Counts: counts, Weights: counts, Top: top}
			mass := 0.0
			for c, n := range counts {
				total += n
				mass += n * math.Sqrt(scores[c])
				if n > 0 {
					classes.Add(int(n), scores[c])
				}
			}
			total += float64(random.Uint64() % uint64(40*total))
			tally.SetMass(mass, counts[0]*math.Sqrt(scores[0]))
			place, ok := ladder.Find(&tally, total)
			if !ok {
				missed++
				continue
			}
			found++
			got := place.Value - place.Extra*ladder.Drop(place.Step)
			if want := classes.Value(int(total)); math.Abs(got-want) > 1e-12*want {
				t.Fatalf("m = %d, counts %v, total %v: value %v, want %v", m, counts, total, got, want)
			}
		}
	}
	if found < 1000 || missed < 100 {
		t.Errorf("%d places found and %d beyond reach: the test does not cover both", found, missed)
	}
}

// ladderScores are the scores by folded count of IBN with α = 0.01 or 0.5, or
// of EN without its class of score zero.
func ladderScores(m, kind int) []float64 {
	var scores []float64
	for j := range m/2 + 1 {
		switch kind {
		case 0:
			scores = append(scores, float64((100*j+1)*(100*(m-j)+1)))
		case 1:
			scores = append(scores, float64((10*j+5)*(10*(m-j)+5)))
		case 2:
			scores = append(scores, float64((j+1)*(m+1-j)))
		}
	}
	return scores
}

func randomCounts(classes int, random *seed.Stream) (counts []float64, top int) {
	counts = make([]float64, classes)
	counts[0] = float64(random.Uint64() % 60)
	for range 1 + random.Uint64()%40 {
		counts[random.Uint64()%uint64(classes)]++
	}
	for c, n := range counts {
		if n > 0 {
			top = c + 1
		}
	}
	return counts, top
}

func TestTiedStepsAreTheEqualGains(t *testing.T) {
	var ladder Ladder
	ladder.Build([]float64{2, 6, 12, 5}, []float64{1, 1, 1, 1}, 20)
	for at := range ladder.steps {
		first, end := ladder.Tied(at)
		for i, s := range ladder.steps {
			if (s.gain == ladder.steps[at].gain) != (first <= i && i < end) {
				t.Fatalf("step %d: tied from %d to %d, but step %d has gain %v of %v", at, first, end, i, s.gain, ladder.steps[at].gain)
			}
		}
	}
}

// perSecond reports the rate of a benchmark's loop.
func perSecond(b *testing.B, unit string) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), unit)
}

// TestAllocationIsOptimal compares the value with every possible allocation of
// small cases.
func TestAllocationIsOptimal(t *testing.T) {
	random := seed.Root(2).Stream()
	for range 300 {
		scores := kindsOfScores(&random)
		scores = scores[:min(4, len(scores))]
		least := 1 + int(random.Uint64()%3)
		total := least*len(scores) + int(random.Uint64()%8)
		a := Allocator{Least: least}
		got := must(a.Allocate(scores, total))
		value := VarianceRatio(scores, got, 1)
		best := math.Inf(1)
		every(len(scores), total, least, func(allocation []int) {
			best = min(best, VarianceRatio(scores, allocation, 1))
		})
		if value > best*(1+1e-14) {
			t.Fatalf("Allocate(%v, %d) above %d = %v: Σ v/L is %v, the best is %v", scores, total, least, got, value, best)
		}
	}
}

// every visits all allocations of total rollouts to tasks, with least rollouts or more for each.
func every(tasks, total, least int, visit func([]int)) {
	allocation := make([]int, tasks)
	var fill func(task, left int)
	fill = func(task, left int) {
		if task == tasks-1 {
			allocation[task] = left
			visit(allocation)
			return
		}
		for n := least; left-n >= least*(tasks-1-task); n++ {
			allocation[task] = n
			fill(task+1, left-n)
		}
	}
	fill(0, total)
}
