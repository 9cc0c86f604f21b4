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
	refutes
	denies
)

// classes are the words of each role. Units are in package latex.
var classes = map[role]string{
	plain: `a an the this that these those it its there here in at of as for with and then also too again now still answer answers ans solution solutions result results
		value values number numbers integer integers total totals altogether all overall sum final finally correct right required desired requested asked sought unique only
		single such always left one when where precisely exactly simply just merely clearly obviously indeed certainly definitely surely evidently actually really equivalent given found seen shown known
		computed calculated obtained determined evaluated simplified written expressed from about approximately approx roughly around namely maximum minimum maximal
		minimal largest smallest greatest area length width height volume distance perimeter cost price amount speed probability chance count size age angle ratio mean
		average order expression form set list pair interval function radius diameter point points my our your his her their be been being
		needed fact possible combined gained earned`,
	link:    `is are was were equals equal equaled equalled becomes became i's it's that's there's he's she's answer's`,
	subject: `we i you he she they`,
	earlier: `initial previous former old original naive tempting other another alternative alternate guessed preliminary tentative student's trap`,
	sorts: `even odd prime composite rational irrational real complex imaginary negative positive nonnegative nonpositive non-negative non-positive fractional integral
		more fewer less additional extra larger smaller greater higher lower bigger impossible undefined infinite finite invalid valid recurring repeating periodic divisible`,
	pairs:  `over under above below beyond past between within up near away off times mod modulo choose into through`,
	joins:  `to by`,
	breaks: `which because since while whereas although though otherwise`,
	turns:  `but so thus hence therefore consequently`,
	modal:  `might may could would can you'd i'd`,
	thinks: `think believe say guess expect assume argue claim imagine suppose true clear certain sure case follow likely`,
	doubts: `maybe perhaps possibly probably presumably or if unless whether supposing assuming doubt doubtful unlikely hopefully allegedly supposedly apparently seemingly seems seem
		appears appear unsure uncertain unclear else believed thought supposed claimed assumed rumored rumoured alleged hypothetically tentatively pretend wonder tempted`,
	bounds: `most least than exceeds exceed exceeding exceeded almost closer close nearly bounded bound until till upto surpasses surpass onward onwards inclusive exclusive shy short tops max differs differ`,
	changes: `half twice thrice double triple treble quadruple quintuple squared cubed plus minus multiplied divided factorial percent per cent rounded truncated inverted negated
		reversed base fold twofold threefold tenfold first last nth next successor predecessor preceding square-root`,
	refutes: `wrong incorrect incorrectly false falsely mistaken mistake mistakenly erroneous erroneously untrue fails fail failed contradiction contradicts contradicted absurd rejected
		reject rejects discard discarded rule ruled exclude excluded excludes excluding eliminate eliminated disproved misleading bogus flawed error miscalculated miscounted
		deny denies denied extraneous spurious inadmissible nonsense avoid avoids skip skips disregard ignore bad`,
	denies: `not no never none nor neither cannot nothing nobody hardly scarcely barely except excepting besides without instead rather unlike versus vs nope isn't aren't wasn't
		weren't can't won't don't doesn't didn't couldn't wouldn't shouldn't haven't hasn't hadn't mustn't ain't isnt arent cant wont dont doesnt`,
}

// roles is classes by word, with the words that multiply.
var roles = func() map[string]role {
	all := map[string]role{}
	for r, list := range classes {
		for _, word := range strings.Fields(list) {
			all[word] = r
		}
	}
	for word := range factors {
		all[word] = changes
	}
	return all
}()

// factors are words behind a number that multiply it.
var factors = func() map[string]*big.Rat {
	all := map[string]*big.Rat{}
	for factor, names := range map[string]string{
		"2": "doubled", "3": "tripled trebled", "4": "quadrupled", "12": "dozen dozens", "20": "score", "100": "hundred hundreds", "144": "gross", "1e3": "thousand thousands",
		"1e5": "lakh lakhs", "1e6": "million millions", "1e7": "crore crores", "1e9": "billion billions", "1e12": "trillion trillions", "1/2": "halves halved", "1/3": "thirds",
		"1/4": "quarters fourths", "1/5": "fifths", "1/6": "sixths", "1/7": "sevenths", "1/8": "eighths", "1/9": "ninths", "1/10": "tenths", "1/12": "twelfths",
		"1/100": "hundredths", "1/1000": "thousandths", "1e-6": "millionths",
	} {
		for _, name := range strings.Fields(names) {
			all[name], _ = new(big.Rat).SetString(factor)
		}
	}
	return all
}()

// Factor is what a word behind a number multiplies it by: 12 for dozen.
func Factor(word string) (*big.Rat, bool) {
	factor, ok := factors[word]
	return factor, ok
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

// Limit is what the words behind a number say of it beyond its unit and what it
// counts: at most, plus one, odd. It is "" for a phrase that leaves the number as it is.
func Limit(phrase []string) string {
	for i, word := range phrase {
		if limits(word, phrase[i+1:]) {
			return strings.Join(phrase, " ")
		}
	}
	return ""
}

// limits tells whether a word behind a number makes it another, or bounds it, where
// rest is what follows the word.
func limits(word string, rest []string) bool {
	next := rest
	for len(next) > 0 && roles[next[0]] == plain && next[0] != "as" {
		next = next[1:]
	}
	switch r := roles[word]; {
	case r == pairs, r == joins:
		return len(next) > 0 && (isNumber(next[0]) || roles[next[0]] == sorts || next[0] == "as")
	case r == sorts, r == open && participle(word), word == "maximum", word == "minimum":
		return !slices.ContainsFunc(rest, noun)
	case r <= link:
		return isNumber(word) && word != "one"
	default:
		return r >= doubts
	}
}

// noun tells whether a word may say what a number counts.
func noun(word string) bool {
	return (roles[word] == open || roles[word] == plain && len(word) > 5) && !participle(word) && !isNumber(word)
}

// participle tells whether a word at the end of a phrase looks as if it said what
// is done with the number before it, or whether that can be.
func participle(word string) bool {
	return len(word) > 5 && (strings.HasSuffix(word, "ed") || strings.HasSuffix(word, "ible"))
}

// isNumber tells whether a token is a number, in digits or as a word.
func isNumber(word string) bool {
	_, named := Number(word)
	return named || word == value || word == "half" || word == "none"
}
