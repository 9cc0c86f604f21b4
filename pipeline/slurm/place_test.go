package slurm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"speceval/pipeline/dag"
)

// TestLocal has every second of twelve units fail, and none end before all workers were
// busy at once.
func TestLocal(t *testing.T) {
	odd := errors.New("odd")
	for _, workers := range []int{0, 1, 3} {
		want := max(1, workers)
		var mu sync.Mutex
		running, most, full := 0, 0, make(chan struct{})
		var tasks []dag.Task
		for i := range 12 {
			tasks = append(tasks, dag.Task{Ref: dag.Ref{Stage: "s", Unit: fmt.Sprint(i)}, Run: func(context.Context) error {
				mu.Lock()
				if running++; running > most && running == want {
					close(full)
				}
				most = max(most, running)
				mu.Unlock()
				<-full
				mu.Lock()
				defer mu.Unlock()
				running--
				if i%2 == 1 {
					return odd
				}
				return nil
			}})
		}
		got := new(lab).through(t.Context(), nil, Local{workers}, tasks)
		for i := range 12 {
			if err, reported := got[fmt.Sprint(i)]; !reported || (err == odd) != (i%2 == 1) {
				t.Errorf("%d workers: unit %d ended with %v", workers, i, err)
			}
		}
		same(t, fmt.Sprint("units at a time of ", workers), most, want)
	}
}

func TestPack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		units, seconds := random.IntN(300), 20.0
		if round == 0 { // more than an element may have
			units, seconds = 2500, 0.01
		}
		var pieces []*piece
		sum, longest := 0.0, 0.0
		for range units {
			p := &piece{task: dag.Task{Seconds: seconds * random.Float64()}}
			switch random.IntN(10) {
			case 0:
				p.task.Seconds = 0
			case 1:
				p.alone = true
			default:
				sum, longest = sum+p.task.Seconds, max(longest, p.task.Seconds)
			}
			pieces = append(pieces, p)
		}
		const wanted = 60
		seen, together := make(map[*piece]bool), 0
		for _, element := range pack(pieces, wanted) {
			load := 0.0
			for _, p := range element {
				if seen[p] || len(element) > 1 && (p.alone || p.task.Seconds == 0) {
					t.Fatal("a unit is packed twice, or one that must be alone is not")
				}
				seen[p] = true
				load += p.task.Seconds
			}
			if len(element) > 1 {
				together++
			}
			if n := len(element); n == 0 || n > mostTogether || n > 1 && load > wanted+longest {
				t.Errorf("an element of %d units, %v s, want about %d", n, load, wanted)
			}
		}
		same(t, "units that are packed", len(seen), len(pieces))
		if float64(together) > sum/wanted+3 {
			t.Errorf("%d elements for %v s", together, sum)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	long := [][]*piece{{{task: dag.Task{Seconds: 3600}}, {task: dag.Task{Seconds: 600}}}}
	for _, test := range []struct{ configured, workers, longest, want int }{
		{0, 1, 0, 0}, {60, 1, 0, 280}, {60, 2, 0, 240}, {600, 1, 0, 600}, {60, 1, 90, 90},
	} {
		same(t, fmt.Sprintf("%+v", test), minutesOf(long, test.configured, test.workers, test.longest), test.want)
	}
}
