package family

import (
	"speceval/internal/scorer"
	"speceval/internal/scorer/maths"
	"speceval/internal/seed"
)

// mathematics are answers that are compared by their mathematical value.
var mathematics = Family{
	Name: "math", Version: maths.Version, Prompt: "math",
	New:   func(t scorer.Task, _ Resources) scorer.Scorer { return maths.New(t.Answer) },
	Check: maths.Check,
	Answer: func(s *seed.Stream, t scorer.Task, right bool, _ []string) string {
		result := t.Answer
		if !right {
			result = near(s, result)
		}
		return "\n\nThe answer is $\\boxed{" + result + "}$."
	},
}
