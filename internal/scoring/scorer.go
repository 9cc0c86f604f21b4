// Package scoring says what scoring is: a response to a task in, a verdict out.
// The rules for each kind of answer are in the packages below it, and package
// family lists them.
package scoring

import (
	"context"
	"unicode/utf8"
)

// Response is an answer of a model, to be scored.
type Response struct {
	Text string // what followed the thinking
	Cut  bool   // it was cut short, by max_tokens say: it does not end where its author wanted
}

// Verdict is the judgement of a scorer on a response.
type Verdict struct {
	Reward float64 // from 0, wrong, to 1, right; anything between from graded scorers alone
	Answer string  // the answer read from the response, see Shorten; "" if none was
	Note   string  // what else there is to say, for people: "no box: the last value was read"
}

// Correct reports whether the response is fully right.
func (v Verdict) Correct() bool { return v.Reward == 1 }

// PassFail is the reward of a response that is right or wrong and nothing between.
func PassFail(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

// Scorer scores responses to one task. It may be used concurrently.
type Scorer interface {
	// Score judges a response. The error says why there is no verdict, a judge
	// that does not answer for one: the response is to be scored again later. A
	// response that cannot be read is no error, but wrong.
	Score(ctx context.Context, r Response) (Verdict, error)
}

// longestAnswer bounds what a verdict repeats of a response, in bytes.
const longestAnswer = 500

// Shorten makes a text fit to be the answer of a verdict: valid UTF-8 of no
// more than 500 bytes.
func Shorten(text string) string {
	if len(text) > longestAnswer {
		end := longestAnswer - len("…")
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	if !utf8.ValidString(text) {
		return Shorten(string([]rune(text)))
	}
	return text
}
