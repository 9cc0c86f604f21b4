package controller

import (
	"fmt"
	"testing"

	"speceval/method/neyman"
)

// BenchmarkProvisional is a provisional allocation and the first that it submits,
// N = 100, with half of the pilot's rewards known.
func BenchmarkProvisional(b *testing.B) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		b.Fatal(err)
	}
	for _, setting := range []struct{ budget, pilots int }{{8, 4}, {16, 6}, {32, 10}, {64, 16}} {
		b.Run(fmt.Sprintf("b=%d", setting.budget), func(b *testing.B) {
			c, err := New(Settings{Policy: Async, Tasks: 100, Budget: setting.budget, Pilots: setting.pilots, Prior: Cold(prior)})
			if err != nil {
				b.Fatal(err)
			}
			for i := range 100 * setting.pilots {
				id, _ := c.Next()
				if i%2 == 0 {
					if _, err := c.Completed(id, (i/100+i)%5 < 2); err != nil {
						b.Fatal(err)
					}
				}
			}
			snapshot := c.Snapshot()
			b.ReportAllocs()
			for version := 1; b.Loop(); version++ {
				p := *snapshot
				p.version, p.done = version, false
				c.Apply(&p)
				c.spec.next(c)
			}
		})
	}
}
