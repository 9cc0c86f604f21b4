package maths_test

import (
	"testing"

	"speceval/internal/scorer/maths"
)

// TestHeldOutCases holds the rules to labelled cases that were written before them.
// It does not say which fail: rules that are made for single cases of this file
// would leave nothing to hold them to.
func TestHeldOutCases(t *testing.T) {
	all := cases(t, "heldout.tsv")
	falseCorrect, falseWrong := 0, 0
	for _, c := range all {
		switch right := maths.Check(c.gold, c.prediction).Correct(); {
		case right && !c.equal:
			falseCorrect++
		case !right && c.equal:
			falseWrong++
		}
	}
	t.Logf("%d cases: %d false correct, %d false wrong", len(all), falseCorrect, falseWrong)
	if len(all) < 800 || 100*(falseCorrect+falseWrong) > 3*len(all) || 200*falseCorrect > len(all) {
		t.Error("want 800 or more, at most 3% wrong, and of those at most 0.5% correct by mistake")
	}
}
