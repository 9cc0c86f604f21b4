package pilot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

// TestLatticeFillsTheSquare counts the points of a lattice in boxes of the unit
// square, which is even to a few points; independent points miss by dozens.
func TestLatticeFillsTheSquare(t *testing.T) {
	const points, side = 6400, 8
	random := seed.Root(31).Stream()
	for range 10 {
		lattice := NewLattice(&random)
		var boxes [side][side]int
		for range points {
			xi, delta := lattice.next()
			if !(0 < xi && xi < 1 && 0 < delta && delta < 1) {
				t.Fatalf("point %v, %v", xi, delta)
			}
			boxes[int(xi*side)][int(delta*side)]++
		}
		for i := range boxes {
			for j, n := range boxes[i] {
				if want := points / (side * side); n < want-8 || n > want+8 {
					t.Errorf("box %d, %d has %d points, want about %d", i, j, n, want)
				}
			}
		}
	}
}

func TestLatticeFromAnyPoint(t *testing.T) {
	random := seed.Root(32).Stream()
	lattice := NewLattice(&random)
	later := lattice.From(1000)
	for range 1000 {
		lattice.next()
	}
	if *lattice != *later {
		t.Errorf("after 1000 points %v, from the 1000th %v", lattice, later)
	}
}

// TestEvenPanelsHaveTheSameMean holds 40 replicates of even panels against as
// many of independent ones, at five standard errors of their difference: the same
// masses, a third of the error or less.
func TestEvenPanelsHaveTheSameMean(t *testing.T) {
	const tasks, panels, replicates = 60, 96, 40
	prior := newPrior(t)
	cs := Candidates{{16, 2}, {16, 6}, {16, 12}}
	even, plain := make([][]float64, len(cs)), make([][]float64, len(cs))
	p := NewPanels(prior, cs, tasks)
	for replicate := range replicates {
		at := seed.Root(33).Index(replicate)
		masses, err := Masses(t.Context(), prior, cs, tasks, panels, false, at.Child("plain").Stream())
		if err != nil {
			t.Fatal(err)
		}
		sums, random := make([]float64, len(cs)), at.Child("even").Stream()
		if err := p.Add(t.Context(), panels, sums, NewLattice(&random), &random); err != nil {
			t.Fatal(err)
		}
		for k := range cs {
			plain[k] = append(plain[k], masses[k])
			even[k] = append(even[k], sums[k]/panels)
		}
	}
	for k, c := range cs {
		a, aSE := MeanAndError(plain[k])
		b, bSE := MeanAndError(even[k])
		report := fmt.Sprintf("m = %d: even %v ± %v, independent %v ± %v", c.M, b, bSE, a, aSE)
		if math.Abs(a-b) > 5*math.Hypot(aSE, bSE) || bSE > aSE/3 {
			t.Error(report)
		}
		t.Log(report)
	}
}

func newPrior(t testing.TB) *neyman.Prior {
	t.Helper()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	return prior
}

// TestPanelsUseTheWholePosterior recomputes the sums over panels, in two blocks,
// with every node of the quadrature and task by task; where pilot sizes are left
// out, and over paths of several words, too.
func TestPanelsUseTheWholePosterior(t *testing.T) {
	prior := newPrior(t)
	const tasks = 40
	for name, cs := range map[string]Candidates{
		"all":  AllCandidates([]int{4, 20}),
		"some": {{20, 3}, {150, 3}, {150, 64}, {150, 65}, {150, 140}},
	} {
		p := NewPanels(prior, cs, tasks)
		random := seed.Root(22).Stream()
		for range 2 {
			const panels = 30
			got := make([]float64, len(cs))
			if err := p.block(t.Context(), panels, got, &random); err != nil {
				t.Fatal(err)
			}
			for k, c := range cs {
				want := 0.0
				for panel := range panels {
					want += valueByTask(t, prior, successesOf(p, panel, c.M), c)
				}
				if math.Abs(got[k]-want) > 1e-10*want {
					t.Errorf("%s: b = %d, m = %d: sum %v, want %v", name, c.Budget, c.M, got[k], want)
				}
			}
		}
	}
}

// successesOf counts the successes of every task of a panel, from the paths.
func successesOf(p *Panels, panel, m int) []int {
	successes := make([]int, p.tasks)
	for task := range successes {
		i := (panel*p.tasks + task) * p.words
		successes[task] = Successes(p.paths[i:i+p.words], m)
	}
	return successes
}

// valueByTask is Σ v/L for an allocation made task by task.
func valueByTask(t *testing.T, prior *neyman.Prior, successes []int, c Candidate) float64 {
	t.Helper()
	counts := make([]int, c.M+1)
	for _, s := range successes {
		counts[s]++
	}
	quadratic := prior.Pilot(c.M).Scores(counts, prior.NewWork())
	var scores []float64
	for _, s := range successes {
		scores = append(scores, quadratic.At(s))
	}
	allocation, err := neyman.Allocate(scores, len(scores)*(c.Budget-c.M))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, l := range allocation {
		sum += scores[i] / float64(l)
	}
	return sum
}

// TestBlocksChangeNothing takes the same panels through in blocks of another
// size, down to the last bit.
func TestBlocksChangeNothing(t *testing.T) {
	prior := newPrior(t)
	cs := AllCandidates([]int{3, 9})
	sums := func(block int) []float64 {
		p := NewPanels(prior, cs, 12)
		p.works = p.works[:block]
		random := seed.Root(23).Stream()
		sums := make([]float64, len(cs))
		if err := p.Add(t.Context(), 100, sums, NewLattice(&random), &random); err != nil {
			t.Fatal(err)
		}
		return sums
	}
	want := sums(mostBlock)
	for _, block := range []int{1, 7, 64} {
		if got := sums(block); !slices.Equal(got, want) {
			t.Errorf("in blocks of %d: %v, want %v", block, got, want)
		}
	}
}

// TestPathsAreBounded keeps the memory of the largest designs in its bounds, and
// still evaluates them.
func TestPathsAreBounded(t *testing.T) {
	p := NewPanels(newPrior(t), Candidates{{4096, 1}, {4096, 4095}}, 65_535)
	if bytes := 8 * len(p.paths); bytes > blockBytes+8*64*65_535 || len(p.works) != 1 {
		t.Errorf("paths of %d bytes in blocks of %d", bytes, len(p.works))
	}
	random := seed.Root(24).Stream()
	sums := make([]float64, 2)
	if err := p.Add(t.Context(), 1, sums, NewLattice(&random), &random); err != nil || !(sums[0] > 0 && sums[1] > 0) {
		t.Errorf("sums %v, error %v", sums, err)
	}
}

func TestPanelsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Masses(ctx, newPrior(t), AllCandidates([]int{4}), 10, 1000, false, seed.Root(1).Stream()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
