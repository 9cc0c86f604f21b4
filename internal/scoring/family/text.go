package family

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"speceval/internal/policy/seed"
	"speceval/internal/scoring"
	"speceval/internal/scoring/choice"
	"speceval/internal/scoring/maths"
	"speceval/internal/scoring/text"
)

// exactTexts are answers that must be the right one, character by character.
var exactTexts = Family{
	Name: "exact", Version: text.ExactVersion, Prompt: "exact",
	Gold: func(t scoring.Task) string { return text.ExactFault(t.Answer) },
	New:  func(t scoring.Task, _ Resources) scoring.Scorer { return text.Exact(t.Answer) },
	Answer: func(s *seed.Stream, t scoring.Task, right bool, others []string) string {
		return simulated(s, text.Exact(t.Answer), t.Answer, right, others)
	},
}

// patterns are answers that a regular expression matches.
var patterns = Family{
	Name: "regex", Version: text.PatternVersion, Prompt: "exact",
	Gold: func(t scoring.Task) string { return text.PatternFault(t.Answer) },
	New:  func(t scoring.Task, _ Resources) scoring.Scorer { return text.Pattern(t.Answer) },
	Answer: func(s *seed.Stream, t scoring.Task, right bool, others []string) string {
		return simulated(s, text.Pattern(t.Answer), sample(t.Answer), right, nil)
	},
}

// optional are the flags, the edges and the groups that may be missing of an expression.
var optional = regexp.MustCompile(`\(\?[a-zA-Z]+\)|\([^()]*\)[?*]|[\^$]|\\b`)

// sample is a text that most expressions for an answer match: their first alternative as it stands.
func sample(expression string) string {
	return strings.Split(optional.ReplaceAllString(expression, ""), "|")[0]
}

// numbers are answers that are a number, within a tolerance.
var numbers = Family{
	Name: "number", Version: text.NumberVersion, Prompt: "number",
	Gold:      func(t scoring.Task) string { return text.NumberFault(t.Answer) },
	Tolerance: func(t scoring.Task) string { return text.ToleranceFault(t.Answer, t.Tolerance) },
	New:       func(t scoring.Task, _ Resources) scoring.Scorer { return text.NewNumber(t.Answer, t.Tolerance) },
	Answer: func(s *seed.Stream, t scoring.Task, right bool, others []string) string {
		return simulated(s, text.NewNumber(t.Answer, t.Tolerance), t.Answer, right, others)
	},
}

// is reports whether a scorer finds an answer right.
func is(by scoring.Scorer, answer string) bool {
	v, err := by.Score(context.Background(), scoring.Response{Text: answer})
	return err == nil && v.Correct()
}

// simulated is a result as the end of an answer, in a box, or in the last line where a
// box cannot hold it; or else a wrong one, which the scorer does not take.
func simulated(s *seed.Stream, by scoring.Scorer, result string, right bool, others []string) string {
	boxed := func(text string) string { return "\n\nSo the answer is \\boxed{" + text + "}." }
	inLine := func(text string) string { return "\n\nAnswer: " + strings.Join(strings.Fields(text), " ") }
	if right {
		if !is(by, boxed(result)) && is(by, inLine(result)) {
			return inLine(result)
		}
		return boxed(result)
	}
	for try := range 8 {
		text := near(s, result)
		switch {
		case try%2 == 1 && len(others) > 0:
			text = others[pick(s, len(others))]
		case try > 3:
			text = strconv.Itoa(10_000 + pick(s, 1_000_000))
		}
		if !is(by, boxed(text)) && text != "" {
			return boxed(text)
		}
	}
	return "\n\nI cannot tell."
}

// choices are letters of options.
var choices = Family{
	Name: "choice", Version: choice.Version, Prompt: "choice",
	Options: true,
	Gold: func(t scoring.Task) string {
		last := 'A' + rune(t.Options) - 1
		switch {
		case t.Options == 0 && !choice.Names(t.Answer): // of a labelled case
			return fmt.Sprintf("is %.40q, must be a letter", t.Answer)
		case t.Options < 2 || t.Options > scoring.MostOptions || len(t.Answer) == 1 && 'A' <= t.Answer[0] && rune(t.Answer[0]) <= last:
			return "" // how many options there may be is checked elsewhere
		}
		return fmt.Sprintf("is %q, must be a letter from A to %c", t.Answer, last)
	},
	New: func(t scoring.Task, _ Resources) scoring.Scorer {
		return choice.New(t.Answer, t.Options, t.OptionTexts)
	},
	Answer: func(s *seed.Stream, t scoring.Task, right bool, _ []string) string {
		letter := t.Answer
		if !right {
			others := strings.Replace("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:min(max(t.Options, 2), scoring.MostOptions)], letter, "", 1)
			letter = string(others[pick(s, len(others))])
		}
		return "\n\nSo the answer is \\boxed{" + letter + "}."
	},
}

// mathematics are answers that are compared by their mathematical value.
var mathematics = Family{
	Name: "math", Version: maths.Version, Prompt: "math",
	Gold: func(t scoring.Task) string { return maths.Fault(t.Answer) },
	New:  func(t scoring.Task, _ Resources) scoring.Scorer { return maths.New(t.Answer) },
	Answer: func(s *seed.Stream, t scoring.Task, right bool, _ []string) string {
		result := t.Answer
		if !right {
			result = near(s, result)
		}
		return "\n\nThe answer is $\\boxed{" + result + "}$."
	},
}
