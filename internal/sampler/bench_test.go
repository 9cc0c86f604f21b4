package sampler

import (
	"fmt"
	"testing"

	"speceval/internal/rollout"
	"speceval/internal/vllm"
)

// BenchmarkTick is a twentieth of a second of 250 answers that come in at 10,000 tokens
// a second, in pieces of one token, of 4,000 tokens each.
func BenchmarkTick(b *testing.B) {
	const streams, tokens, length = 250, 500, 4000
	s := newShelf()
	l, _ := open(b, b.TempDir(), s.settings())
	var ids [streams]rollout.ID
	var told [streams]int
	for i := range ids {
		ids[i], told[i] = at(int32(i), 0), i*length/streams
	}
	prompt := make([]int32, 300)
	written, before := int64(0), int64(0)
	b.ReportAllocs()
	for b.Loop() {
		for n := range tokens {
			i := n % streams
			if told[i] == length {
				l.deliver(&rollout.Rollout{TaskIndex: ids[i].Task, Rollout: ids[i].Rollout, Text: fmt.Sprintf("%*d", 4*length, n)})
				ids[i].Rollout++
				told[i] = 0
				l.Asked(ids[i], true)
			}
			l.Saw(ids[i], vllm.Piece{PromptIDs: prompt, IDs: []int32{int32(100_000 + n)}, Text: " the"})
			told[i]++
		}
		l.write()
		if size := l.journal.Size(); size > before {
			written += size - before
		}
		before = l.journal.Size()
	}
	perTick := float64(b.N) * tokens
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/perTick, "ns/token")
	b.ReportMetric(float64(written)/perTick, "B/token")
}
