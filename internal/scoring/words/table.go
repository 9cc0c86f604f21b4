// Package words says what the words beside a value or a letter do to it: which of them
// leave it as it is, which make another value of it, and whether a text states it. The
// words are in closed classes, in one table, for all scorers.
package words

import (
	"math/big"
	"strings"
)

// Class is a set of what a word does to a statement. A word is in at most one of the
// classes up to Denies, which say what it does to a number beside it, and in any of those behind.
type Class uint64

const (
	Plain   Class = 1 << iota // nothing
	units                     // of measurement in the singular, directions and what else follows a number without an s
	Link                      // gives the value to what is before it
	Subject                   // a pronoun that begins a statement of its own
	Earlier                   // before the word answer: not the final one
	sorts                     // behind a value: a condition on it, unless a noun follows
	pairs                     // before a number: makes another of it, or bounds it
	joins                     // between two numbers only
	Breaks                    // begins another part of a sentence
	Turns                     // begins a statement of its own
	Modal                     // before a link or a verb of thinking: not certain
	Thinks                    // behind a modal or a denial: not what the author says
	Doubts                    // leaves what it stands by open: "maybe"
	bounds
	changes // makes another value of it
	refs    // before a value: it is the number of a place
	Refutes // calls it wrong
	Denies  // "not"

	Neutral  // adds nothing to what is said of a letter
	Filler   // may stand between "is" and a letter as well
	Verb     // of a letter before it: "must"
	Leads    // chooses the letter that follows: "actually", "choose"
	Noun     // "answer", "option", "choice"
	Given    // makes a noun the answer that is given: "correct", "final"
	Joins    // stands between letters that are both named
	Strikes  // takes back a letter, and not a number
	Others   // is of another's view, or of a first thought: "many", "tempting"
	Aside    // is of other options: "these", "rest"
	Follows  // may follow a letter, and no name that begins with one: "because"
	Parts    // begins another clause about letters: "however", "gives"
	Unsure   // leaves a letter open: "guess", "may"
	Contrary // takes a verdict back: "wrong", "partly"
	Approves // its denial takes an answer or a verdict back
)

// classes are the words of each class. Units are at unitNames.
var classes = map[Class]string{
	Plain: `these those its there here in at for with and then also again out them th st nd rd answers
		altogether overall final finally correct required desired requested asked sought unique
		single such always when where equivalent given found seen shown known
		computed calculated obtained determined evaluated simplified written expressed from about approximately approx roughly around namely
		comes turns your his her their being needed fact possible gained earned remaining
		solution solutions result results value values number numbers integer integers total totals sum maximum minimum maximal
		minimal largest smallest greatest area length width height volume distance perimeter cost price amount speed probability chance count size age angle ratio mean
		average order expression form set list pair interval function radius diameter point points combined`,
	units: `ton tonne quart pint cup kelvin ampere coulomb farad henry tesla weber pascal hertz candela lumen becquerel siemens knot acre hectare byte kilowatt megawatt megahertz
		parsec unit people children men women mice geese fish sheep dice vertices indices matrices criteria data money water sugar rice
		north south east west northeast northwest southeast southwest upward downward down right inside outside gain loss increase decrease profit deficit surplus clockwise
		counterclockwise anticlockwise early late blue green white black yellow brown pink apiece today forward backward forwards backwards`,
	Link:        `were equals equal equaled equalled becomes became i's there's he's she's`,
	Link | Verb: `is are was it's that's answer's`,
	Subject:     `we i you he she they`,
	Earlier:     `initial previous former old original naive tempting other another alternative alternate guessed preliminary tentative student's trap`,
	sorts: `even odd prime composite rational irrational real complex imaginary negative positive nonnegative nonpositive non-negative non-positive fractional integral
		more additional extra larger smaller greater higher lower bigger impossible undefined infinite finite invalid valid recurring repeating periodic divisible binary octal ternary hexadecimal`,
	pairs:  `over under above below beyond past between within up near away per times mod modulo choose into through`,
	joins:  `to by`,
	Breaks: `which because since while whereas although though otherwise`,
	Turns:  `but so thus hence therefore consequently`,
	Modal:  `might may could would can you'd i'd`,
	Thinks: `think thinks believe believes say guess expect assume argue claim imagine suppose true clear certain sure case follow likely`,
	Doubts: `maybe perhaps possibly probably presumably or if unless whether supposing assuming doubt doubtful unlikely hopefully allegedly supposedly apparently seemingly seems seem
		appears appear unsure uncertain unclear else believed thought supposed claimed assumed rumored rumoured alleged hypothetically tentatively pretend wonder tempted`,
	bounds: `most least fewer less best worst off than exceeds exceed exceeding exceeded almost closer close nearly bounded bound until till upto surpasses surpass onward onwards inclusive exclusive shy short tops max differs differ`,
	changes: `half quartered twice thrice double triple treble quadruple quintuple squared cubed plus minus reciprocal conjugate inverse root limit subfactorial multiple multiplied divided factorial percent itself too third fourth fifth sixth seventh eighth ninth tenth rounded truncated inverted negated
		reversed base fold twofold threefold tenfold first last nth next successor predecessor preceding divides`,
	refs: `step page theorem part question equation problem lemma figure section chapter stage line row column table item option exercise example proposition corollary`,
	Refutes: `wrong incorrect incorrectly wrongly false falsely mistaken mistake mistakenly erroneous erroneously untrue fails fail failed contradiction contradicts contradicted absurd rejected
		reject rejects discard discarded rule ruled exclude excluded excludes excluding eliminate eliminated disproved misleading bogus flawed error miscalculated miscounted
		deny denies denied extraneous spurious inadmissible nonsense avoid avoids skip skips disregard ignore bad wait oops correction sorry`,
	Denies: `not no never none nor neither cannot nothing nobody hardly scarcely barely except excepting besides without instead rather unlike lacks misses versus vs nope
		isnt arent cant wont dont doesnt`,

	Plain | Verb:    "remains remain",
	Plain | Leads:   "really",
	Plain | Neutral: "a all an as be been it left my now of one only our still that this us let's see makes",
	Plain | Filler:  "the precisely exactly simply just merely clearly obviously indeed certainly definitely surely evidently actually",
	Neutral:         "am had has have i i'm we let me ok okay said yes to too most which believe say sure think",
	Filler:          "then",
	Verb:            "must should will seems looks appears fails contradicts violates ignores misses lacks overlooks conflicts",
	Leads: `is it's that's then instead actually rather no really final finally must hmm wait ah oh oops sorry definitely certainly surely choose chose choosing select pick
		go going with settle on conclude take mean meant should leaves leave leaving remains correction i'd i'll correct right matches corresponds`,
	Plain | Noun: "answer ans",
	Noun:         "option choice letter answer's",
	Given:        "closest nearest fitting reasonable logical most only single overall our correct right best final my appropriate suitable likely chosen selected accurate",
	Joins:        "and or nor perhaps maybe possibly probably even also plus alternatively versus vs both either equally otherwise too",
	Strikes: `no than impossible doubt doubtful unlikely refute refutes refuted disagree eliminating rejecting rules ruling dismiss dismissed invalid scratch retract opposite contrary back
		violates ignores overlooks conflicts cancel xcancel bcancel sout st out`,
	Others: `alternative another naive tempting trap some many people students someone tempted distractor thought initially originally naively plausible seem seems seemed looked looks look appears appeared
		consider considered considering considers test check trying testing try checking candidate mistakenly wrongly usual common second third allegedly supposedly according says hypothetical previously`,
	Aside:   "you they these those other others else rest remaining",
	Follows: "instead is and or not rather as due with for based given if unless",
	Parts:   "then instead rather however leaves leaving gives yields shows",
	Unsure:  "suppose assume likely guess guessing either between might may could",
	Contrary: `incorrect wrong false mistaken untrue wait differ differs mismatch mismatched mismatches disagree disagrees contradict contradicts contradicted contradiction contradictory
		partial partially partly mostly almost perhaps maybe probably possibly unsure uncertain unless if`,
	Approves: "correct right answer solution true valid so it equivalent equal equals same match matches matching agree agrees sure certain yes",
}

// byName is classes by word, with the units and the words that multiply.
var byName = func() map[string]Class {
	all := map[string]Class{}
	for class, list := range classes {
		for _, word := range strings.Fields(list) {
			all[word] |= class
		}
	}
	for word, name := range unitNames {
		if all[word]&number == 0 && name != "" && name != "%" {
			all[word] |= units
		}
	}
	for word := range factors {
		all[word] |= changes
	}
	return all
}()

// number are the classes that say what a word does to a number.
const number = 2*Denies - 1

// Of is the classes of a word in any case; a "…n't" denies.
func Of(word string) Class {
	lower := strings.ReplaceAll(strings.ToLower(word), "’", "'")
	class := byName[lower]
	if len(lower) > 3 && strings.HasSuffix(lower, "n't") {
		class |= Denies | Verb
	}
	return class
}

// Remark reports whether a word that is a sentence by itself is no answer: Sure!
func Remark(word string) bool {
	return Of(word).In(Plain|Turns|Breaks|Neutral|Filler|Leads|Approves) || strings.Contains(" absolutely alright excellent good great hello hi interesting nice note perfect thanks well wow ", " "+strings.ToLower(word)+" ")
}

// open is a noun, a name or a verb: every word that says nothing of its own of a number.
const open Class = 0

// In reports whether a word is in one of some classes.
func (c Class) In(any Class) bool { return c&any != 0 }

// role is the effect of a token on a number beside it.
func role(token string) Class { return Of(token) & number }

// factors are words behind a number that multiply it.
var factors = ByWord(map[string]string{
	"2": "doubled", "3": "tripled trebled", "4": "quadrupled", "12": "dozen dozens", "20": "score", "100": "hundred hundreds", "144": "gross", "1e3": "thousand thousands",
	"1e5": "lakh lakhs", "1e4": "myriad myriads", "1e6": "million millions", "1e8": "hundredmillion", "1e7": "crore crores", "1e9": "billion billions", "1e12": "trillion trillions", "1/2": "halves halved", "1/3": "thirds",
	"1/4": "quarters fourths", "1/5": "fifths", "1/6": "sixths", "1/7": "sevenths", "1/8": "eighths", "1/9": "ninths", "1/10": "tenths", "1/12": "twelfths",
	"1/100": "hundredths", "1/1000": "thousandths", "1e-6": "millionths",
})

// Factor is the number that a word multiplies the number before it by: 12 for dozen.
func Factor(word string) (factor *big.Rat, ok bool) {
	return new(big.Rat).SetString(factors[word])
}

// named holds the names of the numbers from zero to twenty, and of the tens, hundreds and so on.
var named = func() map[string]int64 {
	all := map[string]int64{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
	for n, name := range strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve
		thirteen fourteen fifteen sixteen seventeen eighteen nineteen`) {
		all[name] = int64(n)
	}
	for n, name := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		all[name] = int64(10 * (n + 2))
	}
	return all
}()

// longestName is the length of "seventeen".
const longestName = 9

// Number reads the name of a whole number in lower case, with or without blanks and hyphens:
// forty-five, one hundred and twenty-five, a thousand.
func Number(name string) (n int64, ok bool) {
	rest := strings.NewReplacer(" ", "", "-", "").Replace(name)
	group, limit := int64(-1), int64(1e15) // of the thousands that are being read; what comes next is smaller
	if many, article := strings.CutPrefix(rest, "a"); article && named[many] >= 100 {
		rest = "one" + many
	}
	for rest != "" {
		length := min(longestName, len(rest))
		for length > 0 && named[rest[:length]] == 0 && rest[:length] != "zero" {
			length--
		}
		value := named[rest[:length]]
		joined := false
		if length == 0 { // one hundred and five
			joined = strings.HasPrefix(rest, "and") && len(rest) > 3 && (group < 0 && n > 0 || group >= 100 && group%100 == 0)
			length = len("and")
		}
		switch {
		case joined:
		case group < 0 && 0 <= value && value < 100 && (length == len("zero") && value == 0 && n == 0 || value > 0):
			group = value
		case value > 0 && value < 10 && group >= 20 && group%10 == 0 && group%100 != 10,
			value >= 10 && value < 100 && group >= 100 && group%100 == 0:
			group += value
		case value == 100 && 0 < group && group < 100:
			group *= 100
		case value > 100 && value < limit && group > 0:
			n, group, limit = n+group*value, -1, value
		default:
			return 0, false
		}
		rest = rest[length:]
	}
	return n + max(group, 0), n > 0 || group >= 0
}

// Known reports whether a word in lower case is in the table.
func Known(word string) bool { return role(word) != 0 }
