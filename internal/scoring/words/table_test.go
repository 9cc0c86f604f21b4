package words

import (
	"math/bits"
	"testing"
)

// TestClasses holds that a word says one thing of a number.
func TestClasses(t *testing.T) {
	for word, class := range byName {
		if _, multiplies := factors[word]; bits.OnesCount64(uint64(class&number)) > 1 || multiplies && class&number != changes {
			t.Errorf("%s is of several classes: %b", word, class&number)
		}
		if Of(word) != class {
			t.Errorf("%s is of classes %b, want %b", word, Of(word), class)
		}
	}
}

func TestNumber(t *testing.T) {
	for name, want := range map[string]int64{
		"zero": 0, "one": 1, "ten": 10, "seventeen": 17, "forty": 40, "forty-five": 45, "forty five": 45, "fortyfive": 45, "one hundred": 100, "a hundred": 100,
		"one hundred one": 101, "one hundred and five": 105, "one hundred twenty-five": 125, "two hundred and twelve": 212, "fifteen hundred": 1500,
		"one thousand": 1000, "a million": 1_000_000, "two thousand and four": 2004, "twelve thousand three hundred forty-five": 12345, "one million two thousand": 1_002_000,
		"one hundred ten": 110,

		"": -1, "a": -1, "and": -1, "hundred": -1, "thousand": -1, "one two": -1, "ten five": -1, "twenty ten": -1, "forty-ten": -1, "forty zero": -1, "zero five": -1,
		"zero hundred": -1, "one and two": -1, "twenty and five": -1, "one hundred and": -1, "one hundred hundred": -1, "one thousand two thousand": -1, "a five": -1,
		"one thousand million": -1, "five apples": -1, "none": -1, "someone": -1, "twelve and a half": -1, "ten one": -1, "one hundred one two": -1, "one hundred ten five": -1,
	} {
		if n, ok := Number(name); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %t, want %d", name, n, ok, want)
		}
	}
}
