// Package family holds the families of scorers, each one value: its name, what a
// task of it must have, how it is asked, scored and tried on labelled cases, what
// scoring needs, and what the simulated fleet answers. Whatever reads, asks,
// scores or simulates tasks goes by these fields, never by a name.
package family

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/scorer"
	"speceval/internal/scorer/code"
	"speceval/internal/scorer/command"
	"speceval/internal/scorer/judge"
	"speceval/internal/seed"
)

// all are the families, in the order in which messages list them.
var all = []Family{
	mathematics, choices, judged, programs, gradedAnswers, gradedPrograms, exactTexts, patterns, numbers, commanded, gradedByCommand,
}

// Family is one way of scoring answers.
type Family struct {
	Name    string // as tasks have it in scorer
	Version string // of its rules, in scores and profiles; of a judge the model follows
	Prompt  string // which template asks a bare problem: data/prompts/PROMPT.txt
	Graded  bool   // rewards may be anything from 0 to 1, and not its ends alone

	// What a task must have: a problem, and an answer unless it has tests.
	Options bool                               // it has options, which its prompt shows; others have none
	Tests   bool                               // it has tests and no answer; others have none
	Gold    func(t scorer.Task) (fault string) // what is wrong with its answer, "" if nothing; nil: any text will do

	AnswerOptional bool                               // it may have no answer
	Tolerance      func(t scorer.Task) (fault string) // what is wrong with its tolerance, as Gold; nil: none may be there

	Need Need // what scoring needs besides the task
	// New makes the scorer of a task that has what it must have.
	New func(t scorer.Task, r Resources) scorer.Scorer

	// Check scores the prediction of a labelled case, of which the right answer
	// alone is known; nil: Unchecked says why that cannot be.
	Check     func(gold, prediction string) scorer.Verdict
	Unchecked string

	// Answer is the end of a simulated model's answer: the result, right or wrong,
	// in the form that the prompt asks for. others are the right answers of all tasks
	// of the benchmark and family, to be wrong with.
	Answer func(s *seed.Stream, t scorer.Task, right bool, others []string) string
	// Unsimulated says why the simulated fleet never answers a task right, "" if it
	// does; nil: it does always.
	Unsimulated func(t scorer.Task) (why string)
	// Reply is what a simulated judge replies to a turn about a response to a task;
	// nil where no judge is asked.
	Reply func(s *seed.Stream, turn string, t scorer.Task) string
}

// Need is what scoring needs besides the task.
type Need string

// Needs.
const (
	Nothing Need = ""
	Judge   Need = "judge"   // servers of a judge model
	Sandbox Need = "sandbox" // to run programs in
	Grader  Need = "grader"  // a program of the user's own
)

// Slow reports whether verdicts take so long that each is worth storing when it is
// reached.
func (f Family) Slow() bool { return f.Need != Nothing }

// Resources are what the needs of families are met by.
type Resources struct {
	Judge  judge.Settings
	Runner *code.Runner
	Grader *command.Grader                            // that is open
	Tests  func(t scorer.Task) ([]scorer.Test, error) // loads those of a task
}

// All are the families, in the order in which messages list them. They are
// read-only.
func All() []Family { return all }

// Names are those of all families.
func Names() []string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	return names
}

// Named is the family with a name. The error goes on behind what has the name.
func Named(name string) (Family, error) {
	i := slices.IndexFunc(all, func(f Family) bool { return f.Name == name })
	if i < 0 {
		return Family{}, fmt.Errorf("is %q, must be one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Count counts the tasks whose scoring has a need.
func Count(tasks []scorer.Task, need Need) int {
	n := 0
	for _, t := range tasks {
		if f, err := Named(t.Scorer); err == nil && f.Need == need {
			n++
		}
	}
	return n
}
