// Package words says what the words beside a value do to it: which of them leave
// it as it is, which make another value of it, and whether a text states it. The
// words are in closed classes, in one table, for all scorers that read numbers.
package words

import (
	"math/big"
	"slices"
	"strings"
)

// role is what a word does to the value beside it.
type role uint8

const (
	open    role = iota // a noun, a name or a verb: every word that is in no class
	plain               // nothing
	units               // of measurement in the singular, directions and what else follows a number without an s
	link                // gives the value to what is before it
	subject             // a pronoun that begins a statement of its own
	earlier             // before the word answer: not the final one
	sorts               // behind a value: a condition on it, unless a noun follows
	pairs               // before a number: makes another of it, or bounds it
	joins               // between two numbers only
	breaks              // begins another part of a sentence
	turns               // begins a statement of its own
	modal               // before a link or a verb of thinking: not certain
	thinks              // behind a modal or a denial: not what the author says
	doubts
	bounds
	changes // makes another value of it
	refs    // before a value: it is the number of a place
	refutes
	denies
)

// classes are the words of each role. Units are in package latex.
var classes = map[role]string{
	plain: `a an the this that these those it its there here in at of as for with and then also again now still out them us th st nd rd answer answers ans solution solutions result results
		value values number numbers integer integers total totals altogether all overall sum final finally correct required desired requested asked sought unique only
		single such always left one when where precisely exactly simply just merely clearly obviously indeed certainly definitely surely evidently actually really equivalent given found seen shown known
		computed calculated obtained determined evaluated simplified written expressed from about approximately approx roughly around namely maximum minimum maximal
		minimal largest smallest greatest area length width height volume distance perimeter cost price amount speed probability chance count size age angle ratio mean
		average order comes turns expression form set list pair interval function radius diameter point points my our your his her their be been being
		needed fact possible combined gained earned remain remains remaining`,
	units: `ton tonne quart pint cup kelvin ampere coulomb farad henry tesla weber pascal hertz candela lumen becquerel siemens knot acre hectare byte kilowatt megawatt megahertz
		parsec unit people children men women mice geese fish sheep dice vertices indices matrices criteria data money water sugar rice
		north south east west northeast northwest southeast southwest upward downward down right inside outside gain loss increase decrease profit deficit surplus clockwise
		counterclockwise anticlockwise early late blue green white black yellow brown pink apiece today forward backward forwards backwards`,
	link:    `is are was were equals equal equaled equalled becomes became i's it's that's there's he's she's answer's`,
	subject: `we i you he she they`,
	earlier: `initial previous former old original naive tempting other another alternative alternate guessed preliminary tentative student's trap`,
	sorts: `even odd prime composite rational irrational real complex imaginary negative positive nonnegative nonpositive non-negative non-positive fractional integral
		more additional extra larger smaller greater higher lower bigger impossible undefined infinite finite invalid valid recurring repeating periodic divisible binary octal ternary hexadecimal`,
	pairs:  `over under above below beyond past between within up near away per times mod modulo choose into through`,
	joins:  `to by`,
	breaks: `which because since while whereas although though otherwise`,
	turns:  `but so thus hence therefore consequently`,
	modal:  `might may could would can you'd i'd`,
	thinks: `think believe say guess expect assume argue claim imagine suppose true clear certain sure case follow likely`,
	doubts: `maybe perhaps possibly probably presumably or if unless whether supposing assuming doubt doubtful unlikely hopefully allegedly supposedly apparently seemingly seems seem
		appears appear unsure uncertain unclear else believed thought supposed claimed assumed rumored rumoured alleged hypothetically tentatively pretend wonder tempted`,
	bounds: `most least fewer less best worst off than exceeds exceed exceeding exceeded almost closer close nearly bounded bound until till upto surpasses surpass onward onwards inclusive exclusive shy short tops max differs differ`,
	changes: `half quartered twice thrice double triple treble quadruple quintuple squared cubed plus minus multiplied divided factorial percent itself too third fourth fifth sixth seventh eighth ninth tenth rounded truncated inverted negated
		reversed base fold twofold threefold tenfold first last nth next successor predecessor preceding divides`,
	refs: `step page theorem part question equation problem lemma figure section chapter stage line row column table item option exercise example proposition corollary`,
	refutes: `wrong incorrect incorrectly wrongly false falsely mistaken mistake mistakenly erroneous erroneously untrue fails fail failed contradiction contradicts contradicted absurd rejected
		reject rejects discard discarded rule ruled exclude excluded excludes excluding eliminate eliminated disproved misleading bogus flawed error miscalculated miscounted
		deny denies denied extraneous spurious inadmissible nonsense avoid avoids skip skips disregard ignore bad wait oops correction sorry`,
	denies: `not no never none nor neither cannot nothing nobody hardly scarcely barely except excepting besides without instead rather unlike lacks misses versus vs nope isn't aren't wasn't
		weren't can't won't don't doesn't didn't couldn't wouldn't shouldn't haven't hasn't hadn't mustn't ain't isnt arent cant wont dont doesnt`,
}

// roles is classes by word, with the units and the words that multiply.
var roles = func() map[string]role {
	all := byWord(classes)
	for word, name := range unitNames {
		if all[word] == open && name != "" && name != "%" {
			all[word] = units
		}
	}
	for word := range factors {
		all[word] = changes
	}
	return all
}()

// factors are words behind a number that multiply it.
var factors = byWord(map[string]string{
	"2": "doubled", "3": "tripled trebled", "4": "quadrupled", "12": "dozen dozens", "20": "score", "100": "hundred hundreds", "144": "gross", "1e3": "thousand thousands",
	"1e5": "lakh lakhs", "1e6": "million millions", "1e7": "crore crores", "1e9": "billion billions", "1e12": "trillion trillions", "1/2": "halves halved", "1/3": "thirds",
	"1/4": "quarters fourths", "1/5": "fifths", "1/6": "sixths", "1/7": "sevenths", "1/8": "eighths", "1/9": "ninths", "1/10": "tenths", "1/12": "twelfths",
	"1/100": "hundredths", "1/1000": "thousandths", "1e-6": "millionths",
})

// Factor is what a word behind a number multiplies it by: 12 for dozen.
func Factor(word string) (factor *big.Rat, ok bool) {
	return new(big.Rat).SetString(factors[word])
}

// small are the names of the numbers from zero on, and tens those of the tens.
var (
	small = strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve
		thirteen fourteen fifteen sixteen seventeen eighteen nineteen`)
	tens = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
)

// Number reads the name of a number below a hundred in lower case: forty-five.
func Number(name string) (n int, ok bool) {
	if n := slices.Index(small, name); n >= 0 {
		return n, true
	}
	for i, ten := range tens {
		if rest, ok := strings.CutPrefix(name, ten); ok {
			n := slices.Index(small[:10], strings.TrimPrefix(rest, "-"))
			return 10*(i+2) + max(n, 0), rest == "" || n > 0
		}
	}
	return 0, false
}

// Known tells whether a word in lower case is in the table.
func Known(word string) bool { return roles[word] != open }
