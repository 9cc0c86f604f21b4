package pilot

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/seed"
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
	if lattice != later {
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
		masses, err := Masses(t.Context(), prior, cs, tasks, panels, at.Child("plain").Stream())
		if err != nil {
			t.Fatal(err)
		}
		sums, random := make([]float64, len(cs)), at.Child("even").Stream()
		if err := p.AddEven(t.Context(), panels, sums, NewLattice(&random), &random); err != nil {
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
