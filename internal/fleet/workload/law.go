package workload

import (
	"math"

	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/controller"
)

// Law is the distribution of the answer lengths of a profile's tasks.
//
// What a model writes before its answer proper is log-normal: its logarithm has
// the mean Location + Hard·(1−p) + Noisy·4p(1−p) + TaskSpread·z and the standard
// deviation Spread, where p is the task's success probability and z a standard
// normal number of the task's own, the same in every execution. A model that
// thinks adds Closing tokens on average, for the answer. If its thinking reaches
// the budget, it is cut there, and then the model either answers or, with the
// probability Endless, goes on to the limit. Besides, an answer of any model
// goes to the limit with a small probability, Loop on average over the tasks: it
// repeats itself. Hard tasks do so more often than easy ones.
type Law struct {
	Prompt int // tokens

	budget, limit int // of thinking, 0 if the model does not think, and of the whole answer
	spread        float64
	endless       float64
	closing       float64
	tasks         []taskLaw
}

// taskLaw is what differs between tasks.
type taskLaw struct {
	center float64 // mean of the logarithm
	loop   float64
}

// loopSlope says how much likelier hard tasks are to loop: e^loopSlope times
// for a task that is never solved, beside one that always is. No published run
// tells; it is a guess.
const loopSlope = 1.5

// NewLaw is the law of a profile of a model.
func NewLaw(m Model, l Lengths, p profile.Profile) *Law {
	law := &Law{
		Prompt: l.Prompt, budget: m.ThinkingTokens, limit: m.MaxTokens,
		spread: l.Spread, endless: l.Endless, closing: l.Closing, tasks: make([]taskLaw, p.N()),
	}
	effects := seed.Root(0).Child("task lengths").Child(p.Benchmark).Child(p.Model).Stream()
	sum := 0.0
	for i := range law.tasks {
		q := 1 - p.P(i)
		own := effects.At(uint64(i))
		law.tasks[i] = taskLaw{
			center: l.Location + float64(l.Hard*q) + float64(l.Noisy*4*q*(1-q)) + float64(l.TaskSpread*normal(&own)),
			loop:   math.Exp(loopSlope * q),
		}
		sum += law.tasks[i].loop
	}
	for i := range law.tasks {
		law.tasks[i].loop *= l.Loop * float64(p.N()) / sum
	}
	return law
}

// Draw is the length of an answer of a task, in tokens: at least 1.
func (l *Law) Draw(task int, random *seed.Stream) int {
	t := &l.tasks[task]
	u := random.Float64()
	if u < t.loop {
		return l.limit
	}
	body := math.Exp(t.center + float64(l.spread*normal(random))) // no fused multiply-add
	if l.budget == 0 {
		return int(math.Min(math.Max(1, body), float64(l.limit)))
	}
	closing := 1 + int(l.closing*(0.5+random.Float64()))
	if body < float64(l.budget) {
		return int(body) + closing
	}
	if (u-t.loop)/(1-t.loop) < l.endless {
		return l.limit
	}
	return l.budget + closing
}

// normal is a standard normal number, by Box and Muller.
func normal(s *seed.Stream) float64 {
	return math.Sqrt(-2*math.Log(1-s.Float64())) * math.Cos(2*math.Pi*s.Float64())
}

// Sampler gives every rollout of one execution its length, from a branch of the
// seed tree and the rollout's ID alone, in whatever order they are asked for.
func (l *Law) Sampler(execution seed.Seed) func(controller.ID) (prompt, tokens int) {
	stream := execution.Stream()
	return func(id controller.ID) (prompt, tokens int) {
		random := stream.At(uint64(id.Task)<<33 | uint64(id.Phase)<<32 | uint64(uint32(id.Ordinal)))
		return l.Prompt, l.Draw(int(id.Task), &random)
	}
}
