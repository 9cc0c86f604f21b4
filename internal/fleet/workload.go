package fleet

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/integrate/quad"

	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/controller"
)

// Workload is a calibration of the simulated fleet: how fast each model's replicas step,
// and how long the answers of each profile's tasks are.
type Workload struct {
	Models  []Model   // in file order
	Lengths []Lengths // in file order
}

// Model is how a model is served.
type Model struct {
	Model          string `csv:"model"`
	Timing         Timing // of a replica
	MaxSequences   int    `csv:"max_sequences"`   // that a replica runs at a time
	MaxTokens      int    `csv:"max_tokens"`      // of an answer
	ThinkingTokens int    `csv:"thinking_tokens"` // budget of the thinking; 0 if the model does not think

	// Handling is for how many nanoseconds the router is busy with a completion
	// per rollout of the execution, N·b of them: the published one looked through
	// all of them every time. Computation is how long a provisional allocation
	// takes it in the background.
	Handling    float64       `csv:"handling_ns"`
	Computation time.Duration `csv:"computation_ms"`
}

// Lengths are how long a profile's prompts and answers are, see Law, and how fast it
// is served.
type Lengths struct {
	Benchmark string `csv:"benchmark"`
	Model     string `csv:"model"`

	Pace       float64 `csv:"pace"`          // duration of the profile's steps over the model's
	Prompt     int     `csv:"prompt_tokens"` // tokens
	Location   float64 `csv:"location"`      // mean logarithm of an easy, sure task's body
	Hard       float64 `csv:"hard"`          // how the mean rises with 1−p
	Noisy      float64 `csv:"noisy"`         // and with 4p(1−p)
	TaskSpread float64 `csv:"task_spread"`   // standard deviation between tasks, and
	Spread     float64 `csv:"spread"`        // within a task
	Closing    float64 `csv:"closing"`       // mean tokens of the answer after the thinking
	Endless    float64 `csv:"endless"`       // probability that an answer goes to the limit once its thinking was cut
	Loop       float64 `csv:"loop"`          // probability that an answer goes to the limit by itself
}

// HandlingOf is how long the router is busy with a completion of an execution of n tasks
// with the given budget of rollouts each.
func (m Model) HandlingOf(n, budget int) time.Duration {
	return time.Duration(m.Handling * float64(n) * float64(budget))
}

// Model is a model by its id.
func (w *Workload) Model(id string) (Model, bool) {
	return find(w.Models, func(m Model) bool { return m.Model == id })
}

// Knows reports whether there are parameters for a profile.
func (w *Workload) Knows(benchmark, model string) bool {
	_, known := w.lengths(benchmark, model)
	return known
}

func (w *Workload) lengths(benchmark, model string) (Lengths, bool) {
	return find(w.Lengths, func(l Lengths) bool { return l.Benchmark == benchmark && l.Model == model })
}

func find[T any](all []T, is func(T) bool) (found T, known bool) {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return found, false
	}
	return all[i], true
}

// Law is how a profile's model is served and how long its answers are.
func (w *Workload) Law(p profile.Profile) (Model, *Law, error) {
	m, known := w.Model(p.Model)
	if !known {
		return Model{}, nil, fmt.Errorf("the simulated fleet has not been calibrated for model %s", p.Model)
	}
	l, known := w.lengths(p.Benchmark, p.Model)
	if !known {
		return Model{}, nil, fmt.Errorf("the simulated fleet has not been calibrated for profile %s", p.Name())
	}
	m.Timing.Pace = l.Pace
	return m, NewLaw(m, l, p), nil
}

// Law is the distribution of the answer lengths of a profile's tasks.
//
// What a model writes before its answer proper is log-normal: its logarithm has
// the mean Location + Hard·(1−p) + Noisy·4p(1−p) + TaskSpread·z and the standard
// deviation Spread, where p is the task's success probability and z a standard
// normal number of the task's own, the same in every execution. A model that
// thinks adds Closing tokens on average. Thinking is cut at the budget; then the model
// answers or, with the probability Endless, goes on to the limit. Any answer repeats
// itself to the limit with a small probability, Loop on average over the tasks, hard
// tasks more often than easy ones.
type Law struct {
	Lengths
	model Model
	tasks []taskLaw
}

// taskLaw is the parameters of lengths that differ between tasks.
type taskLaw struct {
	center float64 // mean of the logarithm
	loop   float64
}

// loopSlope says how much likelier hard tasks are to loop: e^loopSlope times
// for a task that is never solved, compared with one that always is. No published
// run shows it; it is a guess.
const loopSlope = 1.5

// NewLaw is the law of a profile of a model.
func NewLaw(m Model, l Lengths, p profile.Profile) *Law {
	law := &Law{Lengths: l, model: m, tasks: make([]taskLaw, p.N())}
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
		return l.model.MaxTokens
	}
	body := math.Exp(t.center + float64(l.Spread*normal(random))) // no fused multiply-add
	if l.model.ThinkingTokens == 0 {
		return int(math.Min(math.Max(1, body), float64(l.model.MaxTokens)))
	}
	closing := 1 + int(l.Closing*(0.5+random.Float64()))
	if body < float64(l.model.ThinkingTokens) {
		return int(body) + closing
	}
	if (u-t.loop)/(1-t.loop) < l.Endless {
		return l.model.MaxTokens
	}
	return l.model.ThinkingTokens + closing
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

// nodes of the quadrature over the standard normal number in a length's
// logarithm, between reach standard deviations on both sides.
const (
	nodes = 16
	reach = 4.5
)

// places and weights are Gauss and Legendre's on (−1, 1).
var places, weights = legendre()

func legendre() (x, w [nodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], w[:], -1, 1)
	return x, w
}

// Mean is the expectation of f of the length of a task's answer, to about one
// part in a thousand for an f that is as smooth as a cost in FLOPs.
func (l *Law) Mean(task int, f func(tokens float64) float64) float64 {
	t := &l.tasks[task]
	limit := float64(l.model.MaxTokens)
	bound := limit
	if l.model.ThinkingTokens > 0 {
		bound = float64(l.model.ThinkingTokens)
	}
	high := (math.Log(bound) - t.center) / l.Spread
	within := 0.5 * math.Erfc(-high/math.Sqrt2) // probability of a body that ends by itself
	mean := (1 - within) * f(limit)
	if l.model.ThinkingTokens > 0 {
		mean = (1 - within) * (l.Endless*f(limit) + (1-l.Endless)*f(bound+l.Closing))
	}
	if high > -reach {
		half := (math.Min(high, reach) + reach) / 2
		sum, mass := 0.0, 0.0
		for i, x := range places {
			z := half*(1+x) - reach
			density := math.Exp(-z*z/2) * weights[i]
			mass += density
			sum += density * f(math.Exp(t.center+l.Spread*z)+l.Closing)
		}
		mean += within * sum / mass
	}
	return t.loop*f(limit) + (1-t.loop)*mean
}
