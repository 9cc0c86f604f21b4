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

// ServedRequest is one request that a replica served to its end, in seconds of its
// run.
type ServedRequest struct {
	Submitted, Finished float64
	Prompt, Tokens      int // of the prompt, and of the answer
}

// Served is what one replica served during one run, in any order: all of it,
// since what runs together slows each other.
type Served []ServedRequest

// Speed is how fast replicas are.
type Speed struct {
	Timing Timing // Base, Sequence and Prompt of it

	// Latency is what a request takes in addition to the steps of its replica: on its
	// way there and back, and in the server before and after the engine.
	Latency time.Duration

	Requests int     // that it was fitted to
	Residual float64 // root mean square, of their durations
}

// rounds are enough for the clocks to settle: more change nothing in the fourth
// digit.
const rounds = 12

// FitSpeed returns the speed of replicas that have served these requests.
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
	for range rounds {
		var rows []speedRow
		for _, served := range all {
			rows = append(rows, observe(served, found)...)
		}
		next, err := solve(rows)
		if err != nil {
			return Speed{}, err
		}
		found = next
	}
	if found[baseTerm]+found[sequenceTerm] <= 0 {
		return Speed{}, errors.New("the requests took no time for their tokens")
	}
	return found.speed(all), nil
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

// step is the duration of a step of n sequences.
func (c coefficients) step(n int) float64 { return c[baseTerm] + c[sequenceTerm]*float64(n) }

func (c coefficients) speed(all []Served) Speed {
	s := Speed{
		Timing:  Timing{Base: duration(c[baseTerm]), Sequence: duration(c[sequenceTerm]), Prompt: duration(c[promptTerm])},
		Latency: duration(c[latencyTerm]),
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

// solve is the least squares of the rows, with no coefficient below 0: the most
// negative one, in the time that it stands for, is taken as 0 until there is none.
func solve(rows []speedRow) (coefficients, error) {
	var totals [terms]float64
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
			return coefficients{}, err
		}
		worst, at := 0.0, -1
		for i, v := range values {
			if share := v * totals[free[i]]; share < worst {
				worst, at = share, i
			}
		}
		if at < 0 {
			var c coefficients
			for i, v := range values {
				c[free[i]] = v
			}
			return c, nil
		}
		free = append(free[:at:at], free[at+1:]...)
	}
	return coefficients{}, errors.New("the requests took no time")
}

// squares are the coefficients of the free terms, the others being 0, without
// bounds.
func squares(rows []speedRow, free []int) ([]float64, error) {
	design, target := mat.NewDense(len(rows), len(free), nil), mat.NewVecDense(len(rows), nil)
	for i, r := range rows {
		for j, term := range free {
			design.Set(i, j, r.factors[term])
		}
		target.SetVec(i, r.duration)
	}
	var solution mat.VecDense
	if err := solution.SolveVec(design, target); err != nil {
		return nil, errors.New("the requests are too much alike to say how fast a replica is: answers of several lengths are needed, and times with fewer of them")
	}
	return solution.RawVector().Data, nil
}

// speedRow is the duration of one request with the factors that it is linear in.
type speedRow struct {
	duration float64
	factors  [terms]float64
}

// fitted is the duration by these coefficients.
func (r speedRow) fitted(c coefficients) float64 {
	sum := 0.0
	for i, f := range r.factors {
		sum += f * c[i]
	}
	return sum
}

// life is a request's time in the batch, by the clock of its replica.
type life struct {
	*ServedRequest
	from, to float64 // steps
}

// wait is for the end of the step under way, in steps, on average.
const wait = 0.5

// steps is how many steps the request takes, the wait included.
func (l life) steps() float64 { return float64(l.Tokens) + wait }

// stepsIn is how many of its steps the request takes between two times.
func (l life) stepsIn(from, to float64) float64 {
	if l.to <= l.from {
		return 0
	}
	shared := min(l.to, to) - max(l.from, from)
	return max(0, shared) / (l.to - l.from) * l.steps()
}

// observe are the rows of what a replica served, its clock going by these
// coefficients.
func observe(served Served, c coefficients) []speedRow {
	lives := clock(served, c)
	slices.SortStableFunc(lives, func(a, b life) int { return cmp.Compare(a.from, b.from) })
	rows := make([]speedRow, len(lives))
	for i, l := range lives {
		together, prompts := 0.0, 0
		for _, other := range lives {
			if other.from >= l.to {
				break
			}
			together += other.stepsIn(l.from, l.to)
			if other.from >= l.from {
				prompts += other.Prompt
			}
		}
		rows[i] = speedRow{
			duration: l.Finished - l.Submitted,
			factors:  [terms]float64{latencyTerm: 1, baseTerm: l.steps(), sequenceTerm: together, promptTerm: float64(prompts)},
		}
	}
	return rows
}

// clock gives every request its time in the batch, in steps. A request is in
// the batch from when it has arrived, Latency after its submission. While a
// prompt is read the clock stands still.
func clock(served Served, c coefficients) []life {
	type change struct {
		at    float64
		life  int
		joins bool
	}
	var changes []change
	for i, r := range served {
		joined := min(r.Submitted+c[latencyTerm], r.Finished)
		changes = append(changes, change{joined, i, true}, change{r.Finished, i, false})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	lives := make([]life, len(served))
	running, steps, last := 0, 0.0, 0.0
	reading := 0.0 // seconds of prompts that are still to be read
	for _, e := range changes {
		passed := e.at - last
		read := min(passed, reading)
		reading -= read
		if running > 0 {
			steps += (passed - read) / c.step(running)
		}
		last = e.at
		l := &lives[e.life]
		if e.joins {
			running++
			reading += c[promptTerm] * float64(served[e.life].Prompt)
			l.ServedRequest, l.from = &served[e.life], steps
			continue
		}
		running--
		l.to = steps
	}
	return lives
}
