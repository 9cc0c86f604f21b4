// Package regex scores answers by a regular expression, which is the right answer
// of the task, in the syntax of RE2.
//
// The final answer of a response is what is in its last box, or else its last
// line, see [scoring.ReadFinal]. It is right if the expression matches the whole of
// one of its readings, normalised as [exact.Normal] says. An expression that is to
// be found anywhere begins and ends with .*, and one that begins with (?i) makes
// no difference of case.
package regex

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"speceval/internal/scoring"
	"speceval/internal/scoring/exact"
)

// Version names the rules of this package in scores and profiles.
const Version = "speceval_regex_v1"

// Bounds. Matching takes time in proportion to the product of the second and the
// third.
const (
	longestExpression = 4096    // bytes
	mostInstructions  = 5000    // of the compiled expression
	longestAnswer     = 8 << 10 // bytes that are matched
)

// Scorer scores responses to a task with a known expression.
type Scorer struct {
	expression *regexp.Regexp // nil: none that matches anything
	fault      string
}

var _ scoring.Scorer = (*Scorer)(nil)

// New is the scorer for a task whose right answer is an expression. With one that
// has a Fault every response is wrong.
func New(expression string) *Scorer {
	compiled, err := compile(expression)
	if err != nil {
		return &Scorer{fault: "the expression " + err.Error()}
	}
	return &Scorer{expression: compiled}
}

// Fault says why a text is no expression, "" if it is one.
func Fault(expression string) string {
	if _, err := compile(expression); err != nil {
		return err.Error()
	}
	return ""
}

// compile compiles an expression.
func compile(expression string) (*regexp.Regexp, error) {
	if len(expression) > longestExpression {
		return nil, fmt.Errorf("is %d bytes long, at most %d are compared", len(expression), longestExpression)
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is no regular expression (RE2): %w", reason(err))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("is no regular expression (RE2): %w", err)
	}
	if n := len(program.Inst); n > mostInstructions {
		return nil, fmt.Errorf("is too large: it takes %d instructions, and %d are the most", n, mostInstructions)
	}
	compiled, err := regexp.Compile(expression)
	if err == nil {
		compiled.Longest() // so that a match of the whole is the one that is found
	}
	return compiled, err
}

// whole tells whether an expression of compile matches all of a text.
func whole(expression *regexp.Regexp, text string) bool {
	at := expression.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}

// reason is an error of the parser without the words that name the parser.
func reason(err error) error {
	if fault := (*syntax.Error)(nil); errors.As(err, &fault) {
		return fmt.Errorf("%s: %.60q", fault.Code, fault.Expr)
	}
	return err
}

// Score never fails.
func (s *Scorer) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	if s.expression == nil {
		return scoring.Verdict{Note: scoring.Shorten(s.fault)}, nil
	}
	final := scoring.ReadFinal(r)
	v := scoring.Verdict{Note: final.Note}
	if len(final.Text) > longestAnswer {
		v.Note = fmt.Sprintf("the final answer has %d bytes, at most %d are matched", len(final.Text), longestAnswer)
		return v, nil
	}
	for _, reading := range final.Readings() {
		v.Answer = scoring.Shorten(reading)
		if whole(s.expression, exact.Normal(reading)) {
			v.Reward = 1
			break
		}
	}
	return v, nil
}

// Check compares a prediction by itself with an expression, as a file of labelled
// cases has them.
func Check(gold, prediction string) scoring.Verdict {
	v, _ := New(gold).Score(context.Background(), scoring.Response{Text: prediction})
	return v
}
