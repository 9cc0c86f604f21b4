package speed

import (
	"cmp"
	"slices"
)

// row is the duration of one request beside what it is linear in.
type row struct {
	duration float64
	factors  [terms]float64
}

// fitted is the duration by these coefficients.
func (r row) fitted(c coefficients) float64 {
	sum := 0.0
	for i, f := range r.factors {
		sum += f * c[i]
	}
	return sum
}

// life is a request's time in the batch, by the clock of its replica.
type life struct {
	*Request
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
func observe(served Served, c coefficients) []row {
	lives := clock(served, c)
	slices.SortStableFunc(lives, func(a, b life) int { return cmp.Compare(a.from, b.from) })
	rows := make([]row, len(lives))
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
		rows[i] = row{
			duration: l.Finished - l.Submitted,
			factors:  [terms]float64{latency: 1, base: l.steps(), sequence: together, prompt: float64(prompts)},
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
		joined := min(r.Submitted+c[latency], r.Finished)
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
			reading += c[prompt] * float64(served[e.life].Prompt)
			l.Request, l.from = &served[e.life], steps
			continue
		}
		running--
		l.to = steps
	}
	return lives
}
