package sampler

import (
	"math"
	"math/rand/v2"
	"testing"

	"speceval/internal/rollout"
)

// A model whose answers are the longer the likelier they are wrong: after every
// token the answer ends by a chance of 1 in 12, and is right by a chance that falls
// with its length.
const (
	ends = 1.0 / 12
	even = 9 // tokens after which right and wrong are alike
)

func rightAfter(tokens int) float64 { return 1 / (1 + math.Pow(float64(tokens)/even, 2)) }

// truth is the chance that an answer is right.
func truth() float64 {
	sum, alive := 0.0, 1.0
	for n := 1; n < 2000; n++ {
		sum += alive * ends * rightAfter(n)
		alive *= 1 - ends
	}
	return sum
}

// sampled makes an evaluation of n answers, so many at a time, whose process is
// killed at moments that have nothing to do with them, and returns the share of right
// ones. What was left of answers then goes on, or not.
func sampled(t *testing.T, dir string, random *rand.Rand, goOn bool, n, places, kills int) float64 {
	const every = 3 // steps of a tick
	s := newShelf()
	begin := func() *Partials {
		l, _, err := OpenPartials(dir, s.settings())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := begin()
	tokens := map[rollout.ID]int{} // of the answers under way
	for step, next := 1, int32(0); len(s.has) < n; step++ {
		if kills > 0 && random.IntN(15) == 0 {
			kills--
			l.kill()
			l = begin()
			clear(tokens)
			next = 0
		}
		for ; len(tokens) < places && int(next) < n; next++ {
			id := at(0, next)
			if s.holds(id) {
				continue
			}
			tokens[id] = 0
			if p := l.Find(id); p != nil && goOn {
				tokens[id] = len(p.Prefix.IDs)
			} else {
				l.Forget(id)
			}
			l.Asked(id, true)
		}
		for id := range tokens {
			tokens[id]++
			if random.Float64() >= ends {
				l.Saw(id, word(0, 1))
				continue
			}
			r := whole(0, id.Rollout)
			r.CompletionTokens = 0
			if random.Float64() < rightAfter(tokens[id]) {
				r.CompletionTokens = 1
			}
			l.Deliver(r)
			delete(tokens, id)
		}
		if step%every == 0 {
			l.Flush()
		}
	}
	l.kill()
	if err := RemovePartials(dir); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, r := range s.has {
		sum += float64(r.CompletionTokens)
	}
	return sum / float64(n)
}

// Kills leave the law of answers as it is where they go on from what was written at
// ticks, and only then.
func TestKillsDoNotChangeTheLaw(t *testing.T) {
	const answers, places, kills = 8, 4, 2
	random, dir := rand.New(rand.NewPCG(3, 5)), t.TempDir()
	for goOn, evaluations := range map[bool]float64{true: 1500, false: 300} {
		sum, squares := 0.0, 0.0
		for range int(evaluations) {
			x := sampled(t, dir, random, goOn, answers, places, kills) - truth()
			sum += x
			squares += x * x
		}
		bias := sum / evaluations
		se := math.Sqrt((squares/evaluations - bias*bias) / evaluations)
		t.Logf("where answers go on (%t): a bias of %+.4f ± %.4f", goOn, bias, se)
		if goOn != (math.Abs(bias) <= 4*se) {
			t.Errorf("where answers go on (%t): biased %t", goOn, goOn)
		}
	}
}
