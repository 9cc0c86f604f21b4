package imitation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/policy/seed"
)

// Faults are the probabilities, 0 to 1, that a request meets a fault. At most
// one fault meets a request, so they add up to 1 at most.
type Faults struct {
	Crash   float64 // the engine dies while it runs, and the server with it
	Hang    float64 // the engine stops while it runs, and /health says nothing of it
	Error   float64 // it ends as an internal error, 500 or an event in the stream
	Cut     float64 // its connection is closed in the middle of the answer
	Garbage float64 // its answer, or every event of it, is no JSON
	Slow    float64 // while it runs, all steps of the replica take longer
}

// faultKind names a fault; "" is none.
type faultKind string

const (
	crash   faultKind = "crash"
	hang    faultKind = "hang"
	broken  faultKind = "500"
	cut     faultKind = "cut"
	garbage faultKind = "garbage"
	slow    faultKind = "slow"
)

// rate is a fault's probability.
type rate struct {
	kind  faultKind
	value *float64
}

// rates of all faults, in the order in which they are drawn.
func (f *Faults) rates() []rate {
	return []rate{{crash, &f.Crash}, {hang, &f.Hang}, {broken, &f.Error}, {cut, &f.Cut}, {garbage, &f.Garbage}, {slow, &f.Slow}}
}

// ParseFaults reads "kind=rate,kind=rate", with the kinds crash, hang, 500, cut,
// garbage and slow; an empty text is no fault.
func ParseFaults(text string) (Faults, error) {
	var f Faults
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		rates := f.rates()
		at := slices.IndexFunc(rates, func(r rate) bool { return string(r.kind) == name })
		if at < 0 {
			return f, fmt.Errorf("fault %q is none of crash hang 500 cut garbage slow", name)
		}
		p, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return f, fmt.Errorf("fault %s: rate %q is not a number from 0 to 1", name, value)
		}
		*rates[at].value = p
	}
	total := 0.0
	for _, r := range f.rates() {
		total += *r.value
	}
	if total > 1 {
		return f, fmt.Errorf("the rates of all faults add up to %v, more than 1", total)
	}
	return f, nil
}

// mishap is the fault drawn for one request.
type mishap struct {
	kind faultKind
	part float64 // 0 to 1: how much of the answer comes before it
}

// draw is the mishap of a request, from a stream of its own.
func (f *Faults) draw(s seed.Stream) mishap {
	u := s.Float64()
	for _, r := range f.rates() {
		if u -= *r.value; u < 0 {
			return mishap{r.kind, s.Float64()}
		}
	}
	return mishap{}
}

// after is the number of an answer's tokens before the mishap: at least one, and fewer than
// all where there are two.
func (m mishap) after(tokens int) int {
	return min(1+int(m.part*float64(tokens-1)), max(1, tokens-1))
}
