package words

import (
	"strings"
	"testing"
)

// TestClasses holds that no word is of two classes.
func TestClasses(t *testing.T) {
	seen := map[string]role{}
	for r, list := range classes {
		for _, word := range strings.Fields(list) {
			if other, twice := seen[word]; twice {
				t.Errorf("%s is of roles %d and %d", word, other, r)
			}
			if _, ok := factors[word]; ok {
				t.Errorf("%s has a factor as well", word)
			}
			seen[word] = r
		}
	}
}
