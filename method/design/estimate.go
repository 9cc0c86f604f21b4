package design

import (
	"context"
	"sync"

	"speceval/internal/exante"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// pieces is the number of parts that a replicate's panels are drawn in, each
// from a stream of its own, so that one replicate can keep several workers busy.
const pieces = 8

// piece is a part of a replicate: what its panels sum to, by candidate.
type piece struct {
	replicate, index int
	sums             []float64
	err              error
}

// estimate returns the continuation coefficients C = B/(N·v̄) of every candidate
// in every replicate: [candidate][replicate].
func estimate(ctx context.Context, s Settings, prior *neyman.Prior, cs exante.Candidates) ([][]float64, error) {
	var all []piece
	for replicate := range s.Replicates {
		for index := range min(pieces, s.Panels) {
			all = append(all, piece{replicate: replicate, index: index, sums: make([]float64, len(cs))})
		}
	}
	s.each(len(all), func() func(int) {
		panels := exante.NewPanels(prior, cs, s.Tasks)
		return func(i int) { all[i].err = all[i].add(ctx, s, panels) }
	})
	coefficients := make([][]float64, len(cs))
	for k := range coefficients {
		coefficients[k] = make([]float64, s.Replicates)
	}
	scale := 1 / (float64(s.Panels) * float64(s.Tasks) * neyman.MeanVariance)
	for _, p := range all {
		if p.err != nil {
			return nil, p.err
		}
		for k, sum := range p.sums {
			coefficients[k][p.replicate] += scale * sum
		}
	}
	return coefficients, nil
}

// add draws the panels of a piece.
func (p *piece) add(ctx context.Context, s Settings, panels *exante.Panels) error {
	parts := min(pieces, s.Panels)
	first, end := p.index*s.Panels/parts, (p.index+1)*s.Panels/parts
	replicate := seed.Root(s.Seed).Child("design").Index(s.Tasks).Index(s.Budget).Index(p.replicate)
	start, random := replicate.Child("lattice").Stream(), replicate.Index(p.index).Stream()
	return panels.AddEven(ctx, end-first, p.sums, exante.NewLattice(&start).From(first), &random)
}

// each calls a function for 0, …, n−1, every worker one of its own.
func (s Settings) each(n int, worker func() func(int)) {
	next := make(chan int)
	var group sync.WaitGroup
	for range min(s.Workers, n) {
		group.Go(func() {
			do := worker()
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}
