package neyman

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/seed"
)

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

// BenchmarkValue times one allocation's value: by a ladder, and class by class.
func BenchmarkValue(b *testing.B) {
	for _, c := range []struct{ tasks, m int }{{30, 10}, {100, 4}, {100, 10}, {100, 40}, {1000, 40}} {
		random := seed.Root(1).Stream()
		scores := ladderScores(c.m, 0)
		tallies, groups := make([]Tally, 4096), make([]Classes, 4096)
		for i := range tallies {
			counts := make([]float64, len(scores))
			counts[0] = float64(c.tasks * 3 / 5)
			for range c.tasks - int(counts[0]) {
				counts[random.Uint64()%uint64(len(scores))]++
			}
			mass := 0.0
			for j, n := range counts {
				mass += n * math.Sqrt(scores[j])
				groups[i].Add(int(n), scores[j])
			}
			tallies[i] = Tally{Counts: counts, Weights: counts, Top: len(counts)}
			tallies[i].SetMass(mass, counts[0]*math.Sqrt(scores[0]))
		}
		total := c.tasks * 24
		var ladder Ladder
		ladder.Build(scores, scores, 8*float64(total)/(float64(c.tasks)*math.Sqrt(scores[len(scores)-1])))
		b.Run(fmt.Sprintf("ladder/N=%d/m=%d", c.tasks, c.m), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := ladder.Find(&tallies[i&4095], float64(total)); !ok {
					b.Fatal("beyond reach")
				}
			}
			perSecond(b, "allocations/s")
		})
		b.Run(fmt.Sprintf("classes/N=%d/m=%d", c.tasks, c.m), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				groups[i&4095].Value(total)
			}
			perSecond(b, "allocations/s")
		})
	}
}
