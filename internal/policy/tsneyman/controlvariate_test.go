package tsneyman_test

import (
	"math"
	"testing"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/policy/tsneyman"
)

// table is the outcomes of every rollout of some trajectories.
type table struct {
	p      []float64
	stream seed.Stream
	now    seed.Stream
}

func (o *table) begin(t int) { o.now = o.stream.At(uint64(t)) }

func (o *table) pass(task, rollout int) bool {
	return float64(o.now.Word(uint64(task)<<32|uint64(rollout))>>11)*0x1p-53 < o.p[task]
}

// greedy gives each rollout after the warm start to the task whose passes and
// failures are most nearly as many for their number: adaptive, and certain.
func greedy(pass func(task, rollout int) bool, tasks, warm, total int) (rollouts, passes []int32) {
	rollouts, passes = make([]int32, tasks), make([]int32, tasks)
	give := func(i int) {
		if pass(i, int(rollouts[i])) {
			passes[i]++
		}
		rollouts[i]++
	}
	for i := range tasks {
		for range warm {
			give(i)
		}
	}
	for range total - warm*tasks {
		best, most := 0, -1.0
		for i := range tasks {
			n, s := float64(rollouts[i]), float64(passes[i])
			if score := (s + 0.3) * (n - s + 0.3) / (n * n * n * n); score > most {
				best, most = i, score
			}
		}
		give(best)
	}
	return rollouts, passes
}

func trajectories(o *table, warm, total, draws int) tsneyman.Trajectories {
	t := tsneyman.Trajectories{P: o.p, Warm: warm, Begin: o.begin, Pass: o.pass}
	for k := range draws {
		o.begin(k)
		rollouts, _ := greedy(o.pass, len(o.p), warm, total)
		t.Rollouts = append(t.Rollouts, rollouts...)
	}
	return t
}

// exact is the mean squared error of greedy over all outcomes of each task's
// rollouts, as many as it could have.
func exact(p []float64, warm, total int) float64 {
	each := total - warm*(len(p)-1)
	bits := each * len(p)
	sum := 0.0
	for word := range 1 << bits {
		bit := func(task, rollout int) bool { return word>>(task*each+rollout)&1 == 1 }
		probability := 1.0
		for i := range p {
			for j := range each {
				if bit(i, j) {
					probability *= p[i]
				} else {
					probability *= 1 - p[i]
				}
			}
		}
		rollouts, passes := greedy(bit, len(p), warm, total)
		e := 0.0
		for i := range p {
			e += (float64(passes[i])/float64(rollouts[i]) - p[i]) / float64(len(p))
		}
		sum += probability * e * e
	}
	return sum
}

// TestItIsUnbiasedWithAnyNumberOfTrajectories holds the mean over many repetitions
// against all outcomes, counted: with two trajectories, where a control that knew
// its own trajectory would show at once, and with more.
func TestItIsUnbiasedWithAnyNumberOfTrajectories(t *testing.T) {
	const warm, total = 1, 8
	p := []float64{0.3, 0.9}
	want := exact(p, warm, total)
	for _, draws := range []int{2, 3, 16} {
		var means, plain []float64
		states := tsneyman.NewStates(0.3)
		for k := range 8000 / draws {
			o := &table{p: p, stream: seed.Root(5).Index(draws).Index(k).Stream()}
			raw, controlled := states.Squares(trajectories(o, warm, total, draws))
			m, _ := pilot.MeanAndError(controlled)
			r, _ := pilot.MeanAndError(raw)
			means, plain = append(means, m), append(plain, r)
		}
		for what, xs := range map[string][]float64{"controlled": means, "plain": plain} {
			if mean, se := pilot.MeanAndError(xs); math.Abs(mean-want) > 4*se {
				t.Errorf("%d trajectories, %s: mean %.6f ± %.6f, want %.6f", draws, what, mean, se, want)
			}
		}
	}
}

// TestItTakesMostOfTheVarianceAway has many tasks and, for its noise, a margin of a
// factor of two to what was seen.
func TestItTakesMostOfTheVarianceAway(t *testing.T) {
	o := &table{stream: seed.Root(6).Stream()}
	for i := range 40 {
		o.p = append(o.p, float64(i%11)/10)
	}
	for _, budget := range []int{6, 24} {
		plain, controlled := tsneyman.NewStates(0.3).Squares(trajectories(o, 2, 40*budget, 400))
		a, before := pilot.MeanAndError(plain)
		b, after := pilot.MeanAndError(controlled)
		if math.Abs(a-b) > 4*before {
			t.Errorf("b = %d: %v with the control variate, %v ± %v without", budget, b, a, before)
		}
		if ratio := before / after * before / after; ratio < 25 {
			t.Errorf("b = %d: %.1f times less variance, want at least 25", budget, ratio)
		}
	}
}

// TestFixedRolloutsLeaveNoNoise gives every task the same rollouts: the error is
// the martingale then.
func TestFixedRolloutsLeaveNoNoise(t *testing.T) {
	o := &table{p: []float64{0, 0.2, 0.5, 1}, stream: seed.Root(7).Stream()}
	want := (0.16 + 0.25) / 16 / 5
	_, controlled := tsneyman.NewStates(1).Squares(trajectories(o, 5, 20, 50))
	for k, c := range controlled {
		if math.Abs(c-want) > 1e-12 {
			t.Fatalf("trajectory %d: %v, want %v", k, c, want)
		}
	}
}

// TestVeryManyRolloutsOfATaskTakeLittleMemory has a task of which no table can be of all
// states.
func TestVeryManyRolloutsOfATaskTakeLittleMemory(t *testing.T) {
	o := &table{p: []float64{0.5}, stream: seed.Root(8).Stream()}
	const total = 200_000
	all := tsneyman.Trajectories{P: o.p, Warm: 2, Begin: o.begin, Pass: o.pass}
	for range 4 {
		all.Rollouts = append(all.Rollouts, total)
	}
	plain, controlled := tsneyman.NewStates(0.3).Squares(all)
	for k, c := range controlled {
		if want := 0.25 / total; math.Abs(c-want) > 0.5*math.Abs(plain[k]-want)+0.5*want {
			t.Errorf("trajectory %d: %.3g, want %.3g", k, c, want)
		}
	}
}
