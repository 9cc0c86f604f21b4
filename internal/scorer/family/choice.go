package family

import (
	"fmt"

	"speceval/internal/scorer"
	"speceval/internal/scorer/choice"
	"speceval/internal/seed"
)

// choices are letters of options.
var choices = Family{
	Name: "choice", Version: choice.Version, Prompt: "choice",
	Options: true,
	Gold:    letterFault,
	New: func(t scorer.Task, _ Resources) scorer.Scorer {
		return choice.New(t.Answer[0], t.Options, t.OptionTexts)
	},
	Check: choice.Check,
	Answer: func(s *seed.Stream, t scorer.Task, right bool, _ []string) string {
		letter := t.Answer
		if !right {
			letter = otherLetter(s, letter, t.Options)
		}
		return "\n\nSo the answer is \\boxed{" + letter + "}."
	},
}

// letterFault says why the answer is no letter of an option. How many of those
// there may be is not its concern.
func letterFault(t scorer.Task) string {
	last := 'A' + rune(t.Options) - 1
	if t.Options < 2 || t.Options > scorer.MostOptions || len(t.Answer) == 1 && 'A' <= t.Answer[0] && rune(t.Answer[0]) <= last {
		return ""
	}
	return fmt.Sprintf("is %q, must be a letter from A to %c", t.Answer, last)
}

// otherLetter is another option than the right one.
func otherLetter(s *seed.Stream, right string, options int) string {
	var others []string
	for i := range min(max(options, 2), scorer.MostOptions) {
		if letter := string(rune('A' + i)); letter != right {
			others = append(others, letter)
		}
	}
	return others[pick(s, len(others))]
}
