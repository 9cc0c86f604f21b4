// Package maths scores mathematical answers: it finds the final answer in a response and
// reports whether it equals the right one.
//
// An answer is right if it is mathematically equal to gold in the same form of
// thing: a set equals a set in any order, a tuple one in the same order, an
// equation one with the same solutions, a formula one with the same values.
// An answer may leave out or add what readers would not miss: units,
// currency, degrees, "x =" before a value. Where it could be meant either way it
// is wrong: a false "correct" weighs more than a false "wrong". The rules are
// listed in docs/benchmarks.md; the rules for decimal numbers are at
// equalNumbers.
package maths

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// Version names the rules of this package in scores and profiles.
const Version = "speceval_math_v13"

// longest is the length of the longest answer that is compared, in bytes.
const longest = 10000

// Scorer scores responses to a task with a known right answer.
type Scorer struct {
	key      string       // of gold as it is spelled, see [latex.Text.Key]
	answer   latex.Answer // gold, if it can be read
	read     bool         // it can
	list     latex.Answer // gold as the list that it might be, see [latex.ReadCommas]
	isList   bool         // it might
	choice   string       // the letter before gold, (B) 5
	severals bool         // gold is a list, which may be spread over several boxes
	english  bool         // gold says nothing in another language
}

// sentences are texts of several, or of one about an answer.
var sentences = regexp.MustCompile(`(?:\S+\s+){2}\S+\.\s+\p{Lu}|\n|\b[Aa]nswer is\b`)

// Fault says why a text is no right answer, "" if it may be one.
func Fault(gold string) string {
	text := stated(gold)
	if _, ok := latex.Read(text); !ok && sentences.MatchString(text) {
		return fmt.Sprintf("is %.40q, must be the final answer alone, or have it in a box", gold)
	}
	return ""
}

// New is the scorer for a task whose right answer is gold, in LaTeX or plain
// text. One that cannot be read as mathematics is compared as text; Fault says which
// are no answers.
func New(gold string) *Scorer {
	text := stated(gold)
	text = spelled(text[:min(len(text), longest)])
	cut := latex.Cut(text)
	s := &Scorer{key: cut.Key(), english: words.English(gold) == gold}
	if letter, rest, ok := lettered(text, s.key); ok && s.key[0] == '(' {
		text, cut = rest, latex.Cut(rest)
		s.choice, s.key = letter, cut.Key()
	}
	s.answer, s.read = cut.Read()
	s.list, s.isList = latex.ReadCommas(text)
	s.severals = s.read && (s.answer.Kind == latex.List || s.answer.Kind == latex.Set) && len(s.answer.Items) > 1
	return s
}

// Score never fails.
func (s *Scorer) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	said := r.Text
	if s.english {
		r.Text = words.EnglishEnd(r.Text)
	}
	found := final(r.Text, !r.Cut, s.severals)
	v := scoring.Verdict{Reward: scoring.PassFail(s.right(found.Text) || s.right(words.Continental(found.Text, said))), Answer: scoring.Shorten(found.Text), Note: found.Note}
	if !v.Correct() && !r.Cut && (!s.read || s.answer.Kind == latex.Words) && !found.Boxed {
		for _, text := range []string{r.Text, announcedWords(r.Text), closingWords(r.Text)} {
			if len(text) <= longestWhole && s.key != "" && sameWords(latex.Cut(text).Key(), s.key) { // June 20
				return scoring.Verdict{Reward: 1, Answer: scoring.Shorten(trimmed(text))}, nil
			}
		}
	}
	return v, nil
}

// right reports whether text is gold.
func (s *Scorer) right(text string) bool {
	if len(text) > longest {
		return false
	}
	text = spelled(text)
	cut := latex.Cut(text)
	k := cut.Key()
	if k == "" || s.key == "" {
		return false
	}
	if k == s.key || s.choice != "" && strings.Trim(k, "()") == s.choice {
		return true
	}
	if letter, rest, ok := lettered(text, k); ok { // (C) 12
		if isLetter(s.key) && s.choice == "" {
			return letter == strings.Trim(s.key, "()")
		}
		if s.choice != "" && letter != s.choice {
			return false
		}
		return s.right(rest)
	}
	a, read := cut.Read()
	if !read {
		if p, content, ok := announced(text); ok && content != text {
			stated, ok := found(text, p, content)
			return ok && s.right(stated)
		}
		if found, ok := labelled(text); ok {
			return s.right(found)
		}
	}
	if !read || !s.read {
		return (!read || a.Kind == latex.Words) && sameWords(k, s.key)
	}
	if limit(a) != limit(s.answer) {
		return false
	}
	c := newComparer()
	if c.equal(s.answer, a) || c.samePeriods(s.answer, a, false) || s.isList && a.Kind == latex.List && c.equal(s.list, a) {
		return true
	}
	if s.answer.Kind == latex.List && a.Kind == latex.Value {
		list, ok := latex.ReadCommas(text)
		return ok && c.equal(s.answer, list)
	}
	return false
}
