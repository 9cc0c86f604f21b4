// Package text scores answers that are compared as a text: the right one, character
// by character, a text that a regular expression matches, or a number.
//
// The final answer of a response stands in its boxes, or else in its last line,
// see readings. Texts are compared once normalised: characters composed (Unicode NFC),
// space around taken off, and every run of white space a single blank. Numbers are at
// [Number].
package text

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"golang.org/x/text/unicode/norm"

	"speceval/internal/scoring"
)

// ExactVersion and PatternVersion name the rules in scores and profiles.
const (
	ExactVersion   = "speceval_exact_v8"
	PatternVersion = "speceval_regex_v8"
)

// longestMatched is the longest answer that an expression is matched with, in bytes.
const longestMatched = 8 << 10

// Matcher scores responses by their final answer, one of whose readings must match.
type Matcher struct {
	matches func(normal string) bool
	longest int // bytes of an answer that are matched; 0: any number
}

// Exact is the scorer for a task with a right answer.
func Exact(gold string) *Matcher {
	gold = normal(gold)
	return &Matcher{matches: func(answer string) bool { return gold != "" && answer == gold }}
}

// ExactFault says why a text is no right answer, "" if it is one.
func ExactFault(gold string) string {
	if normal(gold) == "" {
		return "is blank"
	}
	return ""
}

// Pattern is the scorer for a task whose right answers an expression in the syntax of
// RE2 matches as a whole. With one that has a fault every response is wrong.
func Pattern(expression string) *Matcher {
	compiled, err := compile(expression)
	return &Matcher{matches: func(answer string) bool { return err == nil && whole(compiled, answer) }, longest: longestMatched}
}

// PatternFault says why a text is no expression, "" if it is one.
func PatternFault(expression string) string {
	if _, err := compile(expression); err != nil {
		return err.Error()
	}
	return ""
}

// normal is a text as it is compared. Bytes that are no UTF-8 are U+FFFD.
func normal(text string) string {
	return strings.Join(strings.Fields(norm.NFC.String(strings.ToValidUTF8(text, "\ufffd"))), " ")
}

// Score never fails.
func (m *Matcher) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	final := readFinal(r)
	v := scoring.Verdict{Note: final.Note}
	if m.longest > 0 && len(final.Text) > m.longest {
		v.Note = fmt.Sprintf("the final answer has %d bytes, at most %d are matched", len(final.Text), m.longest)
		return v, nil
	}
	for _, reading := range readings(final) {
		v.Answer = scoring.Shorten(reading)
		if m.matches(normal(reading)) {
			v.Reward = 1
			break
		}
	}
	return v, nil
}

// compile compiles an expression.
func compile(expression string) (*regexp.Regexp, error) {
	compiled, err := regexp.Compile(expression)
	if fault := (*syntax.Error)(nil); errors.As(err, &fault) {
		return nil, fmt.Errorf("is no regular expression (RE2): %s: %.60q", fault.Code, fault.Expr)
	}
	if err == nil {
		compiled.Longest() // so that a match of the whole is the one that is found
	}
	return compiled, err
}

// whole reports whether an expression of compile matches all of a text.
func whole(expression *regexp.Regexp, text string) bool {
	at := expression.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}
