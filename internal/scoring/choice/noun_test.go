package choice

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzLastNoun compares the search for nouns with a regular expression.
func FuzzLastNoun(f *testing.F) {
	f.Add("an answer, OPTION choices or the Choice of answer")
	f.Add("1option éanswer swptoi answeroption choiceanswer answer")
	f.Add(strings.Repeat("swptoi", 9) + "ſw answer" + strings.Repeat(" nothing", 9))
	nouns := regexp.MustCompile(`^(?i:answer|option|choice)$`)
	f.Fuzz(func(t *testing.T, text string) {
		for end := len(text); end >= max(0, len(text)-20); end-- {
			wantFrom, wantTo := 0, 0
			for i := 0; i+6 <= end; i++ {
				if nouns.MatchString(text[i:i+6]) && !wordyBefore(text, i) && (i+6 == len(text) || !isLetter(text[i+6])) {
					wantFrom, wantTo = i, i+6
				}
			}
			if from, to := lastNoun(text, end); from != wantFrom || to != wantTo {
				t.Fatalf("%q up to %d: %d to %d, want %d to %d", text, end, from, to, wantFrom, wantTo)
			}
		}
	})
}
