package pool

import (
	"fmt"
	"sync/atomic"
	"testing"

	"speceval/internal/servers/vllm"
)

// BenchmarkPool is of the wait for a place: eight replicas of 32 places, which are given back at
// once. The largest number of callers is more than there are places.
func BenchmarkPool(b *testing.B) {
	c, err := vllm.New("http://127.0.0.1:1", vllm.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, callers := range []int{1, 128, 512} {
		b.Run(fmt.Sprintf("callers=%d/processor", callers), func(b *testing.B) {
			p := open(Settings{Window: 32}, Requirement{})
			defer p.Close()
			for range 8 {
				p.add(Replica{Client: c})
			}
			var arrivals atomic.Uint64
			b.SetParallelism(callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					place, err := p.acquire(b.Context(), arrivals.Add(1))
					if err != nil {
						b.Error(err)
					}
					place.Release()
				}
			})
		})
	}
}
