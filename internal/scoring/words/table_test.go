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
