package maths_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy/seed"
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
func pairs(root seed.Seed, of []kind, n int) []pair {
	all := make([]pair, n)
	for i := range all {
		k := of[i%len(of)]
		d := &dice{root.Child("drill-math").Child(k.name).Index(i / len(of)).Stream()}
		all[i] = pairOf(d, k.name, k.make(d))
	}
	return all
}

// kind is a kind of answer, which is a line of the report.
type kind struct {
	name string
	make func(*dice) sample
}

// kinds are all of them: those that rows describe and those that take a program.
func kinds() []kind {
	var all []kind
	variants := map[string][]row{}
	for _, r := range slices.Concat(rows, careful, listed) {
		if variants[r.kind] == nil {
			all = append(all, kind{r.kind, func(d *dice) sample { return pick(d, variants[r.kind]...).make(d) }})
		}
		variants[r.kind] = append(variants[r.kind], r)
	}
	return append(all, kind{"identity", identities}, kind{"expression", expressions})
}

// named are the kinds with the given names, with commas between; all for none.
func named(names string) ([]kind, error) {
	if names == "" {
		return kinds(), nil
	}
	var of []kind
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-kinds: there is no kind %q", name)
		}
		of = append(of, kinds()[i])
	}
	return of, nil
}

// dice are the random choices of one pair.
type dice struct{ seed.Stream }

// below is a random number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.Uint64() % uint64(n)) }

// from is a random number from low to high, both included.
func (d *dice) from(low, high int) int { return low + d.below(high-low+1) }

func (d *dice) chance(p float64) bool { return d.Float64() < p }

func pick[T any](d *dice, from ...T) T { return from[d.below(len(from))] }

// dressed is an expression as a response has it: by itself, in mathematics, in
// a box, or in a text, maybe with others that are not the answer.
func dressed(d *dice, expression string, others []string) (text string, prose bool) {
	math, box := "$"+expression+"$", `\boxed{`+expression+"}"
	other := "0"
	if len(others) > 0 {
		other = pick(d, others...)
	}
	switch d.below(16) {
	case 0, 1, 2:
		return expression, false
	case 3, 4:
		return math, false
	case 5:
		return box, false
	case 6:
		return "$" + box + "$", false
	case 7:
		return `$\displaystyle ` + expression + "$", false
	case 8:
		return "$$" + expression + "$$", false
	case 9:
		return `\(` + expression + `\)`, false
	case 10:
		return `\boxed{ ` + expression + ` }`, false
	case 11:
		return "The answer is " + math + ".", true
	case 12:
		return "Therefore, the final answer is $" + box + "$.", true
	case 13:
		return "One might expect $" + other + "$, but a closer look gives $" + box + "$.", true
	case 14:
		return "Step 1. We try $" + other + "$ and see that it fails in 3 of 8 cases. Step 2. What remains is $" + box + "$", true
	default:
		return `\[` + box + `\]`, false
	}
}

// gap is what may stand between two symbols without a meaning.
func (d *dice) gap() string {
	return pick(d, "", "", "", " ", " ", `\,`, `\;`, `\ `, "  ", `\:`)
}

// between puts a body between delimiters of some size.
func between(d *dice, open, body, end string) string {
	switch d.below(4) {
	case 0:
		return `\left` + open + body + `\right` + end
	case 1:
		return open + d.gap() + body + d.gap() + end
	case 2:
		size := pick(d, `\big`, `\Big`, `\bigg`)
		if d.chance(0.5) {
			return size + "l" + open + body + size + "r" + end
		}
		return size + open + body + size + end
	default:
		return open + body + end
	}
}

// TestFormsOfASample draws from every kind: no text is both a
// form of the answer and a near miss, or left undecided.
func TestFormsOfASample(t *testing.T) {
	for _, k := range kinds() {
		for i := range 200 {
			s := k.make(&dice{seed.Root(4).Child(k.name).Index(i).Stream()})
			for _, form := range append(s.same, s.gold) {
				if slices.Contains(s.near, form) || slices.Contains(s.open, form) {
					t.Fatalf("%s: %q is both", k.name, form)
				}
				for _, text := range append(slices.Clone(s.near), form) {
					if strings.Count(text, "{") != strings.Count(text, "}") {
						t.Fatalf("%s: %q has open braces", k.name, text)
					}
				}
			}
			if len(s.same) == 0 || len(s.near) == 0 {
				t.Fatalf("%s: %+v has no other forms, or no near misses", k.name, s)
			}
		}
	}
}

// TestPairs compares our scorer with the construction of some pairs of each kind, and of more
// pairs of kinds that it once mistook: no mistake is allowed here. The drill has thousands.
func TestPairs(t *testing.T) {
	more, err := named("expression,number set,small term,pieces,shape of a set")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(pairs(seed.Root(5), kinds(), 40*len(kinds())), pairs(seed.Root(6), more[:1], 200), pairs(seed.Root(7), more[1:], 4*320))
	if r := newReport(judgements(all, nil)); r.right() < r.total.decided || r.fault() != nil {
		var said strings.Builder
		r.print(&said, 3, false)
		t.Error(said.String())
	}
	if n := len(kinds()); n != 73 {
		t.Errorf("%d kinds, want 73", n)
	}
	if _, err := named("integer,nothing"); err == nil {
		t.Error("a kind that does not exist is found")
	}
}
