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
		if right || len(t.Tests) == 0 {
			return fenced(s, t.Tests, nil)
		}
		return fenced(s, t.Tests, map[int]bool{pick(s, len(t.Tests)): true})
	},
}

// gradedPrograms are programs that are rewarded for each of their tests.
var gradedPrograms = Family{
	Name: "code-graded", Version: code.GradedVersion, Prompt: "code", Graded: true,
	Tests: true,
	Need:  Sandbox,
	New: func(t scorer.Task, r Resources) scorer.Scorer {
		return code.NewFrom(r.Runner, func() ([]scorer.Test, error) { return r.Tests(t) }).Graded()
	},
	Unchecked: programs.Unchecked,
	Answer: func(s *seed.Stream, t scorer.Task, right bool, _ []string) string {
		if right || len(t.Tests) == 0 {
			return fenced(s, t.Tests, nil)
		}
		return fenced(s, t.Tests, some(s, len(t.Tests)))
	},
}

// fenced is a program as an answer. It passes all tests but the spoilt ones.
func fenced(s *seed.Stream, tests []scorer.Test, spoilt map[int]bool) string {
	text := program(s, tests, spoilt)
	if len(text) > longestProgram {
		text = program(s, nil, nil)
	}
	return "\n\n```python\n" + text + "```\n"
}

// some is a choice of 1 to n of the numbers below n, each count equally likely.
func some(s *seed.Stream, n int) map[int]bool {
	chosen, count := make(map[int]bool), 1+pick(s, n)
	for i := range n {
		if s.Float64()*float64(n-i) < float64(count-len(chosen)) {
			chosen[i] = true
		}
	}
	return chosen
}

// longestProgram is the most bytes of a program. Tests that need a longer one
// are never passed: no model writes a table of them.
const longestProgram = 8000
