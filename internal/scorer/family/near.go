package family

import (
	"regexp"
	"strconv"

	"speceval/internal/seed"
)

var digits = regexp.MustCompile(`\d+`)

// near is a result near the right one: one of its numbers is a little off,
// or, where it has none, a small number instead.
func near(s *seed.Stream, right string) string {
	places := digits.FindAllStringIndex(right, -1)
	if len(places) == 0 {
		return strconv.Itoa(1 + pick(s, 9))
	}
	at := places[pick(s, len(places))]
	return right[:at[0]] + offNumber(s, right[at[0]:at[1]]) + right[at[1]:]
}

// offNumber is another number than that of the digits.
func offNumber(s *seed.Stream, digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<50 { // too long to count with: another last digit
		last := digits[len(digits)-1] - '0'
		return digits[:len(digits)-1] + string('0'+(last+byte(1+pick(s, 9)))%10)
	}
	off := 1 + pick(s, 3)
	if n > 20 && s.Float64() < 0.3 {
		off = 10
	}
	if n > off && s.Float64() < 0.5 {
		off = -off
	}
	return strconv.Itoa(n + off)
}

// pick is a number from 0 to n−1.
func pick(s *seed.Stream, n int) int { return int(s.Float64() * float64(n)) }

// Thought is a sentence that says nothing about any task, and holds no box and no
// code fence: the answers and the thinking of simulated models are filled with them.
func Thought(s *seed.Stream) string { return thoughts[pick(s, len(thoughts))] }

// thoughts hold a few characters beyond ASCII.
var thoughts = [...]string{
	"Let me read the problem once more and write down what is given. ",
	"First I name the unknowns, then I look at how they depend on each other. ",
	"That does not lead anywhere, so I try another way. ",
	"Wait, I have to be careful with the sign here. ",
	"Checking the smallest case by hand gives the same value, which is reassuring. ",
	"If the first condition holds, then x ≤ y, and the second one follows. ",
	"Suppose the opposite; then two of the terms would have to be equal. ",
	"The remaining cases are symmetric, so it is enough to look at one of them. ",
	"Substituting this back, most of the terms cancel. ",
	"It helps to draw a small table of the values. ",
	"So far we have used every assumption but the last. ",
	"Hmm, is that really true for all n? For n = 1 → yes, for n = 2 → yes as well. ",
	"I could also estimate: the result must be positive and not too large. ",
	"Putting both parts together gives the value that is asked for. ",
	"Let me verify this with a different method. ",
	"The units agree, and so does the order of magnitude. ",
	"There might be a shorter way, but this one is safe.\n\n",
	"Now the last step.\n\n",
	"Rewriting it that way makes the structure visible: a sum of two squares. ",
	"This is where most of the work lies. ",
}
