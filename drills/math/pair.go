package main

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/seed"
)

// truth is what the construction of a pair says of it.
type truth string

const (
	equal     truth = "equal"
	unequal   truth = "unequal"
	undecided truth = "undecided" // a matter of convention, on which checkers differ
)

// pair is a right answer and what a model might have said.
type pair struct {
	kind             string
	gold, prediction string
	truth            truth
	prose            bool // the prediction is a text with the answer in it, no expression
}

// sample is one answer in the forms that it may take, and what is close to it.
type sample struct {
	gold  string
	same  []string // other forms of gold
	near  []string // other answers, whatever the convention
	open  []string // where it depends on the convention
	whole bool     // its forms are whole responses
	only  bool     // a right answer has the usual form: near means another thing beside others
}

// a is a sample with nothing but its usual form.
func a(gold string) sample { return sample{gold: gold} }

func (s *sample) equals(forms ...string) { s.same = append(s.same, forms...) }
func (s *sample) misses(forms ...string) { s.near = append(s.near, forms...) }
func (s *sample) leaves(forms ...string) { s.open = append(s.open, forms...) }

// form is the sample in one of its forms.
func (s *sample) form(d *dice) string {
	if len(s.same) == 0 || d.chance(0.3) {
		return s.gold
	}
	return pick(d, s.same...)
}

// miss is something close to the sample that does not equal it.
func (s *sample) miss(d *dice) string { return pick(d, s.near...) }

// pairOf makes a pair of a sample: a good half of them equal, and some that
// are left undecided.
func pairOf(d *dice, kind string, s sample) pair {
	p := pair{kind: kind, gold: s.gold}
	if !s.only && d.chance(0.2) {
		p.gold = s.form(d)
	}
	switch x := d.Float64(); {
	case x < 0.05 && len(s.open) > 0:
		p.truth, p.prediction = undecided, pick(d, s.open...)
	case x < 0.5 && len(s.near) > 0:
		p.truth, p.prediction = unequal, s.miss(d)
	default:
		p.truth, p.prediction = equal, s.form(d)
	}
	others := s.near
	if p.truth == unequal {
		others = append(others, s.gold) // right on the way, wrong in the end
	}
	if p.prose = s.whole && p.prediction != s.gold; !s.whole {
		p.prediction, p.prose = dressed(d, p.prediction, others)
	}
	if d.chance(0.05) {
		p.gold = "$" + p.gold + "$"
	}
	return p
}

// pairs makes n pairs, of the given kinds in turn. A pair depends on the seed, its
// kind and its number alone.
func pairs(root seed.Seed, of []generator, n int) []pair {
	all := make([]pair, n)
	for i := range all {
		k := of[i%len(of)]
		d := &dice{root.Child("drill-math").Child(k.name).Index(i / len(of)).Stream()}
		all[i] = pairOf(d, k.name, k.make(d))
	}
	return all
}

// generator makes answers of a kind, which is a line of the report.
type generator struct {
	name string
	make func(*dice) sample
}

// named are the kinds with the given names, with commas between; all for none.
func named(names string) ([]generator, error) {
	if names == "" {
		return kinds, nil
	}
	var of []generator
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(kinds, func(k generator) bool { return k.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-kinds: there is no kind %q", name)
		}
		of = append(of, kinds[i])
	}
	return of, nil
}

// kinds are the generators of answers.
var kinds = []generator{
	{"integer", integers},
	{"fraction", fractions},
	{"decimal", decimals},
	{"mixed number", mixedNumbers},
	{"percent", percents},
	{"money", money},
	{"unit", units},
	{"degree", degrees},
	{"scientific", scientific},
	{"large power", largePowers},
	{"root", surds},
	{"higher root", higherRoots},
	{"pi and e", constants},
	{"logarithm", logarithms},
	{"trigonometry", trigonometry},
	{"complex", complexNumbers},
	{"counting", counting},
	{"polynomial", polynomials},
	{"two variables", bivariates},
	{"rational function", rationalFunctions},
	{"exponential", exponentials},
	{"identity", identities},
	{"set", sets},
	{"list", lists},
	{"plus or minus", plusMinus},
	{"tuple", tuples},
	{"interval", intervals},
	{"union", unions},
	{"matrix", matrices},
	{"assignment", assignments},
	{"line", linesInPlane},
	{"inequality", inequalities},
	{"choice", choices},
	{"text", texts},
	{"base", bases},
	{"time and ratio", colons},
	{"expression", expressions},
	{"repeating decimal", repeating},
	{"points", pointLists},
	{"chain", chains},
	{"response", responses},
	{"boxes", boxes},
	{"sentence", sentences},
	{"cut formula", cutFormulas},
	{"formula list", formulaLists},
	{"number word", numberWords},
	{"percent word", percentWords},
	{"share", shares},
	{"glued unit", gluedUnits},
	{"mixed form", mixedForms},
	{"prime power", primePowers},
	{"repeat", repeats},
	{"matrix product", matrixProducts},
	{"named ratio", namedRatios},
	{"coordinate", coordinatesByName},
	{"congruence", congruences},
	{"distance", distances},
	{"sum", sumsOfTerms},
	{"polar", polars},
	{"false equation", falseEquations},
	{"other base", otherBases},
	{"log base", logBases},
	{"sign order", signOrders},
	{"scaling word", scalings},
	{"tiny term", tinyTerms},
	{"and or or", conjunctions},
	{"opposite", opposites},
	{"inventory", inventories},
	{"capital", capitals},
	{"vector product", vectorProducts},
}

// dice are the random choices of one pair.
type dice struct{ seed.Stream }

// below is a random number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.Uint64() % uint64(n)) }

// from is a random number from low to high, both included.
func (d *dice) from(low, high int) int { return low + d.below(high-low+1) }

// apart is a random number from low to high that is none of others.
func (d *dice) apart(low, high int, others ...int) int {
	for {
		if n := d.from(low, high); !slices.Contains(others, n) {
			return n
		}
	}
}

func (d *dice) chance(p float64) bool { return d.Float64() < p }

func pick[T any](d *dice, from ...T) T { return from[d.below(len(from))] }

// shuffled is a copy in random order.
func shuffled[T any](d *dice, list []T) []T {
	list = slices.Clone(list)
	for i := len(list) - 1; i > 0; i-- {
		j := d.below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
	return list
}
