// Package exact scores answers that must be the right one, character by character.
//
// The final answer of a response is what is in its last box, or else its last
// line, see [scoring.ReadFinal]. It is right if one of its readings is the right
// answer once both are normalised: characters composed (Unicode NFC), space around
// taken off, and every run of white space a single blank. Case, punctuation and
// everything else count.
package exact

import (
	"context"
	"strings"

	"golang.org/x/text/unicode/norm"

	"speceval/internal/scoring"
)

// Version names the rules of this package in scores and profiles.
const Version = "speceval_exact_v1"

// Scorer scores responses to a task with a known right answer.
type Scorer struct{ gold string } // normalised

var _ scoring.Scorer = (*Scorer)(nil)

// New is the scorer for a task whose right answer is gold.
func New(gold string) *Scorer { return &Scorer{Normal(gold)} }

// Fault says why a text is no right answer, "" if it is one.
func Fault(gold string) string {
	if Normal(gold) == "" {
		return "is blank"
	}
	return ""
}

// Normal is a text as it is compared: composed, with single blanks as its white
// space and none around it. Bytes that are no UTF-8 are U+FFFD.
func Normal(text string) string {
	return strings.Join(strings.Fields(norm.NFC.String(strings.ToValidUTF8(text, "\ufffd"))), " ")
}

// Score never fails.
func (s *Scorer) Score(_ context.Context, r scoring.Response) (scoring.Verdict, error) {
	final := scoring.ReadFinal(r)
	v := scoring.Verdict{Note: final.Note}
	for _, reading := range final.Readings() {
		v.Answer = scoring.Shorten(reading)
		if s.gold != "" && Normal(reading) == s.gold {
			v.Reward = 1
			break
		}
	}
	return v, nil
}

// Check compares a prediction by itself with gold, as a file of labelled cases has
// them.
func Check(gold, prediction string) scoring.Verdict {
	v, _ := New(gold).Score(context.Background(), scoring.Response{Text: prediction})
	return v
}
