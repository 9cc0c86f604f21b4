package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"
)

// ServedRequest is one request that a replica served to its end, in seconds of its run.
type ServedRequest struct {
	Submitted, Finished float64
	Prompt, Tokens      int // of the prompt, and of the answer
}

// Served is all requests that one replica served during one run, in any order: concurrent
// requests slow each other, so none may be missing.
type Served []ServedRequest

// Speed is how fast replicas are.
type Speed struct {
	Timing Timing // Base, Sequence and Prompt of it

	Latency  time.Duration // of a request in addition to the steps of its replica
	Requests int           // that it was fitted to
	Residual float64       // root mean square, of their durations
}

// FitSpeed returns the speed of replicas that have served these requests.
//
// A request of G tokens takes G steps, and a step of n sequences Base +
// Sequence·n, and Prompt longer for every prompt token that it reads. So the
// duration of a request is linear in what is looked for:
//
//	Latency + Base·(G+½) + Sequence·(tokens that all made meanwhile) + Prompt·(prompt tokens read meanwhile)
//
// The half is the wait for the end of the step under way. Least squares give
// the four, none negative. A second missed counts the same in all requests: the few
// long ones, by which the end of a run takes its time, are heard among the many short
// ones. The tokens that another request made meanwhile follow from the replica's
// clock, which counts steps by the speed of the round before.
func FitSpeed(all []Served) (Speed, error) {
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
	found := coefficients{baseTerm: 1} // a step takes as long whatever it does
	const rounds = 12                  // more change nothing in the fourth digit
	for range rounds {
		next, err := solve(observe(all, found))
		if err != nil {
			return Speed{}, err
		}
		found = next
	}
	if found[baseTerm]+found[sequenceTerm] <= 0 {
		return Speed{}, errors.New("the requests took no time for their tokens")
	}
	missed, squares := 0.0, 0.0
	for _, r := range observe(all, found) {
		fitted := 0.0
		for i, f := range r.factors {
			fitted += f * found[i]
		}
		missed += (r.duration - fitted) * (r.duration - fitted)
		squares += r.duration * r.duration
	}
	duration := func(term int) time.Duration {
		return time.Duration(math.Round(found[term] * float64(time.Second)))
	}
	return Speed{
		Timing:  Timing{Base: duration(baseTerm), Sequence: duration(sequenceTerm), Prompt: duration(promptTerm)},
		Latency: duration(latencyTerm), Requests: requests, Residual: math.Sqrt(missed / squares),
	}, nil
}

// What a duration is linear in.
const (
	latencyTerm = iota
	baseTerm
	sequenceTerm
	promptTerm
	terms
)

// coefficients are in seconds.
type coefficients [terms]float64

// solve is the least squares of the rows, with no coefficient below 0: the most
// negative one, in the time that it stands for, is taken as 0 until there is none.
func solve(rows []speedRow) (coefficients, error) {
	var totals coefficients
	for _, r := range rows {
		for i, f := range r.factors {
			totals[i] += f
		}
	}
	free := []int{}
	for i, total := range totals {
		if total > 0 { // prompts may have no tokens
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		values, err := squares(rows, free)
		if err != nil {
			return values, err
		}
		worst := slices.MinFunc(free, func(i, k int) int { return cmp.Compare(values[i]*totals[i], values[k]*totals[k]) })
		if !(values[worst]*totals[worst] < 0) {
			return values, nil
		}
		free = slices.DeleteFunc(free, func(i int) bool { return i == worst })
	}
	return coefficients{}, errors.New("the requests took no time")
}

// squares are the coefficients of the free terms, the others being 0, without
// bounds.
func squares(rows []speedRow, free []int) (found coefficients, err error) {
	design, target := mat.NewDense(len(rows), len(free), nil), mat.NewVecDense(len(rows), nil)
	for i, r := range rows {
		for j, term := range free {
			design.Set(i, j, r.factors[term])
		}
		target.SetVec(i, r.duration)
	}
	var solution mat.VecDense
	if err := solution.SolveVec(design, target); err != nil {
		return found, errors.New("the requests are too much alike to say how fast a replica is: answers of several lengths are needed, and times with fewer of them")
	}
	for j, term := range free {
		found[term] = solution.AtVec(j)
	}
	return found, nil
}

// speedRow is the duration of one request with the factors that it is linear in.
type speedRow struct {
	duration float64
	factors  coefficients
}

// wait is for the end of the step under way, in steps, on average.
const wait = 0.5

// life is a request's time in the batch, in steps by the clock of its replica.
type life struct {
	ServedRequest
	from, to float64
	steps    float64 // that it takes, the wait included
}

// observe are the rows of all requests, the clocks of their replicas going by these
// coefficients.
func observe(all []Served, c coefficients) (rows []speedRow) {
	for _, served := range all {
		lives := clock(served, c)
		for _, l := range lives {
			together, prompts := 0.0, 0 // steps of all, and prompts read, meanwhile
			for _, other := range lives {
				if other.from >= l.to {
					break
				}
				if other.to > other.from {
					shared := min(other.to, l.to) - max(other.from, l.from)
					together += max(0, shared) / (other.to - other.from) * other.steps
				}
				if other.from >= l.from {
					prompts += other.Prompt
				}
			}
			rows = append(rows, speedRow{l.Finished - l.Submitted, coefficients{
				latencyTerm: 1, baseTerm: l.steps, sequenceTerm: together, promptTerm: float64(prompts),
			}})
		}
	}
	return rows
}

// clock gives every request its time in the batch, in order of arrival. A request is in
// the batch from when it has arrived, Latency after its submission. While a
// prompt is read the clock stands still.
func clock(served Served, c coefficients) []life {
	type change struct {
		at    float64
		life  int
		joins bool
	}
	var changes []change
	lives := make([]life, len(served))
	for i, r := range served {
		lives[i] = life{ServedRequest: r, steps: float64(r.Tokens) + wait}
		joined := min(r.Submitted+c[latencyTerm], r.Finished)
		changes = append(changes, change{joined, i, true}, change{r.Finished, i, false})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	running, steps, last := 0, 0.0, 0.0
	reading := 0.0 // seconds of prompts that are still to be read
	for _, e := range changes {
		passed := e.at - last
		read := min(passed, reading)
		reading -= read
		if running > 0 {
			steps += (passed - read) / (c[baseTerm] + c[sequenceTerm]*float64(running))
		}
		last = e.at
		l := &lives[e.life]
		if e.joins {
			running++
			reading += c[promptTerm] * float64(l.Prompt)
			l.from = steps
			continue
		}
		running--
		l.to = steps
	}
	slices.SortStableFunc(lives, func(a, b life) int { return cmp.Compare(a.from, b.from) })
	return lives
}
