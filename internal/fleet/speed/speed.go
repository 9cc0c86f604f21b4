package speed

import (
	"errors"
	"fmt"
	"math"
	"time"

	"speceval/internal/fleet"
)

// Request is one request that a replica served to its end, in seconds of its
// run.
type Request struct {
	Submitted, Finished float64
	Prompt, Tokens      int // of the prompt, and of the answer
}

// Served is what one replica served during one run, in any order: all of it,
// since what runs together slows each other.
type Served []Request

// Speed is how fast replicas are.
type Speed struct {
	Timing fleet.Timing // Base, Sequence and Prompt of it

	// Latency is what a request takes beside the steps of its replica: on its
	// way there and back, and in the server before and after the engine.
	Latency time.Duration

	Requests int     // that it was fitted to
	Residual float64 // root mean square, of their durations
}

// rounds are enough for the clocks to settle: more change nothing in the fourth
// digit.
const rounds = 12

// Fit is the speed of replicas that have served these requests.
//
// A request of G tokens takes G steps, and a step of n sequences Base +
// Sequence·n, and Prompt longer for every prompt token that it reads. So the
// duration of a request is linear in what is looked for:
//
//	Latency + Base·(G+½) + Sequence·(tokens that all made meanwhile) + Prompt·(prompt tokens read meanwhile)
//
// The half is the wait for the end of the step under way. Least squares give
// the four, none negative. A second missed counts the same in all requests: the
// few long ones say how fast few sequences run together, which is what the end
// of a run takes, and by the inverse of their tokens they would not be heard
// among the many short ones. How many of its tokens another request made
// meanwhile follows from the replica's clock, which counts steps and is itself
// worked out with the speed of the round before.
//
// The error says that the requests do not tell.
func Fit(all []Served) (Speed, error) {
	requests := 0
	for _, served := range all {
		for _, r := range served {
			if !(r.Finished > r.Submitted) || r.Tokens < 1 || r.Prompt < 0 || math.IsInf(r.Finished-r.Submitted, 0) {
				return Speed{}, fmt.Errorf("a request of %d prompt and %d answer tokens from %v to %v s cannot be", r.Prompt, r.Tokens, r.Submitted, r.Finished)
			}
		}
		requests += len(served)
	}
	const least = 8 // twice as many as there are numbers
	if requests < least {
		return Speed{}, fmt.Errorf("%d requests say too little of how fast a replica is: at least %d are needed", requests, least)
	}
	found := coefficients{base: 1} // a step takes as long whatever it does
	for range rounds {
		var rows []row
		for _, served := range all {
			rows = append(rows, observe(served, found)...)
		}
		next, err := solve(rows)
		if err != nil {
			return Speed{}, err
		}
		found = next
	}
	if found[base]+found[sequence] <= 0 {
		return Speed{}, errors.New("the requests took no time for their tokens")
	}
	return found.speed(all), nil
}

// What a duration is linear in.
const (
	latency = iota
	base
	sequence
	prompt
	terms
)

// coefficients are in seconds.
type coefficients [terms]float64

// step is the duration of a step of n sequences.
func (c coefficients) step(n int) float64 { return c[base] + c[sequence]*float64(n) }

func (c coefficients) speed(all []Served) Speed {
	s := Speed{
		Timing:  fleet.Timing{Base: duration(c[base]), Sequence: duration(c[sequence]), Prompt: duration(c[prompt])},
		Latency: duration(c[latency]),
	}
	missed, squares := 0.0, 0.0
	for _, served := range all {
		for _, r := range observe(served, c) {
			s.Requests++
			off := r.duration - r.fitted(c)
			missed += off * off
			squares += r.duration * r.duration
		}
	}
	s.Residual = math.Sqrt(missed / squares)
	return s
}

func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// Scaled is the speed with all times that much longer.
func (s Speed) Scaled(by float64) Speed {
	for _, d := range []*time.Duration{&s.Timing.Base, &s.Timing.Sequence, &s.Timing.Prompt, &s.Latency} {
		*d = duration(d.Seconds() * by)
	}
	return s
}
