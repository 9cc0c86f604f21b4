package pool

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"speceval/internal/servers/vllm"
)

// BenchmarkPool is what the pool adds to a request: eight replicas of 32 places
// that answer at once, without a network. The largest number of callers is more
// than there are places.
func BenchmarkPool(b *testing.B) {
	for _, callers := range []int{1, 128, 512} {
		b.Run(fmt.Sprintf("callers=%d/processor", callers), func(b *testing.B) {
			c, err := vllm.New("http://127.0.0.1:1", vllm.Options{})
			if err != nil {
				b.Fatal(err)
			}
			replicas := make([]Replica, 8)
			for i := range replicas {
				replicas[i].Client = c
			}
			p := New(replicas, Settings{Window: 32, Attempts: 3, Outage: time.Minute, Hang: time.Minute, Poll: time.Second})
			defer p.Close()
			var seed atomic.Int64
			b.SetParallelism(callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := asked(0)
				for pb.Next() {
					r.Seed = seed.Add(1)
					_, _, err := p.request(b.Context(), r, answer{}, func(context.Context, *vllm.Client, vllm.Request, func(vllm.Piece)) (vllm.Completion, error) {
						return vllm.Completion{}, nil
					})
					if err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
