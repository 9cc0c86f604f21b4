package router_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"speceval/internal/servers/router"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// instant is an engine in which requests end in the order of their submission
// and computations at once: all that costs is the router.
type instant struct {
	slots   int
	first   int // that has not ended
	next    int
	pending func()
	aborted map[int]bool
}

func (e *instant) Slots() int                { return e.slots }
func (e *instant) Submit(int, controller.ID) { e.next++ }
func (e *instant) Abort(request int)         { e.aborted[request] = true }
func (e *instant) Compute(f func())          { e.pending = f }
func (e *instant) Now() time.Duration        { return time.Duration(e.first) }
func (e *instant) Next(context.Context) (router.Event, error) {
	if e.pending != nil {
		e.pending()
		e.pending = nil
		return router.Event{Kind: router.Computed}, nil
	}
	event := router.Event{Request: e.first, Finished: e.Now(), Started: e.Now(), Prompt: 100, Generated: 1000}
	if e.aborted[e.first] {
		event.Kind = router.Aborted
	}
	e.first++
	return event, nil
}

// BenchmarkEvent is the router's work for a completion, N = 100 and 256 places,
// with a provisional allocation after every pilot under HBN-async.
func BenchmarkEvent(b *testing.B) {
	prior := must(neyman.NewPrior(16))
	for _, budget := range []int{8, 64} {
		for _, policy := range []controller.Policy{controller.Uniform, controller.Sync, controller.Async} {
			b.Run(fmt.Sprintf("b=%d/%v", budget, policy), func(b *testing.B) {
				pilots := map[int]int{8: 4, 64: 16}[budget]
				events := 0
				b.ReportAllocs()
				for b.Loop() {
					ctl := must(controller.New(controller.Settings{Policy: policy, Tasks: 100, Budget: budget, Pilots: pilots, Prior: controller.Cold(prior)}))
					engine := &instant{slots: 256, aborted: map[int]bool{}}
					record, err := router.Run(b.Context(), router.Settings{
						Controller: ctl, Engine: engine, Reward: router.PassFail(func(id controller.ID) bool { return (id.Task+id.Ordinal)%3 == 0 }),
					})
					if err != nil {
						b.Fatal(err)
					}
					events += len(record.Requests)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
			})
		}
	}
}
