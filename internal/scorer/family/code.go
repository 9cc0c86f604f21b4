package family

import (
	"speceval/internal/scorer"
	"speceval/internal/scorer/code"
	"speceval/internal/seed"
)

// programs are run on tests.
var programs = Family{
	Name: "code", Version: code.Version, Prompt: "code",
	Tests: true,
	Need:  Sandbox,
	New: func(t scorer.Task, r Resources) scorer.Scorer {
		return code.NewFrom(r.Runner, func() ([]scorer.Test, error) { return r.Tests(t) })
	},
	Unchecked: "it runs programs against the tests of a task, which a line cannot hold",
	Answer: func(s *seed.Stream, t scorer.Task, right bool, _ []string) string {
		text := program(s, t.Tests, right)
		if len(text) > longestProgram {
			text = program(s, nil, false)
		}
		return "\n\n```python\n" + text + "```\n"
	},
}

// longestProgram is the most bytes of a program. Tests that need a longer one
// are never passed: no model writes a table of them.
const longestProgram = 8000
