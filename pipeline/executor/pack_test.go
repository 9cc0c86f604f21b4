package executor

import (
	"math/rand/v2"
	"testing"

	"speceval/pipeline/dag"
)

func TestPack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var pieces []*piece
		sum, longest := 0.0, 0.0
		for range random.IntN(300) {
			p := &piece{task: dag.Task{Seconds: 20 * random.Float64()}}
			switch random.IntN(10) {
			case 0:
				p.task.Seconds = 0
			case 1:
				p.alone = true
			default:
				sum += p.task.Seconds
				longest = max(longest, p.task.Seconds)
			}
			pieces = append(pieces, p)
		}
		const wanted = 60
		seen := make(map[*piece]bool)
		together := 0
		for _, element := range pack(pieces, wanted) {
			load := 0.0
			for _, p := range element {
				if seen[p] {
					t.Fatal("a unit is packed twice")
				}
				seen[p] = true
				load += p.task.Seconds
				if len(element) > 1 && (p.alone || p.task.Seconds == 0) {
					t.Fatal("a unit that must be alone is not")
				}
			}
			if len(element) == 0 {
				t.Fatal("an element without units")
			}
			if len(element) > 1 {
				together++
			}
			if load > wanted+longest && len(element) > 1 {
				t.Errorf("an element of %v s, want about %d", load, wanted)
			}
		}
		if len(seen) != len(pieces) {
			t.Errorf("%d of %d units are packed", len(seen), len(pieces))
		}
		if float64(together) > sum/wanted+1 {
			t.Errorf("%d elements for %v s", together, sum)
		}
	}
}

func TestPackBoundsAnElement(t *testing.T) {
	var pieces []*piece
	for range 2500 {
		pieces = append(pieces, &piece{task: dag.Task{Seconds: 0.001}})
	}
	elements := pack(pieces, 60)
	if len(elements) != 3 {
		t.Errorf("%d elements, want 3", len(elements))
	}
	for _, element := range elements {
		if len(element) > mostTogether {
			t.Errorf("an element of %d units", len(element))
		}
	}
}

func TestTimeLimits(t *testing.T) {
	long := []*piece{{task: dag.Task{Seconds: 3600}}, {task: dag.Task{Seconds: 600}}}
	for _, test := range []struct{ configured, workers, want int }{
		{0, 1, 0}, {60, 1, 280}, {60, 2, 240}, {600, 1, 600},
	} {
		if got := minutesOf(long, test.configured, test.workers); got != test.want {
			t.Errorf("configured %d, %d at a time: %d minutes, want %d", test.configured, test.workers, got, test.want)
		}
	}
}

func TestLongerTimeLimits(t *testing.T) {
	for _, test := range []struct{ minutes, longest, want int }{
		{10, 0, 20}, {10, 60, 20}, {40, 60, 60}, {60, 60, 60}, {0, 60, 60}, {0, 0, 0},
	} {
		if got := longer(test.minutes, test.longest); got != test.want {
			t.Errorf("after %d of %d minutes: %d, want %d", test.minutes, test.longest, got, test.want)
		}
	}
}
