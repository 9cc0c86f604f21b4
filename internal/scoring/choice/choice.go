// Package choice scores the choice of an option by its letter: it finds the letter that
// a response settles on, or finds that there is none. What can be read in two ways is read
// in none. The last definite statement counts: one whose clause has no word that denies or
// doubts it, or makes it the view of others or one of several; package words has these
// words. The rules are tried in order:
//
//  1. The last definite box that names an option: C, (C), \text{C}, c, C) the text,
//     Option C, or the text of an option. One that names several, or a letter that is
//     none, is no answer, nor is one that the response ends inside. One that names no
//     letter at all, but a number say, is passed over.
//  2. The last definite phrase: "the correct answer is C", "Answer: **C**", "C is the
//     correct answer", or C alone below the heading "Answer".
//  3. What the last line states in known words alone: "I choose C", "not B, so C". Failing
//     that, a bare letter, or one before its option's text, as the last line; failing that,
//     a bare letter as the first, or the bracket that ends the last, "so 25 m/s (option C)". A line
//     of a list of options counts as none of them.
//  4. The text of exactly one option in place of the letter, by rules 2 and 3.
//
// Before rule 2 comes what an <answer> holds, or the answer of a JSON object at the end. Where no rule
// finds an option the response is read in English words, and then without texts beside letters.
//
// What follows the letter, in clauses of known words, amends it: "no, it's C" states
// another, and "that is wrong" leaves none. The article "A", the pronoun "I", and a letter
// that begins a longer name, "B cells", "E. coli" or A', stand for nothing.
//
// Of a response that was cut short the first rule alone counts. Lower-case letters count in a box,
// and in free text where nothing else is on the line behind them: "answer: b", "(b)". Nothing
// depends on which option is right.
package choice

import (
	"context"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/words"
)

// Version names the rules of this package in scores and profiles.
const Version = "speceval_choice_v9"

// letters are the names of options.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Scorer scores responses to a task with a known right option.
type Scorer struct {
	gold    byte // 0 if it is no letter
	options int
	texts   []string          // see plain
	longest int               // bytes in which the text of an option may be written
	unlabel *strings.Replacer // takes the text of an option from its letter
}

// New returns the scorer for a task with options from A on, 26 at most, where gold names the right
// one. Where their number is not known, 0, there are four if gold is one of A to D, else ten, or as
// many as gold needs. Texts are the texts of the options, nil where they are not known.
func New(gold string, options int, texts []string) *Scorer {
	s := &Scorer{options: options}
	if Names(gold) {
		s.gold = markAt(gold, 0).letter
	}
	if options == 0 {
		s.options = 4
		if place := int(s.gold-'A') + 1; s.gold != 0 && place > s.options {
			s.options = max(10, place)
		}
	}
	var labels []string
	for i, text := range texts {
		s.texts = append(s.texts, plain(text))
		s.longest = max(s.longest, 2*len(text)+40)
		if letter := letters[i : i+1]; len(text) > 1 {
			labels = append(labels, letter+") "+text, letter+")", letter+". "+text, letter, letter+": "+text, letter, letter+" ("+text+")", letter, text+" ("+letter+")", letter)
		}
	}
	s.unlabel = strings.NewReplacer(labels...)
	return s
}

// Names reports whether a right answer is a letter.
func Names(gold string) bool {
	m := markAt(gold, 0)
	return m.letter != 0 && strings.TrimRight(m.behind(), " \t.") == ""
}

// Score never fails.
func (s *Scorer) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	if s.gold == 0 {
		return scoring.Verdict{Note: "the right answer is no letter"}, nil
	}
	r.Text = strings.ReplaceAll(r.Text, "\u00a0", " ")
	read := s.read(r)
	for _, other := range []func(string) string{words.English, s.unlabel.Replace} {
		if text := other(r.Text); read.open() && !r.Cut && text != r.Text {
			read = s.read(scoring.Response{Text: text})
		}
	}
	if read.letter == 0 {
		return scoring.Verdict{Note: read.note}, nil
	}
	i := int(read.letter - 'A')
	return scoring.Verdict{Reward: scoring.PassFail(read.letter == s.gold), Answer: letters[i : i+1], Note: read.note}, nil
}

// reading is the result of reading a response, or a part of it.
type reading struct {
	letter byte   // 0: none
	note   string // how it was read, or why not; "" is the usual way
	ends   bool   // without a letter: no other rule may be tried
}

// read applies the rules in order.
func (s *Scorer) read(r scoring.Response) reading {
	if blank(r.Text) {
		return reading{note: "empty response"}
	}
	got, end, seen := s.boxes(r.Text)
	if got.letter != 0 {
		later := s.amend(r.Text, end, got)
		if p, _ := s.phrase(r.Text, end); p.letter != 0 {
			later = p
		}
		if !r.Cut || later.letter == got.letter {
			return later
		}
		return withdrawn
	}
	if !got.open() && got != withdrawn {
		return got
	}
	if r.Cut {
		return reading{note: "no answer: cut short without a box that names an option"}
	}
	if content, tagged := words.Tagged(r.Text); tagged {
		if named := s.box(content); !named.open() {
			return named
		}
	}
	byLetter, byText := s.phrase(r.Text, 0)
	got, note := byLetter, "read from a phrase"
	if got.open() && seen < 2 {
		got, note = s.line(r.Text), "read from the last line"
	}
	if got.open() {
		got, note = byText, "read from the option's text in a phrase"
	}
	if _, last, prior, _ := lines(r.Text); got.open() && seen < 2 && !undoes(prior) {
		got, note = s.optionOf(last), "the last line is the option's text"
	}
	switch {
	case got.letter != 0:
		if got.note = "no box: " + note; seen > 0 {
			got.note = "no option in the box: " + note
		}
	case !got.ends:
		got.note = "no answer: nothing in the response names an option"
	}
	return got
}

// open reports that another rule may be tried.
func (r reading) open() bool { return r.letter == 0 && !r.ends }

// has reports whether there is an option of a letter.
func (s *Scorer) has(letter byte) bool { return int(letter-'A') < s.options }

// settle is the reading of a letter that stands for an option.
func (s *Scorer) settle(letter byte) reading {
	if !s.has(letter) {
		return reading{note: "no answer: there is no option of this letter", ends: true}
	}
	return reading{letter: letter}
}

var (
	ambiguous = reading{note: "no answer: several options are named", ends: true}
	withdrawn = reading{note: "no answer: the option is taken back or left open", ends: true}
)
