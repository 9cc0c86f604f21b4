package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Breakdown is what a cell is made of, and its errors.
type Breakdown struct {
	Errors  []ErrorOf // standard errors by cause
	Parts   *Parts    // nil: the cell is a single stored number
	Repeats []float64 // the number as each single execution of the suite gives it
}

// ErrorOf is a standard error, or the part of one that comes from one cause.
type ErrorOf struct {
	Cause string   `json:"cause"`
	SE    *float64 `json:"se"` // null where nothing stored says
	About string   `json:"about"`
}

// Causes of errors.
const (
	ReplayCause   = "Monte Carlo of the replay"
	DesignCause   = "estimation of the design"
	ProfilesCause = "rollouts behind the profiles"
)

// Parts are the numbers that a cell is made of.
type Parts struct {
	Of      string   `json:"of"`      // what there is one of for each part: "profiles"
	How     string   `json:"how"`     // how they make the number
	From    string   `json:"from"`    // which stored rows they are; empty where the formula says it
	Columns []string `json:"columns"` // what Numbers of a part are; the first is its own number
	Count   int      `json:"count"`
	Least   Part     `json:"least"` // by their own number
	Most    Part     `json:"most"`
	Rows    []Part   `json:"rows"` // all of them, those that weigh most first

	Made *float64 `json:"-"` // the number that they make; nil where that is not a number
}

// Part is one of many.
type Part struct {
	Name    string    `json:"name"`
	Numbers []float64 `json:"numbers"`

	// Share is what the part adds to the number, or to its square where squares
	// add; null where the number is chosen or counted.
	Share *float64 `json:"share"`
}

// Shared is a part that adds to a number.
func Shared(name string, share float64, numbers ...float64) Part {
	return Part{Name: name, Numbers: numbers, Share: &share}
}

// Option is a part that can be chosen or counted.
func Option(name string, numbers ...float64) Part { return Part{Name: name, Numbers: numbers} }

// Ways in which parts make a number.
const (
	addUp     = "their shares add up to the number"
	squaresUp = "their shares add up to the square of the number"
)

// Added are parts whose shares add up to the number.
func Added(of string, columns []string, parts []Part) *Parts {
	p := newParts(of, addUp, columns, heaviest(parts))
	v := TotalShare(parts)
	p.Made = &v
	return p
}

// Squared are parts whose shares add up to the square of the number.
func Squared(of string, columns []string, parts []Part) *Parts {
	p := newParts(of, squaresUp, columns, heaviest(parts))
	v := math.Sqrt(TotalShare(parts))
	p.Made = &v
	return p
}

// Ranked are parts of which the number is chosen or counted: those with the least
// first number, or the greatest, come first.
func Ranked(of, how string, columns []string, parts []Part, greatest bool) *Parts {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int {
		if greatest {
			a, b = b, a
		}
		return cmp.Compare(a.Numbers[0], b.Numbers[0])
	})
	return newParts(of, how, columns, parts)
}

// Makes notes the number that ranked parts make.
func (p *Parts) Makes(v float64) *Parts { p.Made = &v; return p }

func newParts(of, how string, columns []string, parts []Part) *Parts {
	p := &Parts{Of: of, How: how, Columns: columns, Count: len(parts), Rows: parts}
	own := func(a, b Part) int { return cmp.Compare(a.Numbers[0], b.Numbers[0]) }
	if len(parts) > 0 {
		p.Least, p.Most = slices.MinFunc(parts, own), slices.MaxFunc(parts, own)
	}
	return p
}

// heaviest sorts parts by the size of their shares, equals as they stand.
func heaviest(parts []Part) []Part {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(math.Abs(*b.Share), math.Abs(*a.Share)) })
	return parts
}

// TotalShare is the sum of the shares.
func TotalShare(parts []Part) float64 {
	var sum float64
	for _, p := range parts {
		sum += *p.Share
	}
	return sum
}

// Contradicts says that the stored number is not what its parts make, empty if it
// is.
func (p *Parts) Contradicts(stored *float64) string {
	const slack = 1e-9
	if p == nil || p.Made == nil || stored == nil || math.Abs(*p.Made-*stored) <= slack*max(1e-3, math.Abs(*stored)) {
		return ""
	}
	return fmt.Sprintf("the stored rows make %v of it now: the table was made of others; `speceval tables` makes it again", *p.Made)
}
