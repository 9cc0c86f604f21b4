package main

import (
	"context"
	"math"

	"speceval/internal/fleet/virtual"
	"speceval/internal/fleet/workload"
	"speceval/internal/seed"
	"speceval/method/controller"
)

// The published workers.
const (
	replicas = 8
	window   = 32
)

// execution is a run of Uniform to be simulated.
type execution struct {
	model  workload.Model
	law    *workload.Law
	tasks  int
	budget int
	seed   seed.Seed
	loops  int // answers that go to the limit, at random places, besides those of the law
}

// seconds is how long the execution takes.
func (x execution) seconds(ctx context.Context) (float64, error) {
	total := x.tasks * x.budget
	lengths := x.law.Sampler(x.seed)
	looping := x.looping(total)
	submitted := 0
	e, err := virtual.New(virtual.Settings{
		Timing: x.model.Timing, Replicas: replicas, Window: window, MaxSequences: x.model.MaxSequences,
		Handling: x.model.HandlingOf(x.tasks, x.budget),
		Lengths: func(id controller.ID) (prompt, tokens int) {
			if prompt, tokens = lengths(id); looping[submitted] {
				tokens = x.model.MaxTokens
			}
			return prompt, tokens
		},
	})
	if err != nil {
		return 0, err
	}
	submit := func() {
		e.Submit(submitted, controller.ID{Task: int32(submitted % x.tasks), Ordinal: int32(submitted/x.tasks + 1)})
		submitted++
	}
	for submitted < min(total, e.Slots()) {
		submit()
	}
	for range total {
		if _, err := e.Next(ctx); err != nil {
			return 0, err
		}
		if submitted < total {
			submit()
		}
	}
	return e.Now().Seconds(), nil
}

// looping are the numbers of requests that loop.
func (x execution) looping(total int) map[int]bool {
	if x.loops == 0 {
		return nil
	}
	random := x.seed.Child("loops").Stream()
	at := map[int]bool{}
	for len(at) < min(x.loops, total/2) {
		at[int(random.Float64()*float64(total))] = true
	}
	return at
}

// cost is the FLOPs of an answer of a profile.
func (f *fact) cost(tokens float64) float64 {
	return f.architecture.Request(f.prompt, 0) + f.extra(tokens)
}

// extra is what an answer costs beyond its prompt.
func (f *fact) extra(tokens float64) float64 {
	a, p := f.architecture, float64(f.prompt)
	q := p + tokens
	return 2*float64(a.ThetaCore+a.ThetaHead)*tokens + 2*float64(a.FullAttentionLayers)*float64(a.AttentionWidth)*(q*(q+1)-p*(p+1))
}

// meanLog is the mean logarithm of a run's time over repeats.
func (x execution) meanLog(ctx context.Context, repeats int) (float64, error) {
	sum := 0.0
	base := x.seed
	for r := range repeats {
		x.seed = base.Index(r)
		s, err := x.seconds(ctx)
		if err != nil {
			return 0, err
		}
		sum += math.Log(s)
	}
	return sum / float64(repeats), nil
}
