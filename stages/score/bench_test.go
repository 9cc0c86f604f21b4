package score_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/store/rollout"
)

// BenchmarkCorpus scores a corpus of responses of 4,000 bytes, some 1,000 tokens,
// files read and written; generating them is not timed.
func BenchmarkCorpus(b *testing.B) {
	for _, family := range []string{"choice", "math"} {
		b.Run(family, func(b *testing.B) {
			const tasks, rollouts = 20, 256
			l := newLab(b)
			task := benchmark.Task{Benchmark: "quiz", Scorer: family, Answer: "C", Options: 4, Prompt: "?"}
			ends := []string{`So the answer is \boxed{C}.`, `Hence \boxed{A}.`}
			if family == "math" {
				task.Answer, task.Options = `\frac{3\sqrt{2}}{4}`, 0
				ends = []string{`So it is $\boxed{\frac{3\sqrt{2}}{4}}$.`, `Hence $\boxed{\dfrac{3}{2\sqrt{2}}}$.`, `That is $\boxed{\frac{2\sqrt{3}}{4}}$.`}
			}
			l.settings.Rollouts, l.settings.AtATime = rollouts, 1
			l.settings.Benchmarks[0].Tasks, l.rollouts = nil, nil
			random := rand.New(rand.NewPCG(1, 2))
			for i := range tasks {
				task.Index, task.ID = i, fmt.Sprint("t", i)
				l.settings.Benchmarks[0].Tasks = append(l.settings.Benchmarks[0].Tasks, task)
				for k := range rollouts {
					l.rollouts = append(l.rollouts, rollout.Rollout{
						Benchmark: "quiz", Model: "m", TaskIndex: int32(i), TaskID: task.ID, Rollout: int32(k),
						FinishReason: "stop", Text: words(random, 4000) + ends[k%len(ends)],
					})
				}
			}
			for i := range b.N {
				l.settings.Benchmarks[0].Answers.SHA256 = fmt.Sprint(i)
				if i == 0 {
					l.succeed() // writes the rollouts, too
					b.ResetTimer()
					l.settings.Benchmarks[0].Answers.SHA256 = "first"
				}
				l.succeed()
			}
			b.ReportMetric(float64(b.N*tasks*rollouts)/b.Elapsed().Seconds(), "responses/s")
		})
	}
}

// words is prose with some mathematics in it.
func words(random *rand.Rand, bytes int) string {
	vocabulary := strings.Fields(`we have that the sum of all terms is $x^2+1$ so let us now consider each case in turn since
		$\frac{a}{b}$ divides it and therefore \[ a_n = 3n - 1 \] holds for every n which gives 42 or 17 by symmetry`)
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteString(vocabulary[random.IntN(len(vocabulary))])
		b.WriteByte(' ')
	}
	return b.String()
}
