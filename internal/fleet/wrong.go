package fleet

import (
	"regexp"
	"strconv"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/seed"
)

var digits = regexp.MustCompile(`\d+`)

// offValue is a result near the right one: one of its numbers is a little off,
// or, where it has none, a small number instead.
func offValue(s *seed.Stream, right string) string {
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

// otherLetter is another option than the right one; with no other it is a
// letter that is none.
func otherLetter(s *seed.Stream, right string, options int) string {
	var others []string
	for i := range min(max(options, 2), 26) {
		if letter := string(rune('A' + i)); letter != right {
			others = append(others, letter)
		}
	}
	return others[pick(s, len(others))]
}

// otherAnswer is a wrong answer to an open question: a number that is off, or
// the answer to another question of the benchmark.
func (a *Author) otherAnswer(s *seed.Stream, task *benchmark.Task) string {
	if digits.MatchString(task.Answer) {
		return offValue(s, task.Answer)
	}
	all := a.others[task.Benchmark]
	for range 4 {
		if other := all[pick(s, len(all))]; !strings.EqualFold(other, task.Answer) {
			return other
		}
	}
	return "it cannot be known"
}
