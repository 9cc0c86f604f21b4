package tsneyman

import (
	"fmt"
	"testing"

	"speceval/data"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
)

func probabilities(t testing.TB, name string) []float64 {
	t.Helper()
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Name() == name {
			out := make([]float64, p.N())
			for i := range out {
				out[i] = p.P(i)
			}
			return out
		}
	}
	t.Fatalf("no profile %s", name)
	return nil
}

// BenchmarkStep is a trajectory from 2 to 64 rollouts a task by the race, whose table has been
// filled by others before.
func BenchmarkStep(b *testing.B) {
	const warm, budget = 2, 64
	for _, name := range []string{"math_100__model=qwen3_5_4b", "math_100__model=qwen2_5_3b", "aime24__model=qwen3_5_4b"} {
		for _, alpha := range []float64{0.01, 0.04, 0.07, 1} {
			p := probabilities(b, name)
			o, s := NewOutcomes(p), NewSampler(alpha)
			random, k, steps := seed.Root(1).Stream(), uint64(0), (budget-warm)*len(p)
			race := func() {
				k++
				o.Begin(random.At(2 * k))
				s.Begin(o, warm, random.At(2*k+1))
				s.Advance(budget * len(p))
			}
			for range 400 {
				race()
			}
			b.Run(fmt.Sprint(name, "/", alpha), func(b *testing.B) {
				for b.Loop() {
					race()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
			})
		}
	}
}
