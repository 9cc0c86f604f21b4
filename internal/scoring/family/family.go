// Package family holds the families of scorers, each one value: its name, what a
// task of it must have, how it is asked, scored and tried on labelled cases, what
// scoring needs, and what the simulated fleet answers. Whatever reads, asks,
// scores or simulates tasks goes by these fields, never by a name.
package family

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/policy/seed"
	"speceval/internal/scoring"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/command"
	"speceval/internal/scoring/judge"
	"speceval/internal/servers/ending"
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
	Options bool                                // it has options, which its prompt shows; others have none
	Tests   bool                                // it has tests and no answer; others have none
	Gold    func(t scoring.Task) (fault string) // what is wrong with its answer, "" if nothing; nil: any text will do

	AnswerOptional bool                                // it may have no answer
	Tolerance      func(t scoring.Task) (fault string) // what is wrong with its tolerance, as Gold; nil: none may be there

	Need Need // what scoring needs besides the task
	// New makes the scorer of a task that has what it must have.
	New func(t scoring.Task, r Resources) scoring.Scorer

	// Answer is the end of a simulated model's answer: the result, right or wrong,
	// in the form that the prompt asks for. others are the right answers of all tasks
	// of the benchmark and family, to be wrong with.
	Answer func(s *seed.Stream, t scoring.Task, right bool, others []string) string
	// Reply is the reply of a simulated judge to a turn about a response to a task; nil
	// where no judge is asked.
	Reply func(s *seed.Stream, turn string, t scoring.Task) string
}

// Check scores the prediction of a labelled case, a whole text of a model, with nothing but its right
// answer, by a family that needs no more. The error says why that is none.
func (f Family) Check(gold, prediction string) (scoring.Verdict, error) {
	t := scoring.Task{Answer: scoring.Solved(gold)}
	if fault := f.Gold(t); fault != "" {
		return scoring.Verdict{}, errors.New("the right answer " + fault)
	}
	answer, _ := ending.AfterThinking(prediction, ending.Finished, false)
	return f.New(t, Resources{}).Score(context.Background(), scoring.Response{Text: answer})
}

// Need is a resource that scoring needs besides the task.
type Need struct {
	Takes     string // what it takes, one for each response, for plans
	Unchecked string // why a labelled case needs more than its right answer, see [Family.Check]
}

// Needs: nothing, servers of a judge model, a sandbox to run programs in, or a program of the user's own.
var (
	Nothing = Need{}
	Judge   = Need{"questions to the judge", "it asks a judge model on a server, and needs the question as well"}
	Sandbox = Need{"programs", "it runs programs against the tests of a task, which a line cannot hold"}
	Grader  = Need{"responses to the grader", "it asks a program of yours, which the configuration names, about a whole task"}
)

// Slow reports whether verdicts take so long that each is worth storing when it is
// reached.
func (f Family) Slow() bool { return f.Need != Nothing }

// Found reports whether the scorer of a version, as scores have it, found an answer. Those of
// judges, programs and graders always do: they take the text as it is.
func Found(version, answer string) bool {
	return answer != "" || !slices.ContainsFunc(all, func(f Family) bool { return f.Need == Nothing && f.Version == version })
}

// Resources meet the needs of families.
type Resources struct {
	Judge  judge.Settings
	Runner *code.Runner
	Grader *command.Grader                              // that is open
	Tests  func(t scoring.Task) ([]scoring.Test, error) // loads the tests of a task
}

// All are the families, in the order in which messages list them. They are
// read-only.
func All() []Family { return all }

// Names returns the names of all families.
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
func Count(tasks []scoring.Task, need Need) int {
	n := 0
	for _, t := range tasks {
		if f, err := Named(t.Scorer); err == nil && f.Need == need {
			n++
		}
	}
	return n
}

var digits = regexp.MustCompile(`\d+`)

// near is a result near the right one: one of its numbers is a little off,
// or, where it has none, a small number instead.
func near(s *seed.Stream, right string) string {
	places := digits.FindAllStringIndex(right, -1)
	if len(places) == 0 {
		return strconv.Itoa(1 + pick(s, 9))
	}
	at := places[pick(s, len(places))]
	return right[:at[0]] + offNumber(s, right[at[0]:at[1]]) + right[at[1]:]
}

// offNumber is a number other than the one that the digits spell.
func offNumber(s *seed.Stream, digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<50 { // too long to count with: another last digit
		last := digits[len(digits)-1] - '0'
		return digits[:len(digits)-1] + string('0'+(last+byte(1+pick(s, 9)))%10)
	}
	off := 1 + pick(s, 3)
	if n > 20 && s.Float64() < 0.3 {
		off = 10
	}
	if n > off && s.Float64() < 0.5 {
		off = -off
	}
	return strconv.Itoa(n + off)
}

// pick is a number from 0 to n−1.
func pick(s *seed.Stream, n int) int { return int(s.Float64() * float64(n)) }

// Thought is a sentence that says nothing about any task, and holds no box and no
// code fence: the answers and the thinking of simulated models are filled with them.
func Thought(s *seed.Stream) string { return thoughts[pick(s, len(thoughts))] }

// thoughts hold a few characters beyond ASCII.
var thoughts = [...]string{
	"Let me read the problem once more and write down what is given. ",
	"First I name the unknowns, then I look at how they depend on each other. ",
	"That does not lead anywhere, so I try another way. ",
	"Wait, I have to be careful with the sign here. ",
	"Checking the smallest case by hand gives the same value, which is reassuring. ",
	"If the first condition holds, then x ≤ y, and the second one follows. ",
	"Suppose the opposite; then two of the terms would have to be equal. ",
	"The remaining cases are symmetric, so it is enough to look at one of them. ",
	"Substituting this back, most of the terms cancel. ",
	"It helps to draw a small table of the values. ",
	"So far we have used every assumption but the last. ",
	"Hmm, is that really true for all n? For n = 1 → yes, for n = 2 → yes as well. ",
	"I could also estimate: the result must be positive and not too large. ",
	"Putting both parts together gives the value that is asked for. ",
	"Let me verify this with a different method. ",
	"The units agree, and so does the order of magnitude. ",
	"There might be a shorter way, but this one is safe.\n\n",
	"Now the last step.\n\n",
	"Rewriting it that way makes the structure visible: a sum of two squares. ",
	"This is where most of the work lies. ",
}
