package family

import (
	"strings"

	"speceval/internal/scorer"
	"speceval/internal/scorer/command"
	"speceval/internal/seed"
)

// commanded are answers that a program of the user's own scores.
var commanded = Family{
	Name: "command", Version: command.Version, Prompt: "command",
	AnswerOptional: true,
	Need:           Grader,
	New:            func(t scorer.Task, r Resources) scorer.Scorer { return command.New(r.Grader, t, false) },
	Unchecked:      "it asks a program of yours, which the configuration names, about a whole task",
	Answer:         literally,
	Unsimulated:    unanswered,
}

// gradedByCommand are answers that a program of the user's own grades.
var gradedByCommand = Family{
	Name: "command-graded", Version: command.GradedVersion, Prompt: "command", Graded: true,
	AnswerOptional: true,
	Need:           Grader,
	New:            func(t scorer.Task, r Resources) scorer.Scorer { return command.New(r.Grader, t, true) },
	Unchecked:      commanded.Unchecked,
	Answer:         literally,
	Unsimulated:    unanswered,
}

// literally ends an answer with the right one as it stands, alone in its lines, or
// with another one.
func literally(s *seed.Stream, t scorer.Task, right bool, others []string) string {
	result := t.Answer
	if !right || result == "" {
		result = otherAnswer(s, result, append([]string{"nothing of the kind"}, others...))
	}
	return "\n\n" + strings.TrimSpace(result)
}

// unanswered says that nothing is known of what the grader of a task takes.
func unanswered(t scorer.Task) string {
	if t.Answer == "" {
		return "it has no answer that could be said to its grader"
	}
	return ""
}
