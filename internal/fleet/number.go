package fleet

import (
	"strings"

	"speceval/internal/policy/seed"
)

// Every answer has a number, drawn from its seed, and says it at its beginning.
// All of the rest follows from the question and the number alone: whether it is
// right, how long it is, and its text. So a model of the fleet is autoregressive: a
// prefix that says the whole number has one continuation, and after a part of it
// the other digits are drawn, each as likely as any.
const (
	numberDigits = 12
	numberBefore = "Try "
	numberAfter  = ". "
	alphabet     = "bcdfghjklmnpqrst" // a scorer finds no number in it, and no word
)

// numbered is the length of the text that says a number.
const numbered = len(numberBefore) + numberDigits + len(numberAfter)

// number is the digits of an answer's number, or the first of them.
type number string

// drawNumber is a number of all digits.
func drawNumber(s *seed.Stream) number {
	var digits [numberDigits]byte
	for bits, i := s.Uint64()>>(64-4*numberDigits), 0; i < numberDigits; bits, i = bits>>4, i+1 {
		digits[i] = alphabet[bits%uint64(len(alphabet))]
	}
	return number(digits[:])
}

// text is the text that says the number.
func (n number) text() string { return numberBefore + string(n) + numberAfter }

// digitsIn is the digits of a number, at most as many as most, that a text begins to
// say.
func digitsIn(text string, most int) number {
	after, found := strings.CutPrefix(text, numberBefore)
	if !found {
		return ""
	}
	n := 0
	for n < min(len(after), most) && strings.IndexByte(alphabet, after[n]) >= 0 {
		n++
	}
	return number(after[:n])
}

// afterThinking stands between the end of the thinking and the answer proper.
const afterThinking = "\n\n"

// readBegun reads the first tokens of an answer to a question whose prompt ends inside
// the thinking, or does not; ok is false if no answer begins so.
func readBegun(tokens []int32, thinking bool) (begun Answer, ok bool) {
	var bytes []byte
	for _, id := range tokens {
		switch {
		case id >= 0 && id < EndOfText:
			bytes = append(bytes, byte(id))
		case id == ThinkEnd && thinking && !begun.Closed:
			begun.Thinking, begun.Closed, bytes = string(bytes), true, nil
		default:
			return begun, false
		}
	}
	if thinking && !begun.Closed {
		begun.Thinking = string(bytes)
	} else {
		begun.Text = string(bytes)
	}
	return begun, true
}

// number is the digits of an answer's number in its first tokens. A budget may end the
// thinking before all of them; the text has the rest.
func (a Answer) number() number {
	n := digitsIn(a.Thinking, numberDigits)
	text := a.Text
	if a.Closed {
		text = strings.TrimPrefix(text, afterThinking)
	}
	return n + digitsIn(text, numberDigits-len(n))
}
