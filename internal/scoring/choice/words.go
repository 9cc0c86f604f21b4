package choice

import "strings"

// class is what a word does to a statement about an option.
type class uint16

const (
	neutral class = 1 << iota // adds nothing: "the", "clearly"
	verb                      // "is", "must"
	leads                     // chooses what follows: "so", "actually", "choose"
	breaks                    // begins another clause: "but", "because"
	noun                      // "answer", "option", "choice"
	given                     // makes a noun the answer that is given: "correct", "final"
	degree                    // may stand before those: "most", "only"
	opens                     // may stand before a noun that is the answer: "the", "believe"
	fills                     // may stand between a claim and its letter
	joins                     // stands between letters that are both named
	denies                    // takes back: "not", "wrong"
	doubts                    // leaves open: "might", "perhaps"
	others                    // is of another's view, or of a first thought: "many", "tempting"
	aside                     // is of other options: "these", "rest"
	follows                   // may follow a letter, and no name that begins with one: "because"
	depends                   // leaves a letter before it open: "if"
)

// table holds every word that counts. A word may be in several classes.
var table = []struct {
	class class
	words string
}{
	{neutral, "the this that which it i we my our to as has have been be a an all think believe say said okay ok yes " +
		"i'm i’m had of me let us sure am indeed clearly definitely certainly surely obviously simply just now still too"},
	{verb, "is are was be must should would will can could might may seems looks appears it's it’s that's that’s answer's answer’s isn't isn’t fails remains"},
	{leads, "is it's it’s that's that’s so thus hence therefore then but instead actually rather no really final finally must " +
		"hmm wait ah oh oops sorry definitely certainly surely no choose chose select pick go going with settle on conclude take mean meant should leaves leave leaving remains correction i'd i’d i'll i’ll correct right matches corresponds"},
	{breaks, "but so thus hence therefore then because since although though however while whereas leaves leaving instead rather gives yields shows"},
	{noun, "answer option choice letter"},
	{noun | neutral, "answer's answer’s"},
	{neutral, "one left only"},
	{given, "correct right best final my appropriate suitable likely chosen selected accurate"},
	{degree, "most only single overall our"},
	{opens, "the a an this so thus hence therefore then that is and but because with believe think say if whether select choose my our"},
	{fills, "the option choice letter answer therefore thus then hence indeed clearly definitely actually simply certainly"},
	{joins, "and or nor perhaps maybe possibly probably even also plus alternatively versus vs both either equally otherwise too"},
	{denies, "not no nor neither never cannot none without except than unlike wrong incorrect false untrue doubt doubtful unlikely impossible hardly " +
		"deny denies denied refute refutes refuted disagree mistaken mistake error eliminate eliminated eliminating exclude excluded excludes excluding reject rejected rejecting " +
		"rule rules ruled ruling discard discarded dismiss dismissed fails invalid ruled scratch retract opposite contrary back nobody " +
		"cancel xcancel bcancel sout st"},
	{denies | verb, "contradicts violates ignores misses lacks overlooks conflicts"},
	{doubts, "or if whether unless suppose supposing assume assuming might may could perhaps maybe possibly probably likely unsure uncertain guess guessing " +
		"either between"},
	{others, "some many people students someone another tempting tempted trap distractor thought initially originally naively naive " +
		"plausible seem seems seemed looks looked look appears appeared consider considered considering considers try test check trying testing " +
		"checking candidate mistakenly wrongly usual common second third alternative allegedly supposedly according says hypothetical previously"},
	{aside, "you they these those others other else rest remaining"},
	{follows, "instead is and or not but rather because since as due with which for based given although though while whereas so if unless"},
	{depends, "if unless provided assuming perhaps maybe possibly probably likely depending or too also either neither nor"},
}

var classes = func() map[string]class {
	m := map[string]class{}
	for _, row := range table {
		for _, w := range strings.Fields(row.words) {
			m[w] |= row.class
		}
	}
	return m
}()

// classOf is the classes of a word in any case; a "…n't" denies.
func classOf(w string) class {
	var lower [16]byte
	if w == "" || len(w) > len(lower) {
		return 0
	}
	for i := range len(w) {
		lower[i] = w[i]
		if 'A' <= w[i] && w[i] <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	got := classes[string(lower[:len(w)])]
	if strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t") {
		got |= denies | verb
	}
	return got
}

// classAt is the classes of the word from from to to, where "anything but" and
// "instead of" deny.
func classAt(s string, from, to int) class {
	switch w := s[from:to]; {
	case is(w, "but"):
		if prior, _ := wordBefore(s, from); is(prior, "anything", "all", "everything", "nothing") {
			return denies
		}
	case is(w, "instead") && strings.HasPrefix(s[to:], " of"):
		return denies
	}
	return classOf(s[from:to])
}

// in reports whether a word is in one of the classes.
func (c class) in(any class) bool { return c&any != 0 }

// is reports whether a word is one of others, in any case.
func is(w string, others ...string) bool {
	for _, other := range others {
		if strings.EqualFold(w, other) {
			return true
		}
	}
	return false
}
