package tsneyman

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// quiet times the parts of many trajectories, each of as many steps as there are
// tasks. For each part it takes the time that a quarter of the trajectories stay
// below, which other programs on the machine disturb little, and returns the
// mean over parts in nanoseconds a step.
type quiet struct{ times [][]float64 }

func (q *quiet) add(part int, f func()) {
	if part == len(q.times) {
		q.times = append(q.times, nil)
	}
	start := time.Now()
	f()
	q.times[part] = append(q.times[part], float64(time.Since(start)))
}

func (q *quiet) perStep(tasks int) float64 {
	sum := 0.0
	for _, t := range q.times {
		slices.Sort(t)
		sum += t[len(t)/4]
	}
	return sum / float64(tasks*len(q.times))
}

// BenchmarkStep is a step of the race and of the naive sampler, from 2 to 64
// rollouts a task, interleaved so that both meet the same machine. The table has
// been filled by 400 trajectories before.
func BenchmarkStep(b *testing.B) {
	const warm, budget = 2, 64
	for _, name := range []string{"math_100__model=qwen3_5_4b", "math_100__model=qwen2_5_3b", "aime24__model=qwen3_5_4b"} {
		for _, alpha := range []float64{0.01, 0.04, 0.07, 1} {
			b.Run(fmt.Sprint(name, "/", alpha), func(b *testing.B) {
				p := probabilities(b, name)
				o, s, v := NewOutcomes(p), NewSampler(alpha), newNaive(alpha)
				random := seed.Root(1).Stream()
				begin := func(k int) {
					o.Begin(random.At(uint64(2 * k)))
					s.Begin(o, warm, random.At(uint64(2*k+1)))
				}
				for k := range 400 {
					begin(k)
					s.Advance(budget * len(p))
				}
				fast, slow, k := quiet{}, quiet{}, 400
				for b.Loop() {
					for range 20 {
						begin(k)
						for part := range budget - warm {
							fast.add(part, func() { s.Advance((warm + part + 1) * len(p)) })
						}
						k++
					}
					v.begin(o, warm, random.At(uint64(2*k+1)))
					for part := range budget - warm {
						slow.add(part, func() {
							for range p {
								v.step()
							}
						})
					}
				}
				b.ReportMetric(fast.perStep(len(p)), "ns/step")
				b.ReportMetric(slow.perStep(len(p)), "ns/naive")
				b.ReportMetric(slow.perStep(len(p))/fast.perStep(len(p)), "ratio")
				b.ReportMetric(float64(len(s.race.table.rows)), "rows")
				b.ReportMetric(float64(len(s.race.table.splits)), "splits")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkRow is what it costs to fill a row of the table.
func BenchmarkRow(b *testing.B) {
	t := newTable(0.07)
	w := t.window(around(20))
	n := int32(2)
	for b.Loop() {
		n++
		if n == 400 {
			n = 2
			t.empty()
		}
		t.row(w, n, n/5)
	}
}
