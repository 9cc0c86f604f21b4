package dag

import (
	"sync"
	"sync/atomic"
)

// spread has several workers share the numbers from 0 to n − 1: each gets those
// that its calls of next return.
func spread(n, workers int, work func(next func() (i int, more bool))) {
	stretch := max(1, min(n/(16*workers), 64)) // numbers that a worker takes at once
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range min((n+stretch-1)/stretch, workers) {
		wg.Go(func() {
			i, end := 0, 0
			work(func() (int, bool) {
				if i == end {
					end = int(taken.Add(int64(stretch)))
					i = end - stretch
				}
				i++
				return i - 1, i <= n
			})
		})
	}
	wg.Wait()
}
