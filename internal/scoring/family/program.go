package family

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/policy/seed"
	"speceval/internal/scoring"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/command"
	"speceval/internal/scoring/judge"
)

// Answers that a program of the user's own scores, or grades.
var (
	commanded       = byCommand("command", command.Version, false)
	gradedByCommand = byCommand("command-graded", command.GradedVersion, true)
)

func byCommand(name, version string, graded bool) Family {
	return Family{
		Name: name, Version: version, Prompt: "command", Graded: graded,
		AnswerOptional: true,
		Need:           Grader,
		New:            func(t scoring.Task, r Resources) scoring.Scorer { return command.New(r.Grader, t, graded) },
		Answer: func(s *seed.Stream, t scoring.Task, right bool, others []string) string {
			result := t.Answer
			if !right || result == "" {
				result = otherAnswer(s, result, append([]string{"nothing of the kind"}, others...))
			}
			return "\n\n" + strings.TrimSpace(result)
		},
	}
}

// programs are rewarded if all tests pass, and gradedPrograms for each passed test.
var (
	programs       = byTests("code", code.Version, false)
	gradedPrograms = byTests("code-graded", code.GradedVersion, true)
)

func byTests(name, version string, graded bool) Family {
	return Family{
		Name: name, Version: version, Prompt: "code", Graded: graded,
		Tests: true,
		Need:  Sandbox,
		New: func(t scoring.Task, r Resources) scoring.Scorer {
			return code.New(r.Runner, graded, func() ([]scoring.Test, error) { return r.Tests(t) })
		},
		Answer: func(s *seed.Stream, t scoring.Task, right bool, _ []string) string {
			passed := len(t.Tests)
			if !right {
				passed = pick(s, passed)
			}
			text := program(t.Tests, passed)
			if len(text) > longestProgram {
				text = program(t.Tests, 0)
			}
			return "\n\n```python\n" + text + "```\n"
		},
	}
}

// longestProgram is the most bytes of a program. Tests that need a longer one
// are never passed: no model writes a table of them.
const longestProgram = 8000

// judged are open answers, about which a judge model is asked.
var judged = Family{
	Name: "judge", Version: judge.Version, Prompt: "judge",
	AnswerOptional: true,
	Need:           Judge,
	New:            func(t scoring.Task, r Resources) scoring.Scorer { return judge.New(r.Judge, question(t), t.Answer) },
	Answer: func(s *seed.Stream, t scoring.Task, right bool, others []string) string {
		result := supposed(t)
		if !right {
			result = otherAnswer(s, result, others)
		}
		return "\n\nExplanation: " + strings.TrimSpace(Thought(s)) +
			resultField + result + confidenceField + confidences[pick(s, len(confidences))] + "%"
	},
	Reply: verdict,
}

// gradedAnswers are open answers that a judge model grades by what a full one has.
var gradedAnswers = Family{
	Name: "judge-graded", Version: judge.GradedVersion, Prompt: "judge-graded", Graded: true,
	AnswerOptional: true,
	Need:           Judge,
	New: func(t scoring.Task, r Resources) scoring.Scorer {
		return judge.NewGraded(r.Judge, question(t), t.Answer)
	},
	Answer: func(s *seed.Stream, t scoring.Task, right bool, _ []string) string {
		full := []rune(inOneLine(supposed(t)))
		if !right {
			full = full[:pick(s, len(full))]
		}
		return sumUp + string(full) + thatIsAll
	},
	Reply: gradeOf,
}

// question is the part of a task that a judge sees: the problem, or a chat up to the last turn.
func question(t scoring.Task) string {
	if t.History == nil || t.Prompt != t.UserPrompt {
		return t.Prompt
	}
	var b strings.Builder
	for _, turn := range append(slices.Clone(t.History), scoring.Turn{Role: "user", Content: t.UserPrompt}) {
		b.WriteString(turn.Role + ": " + turn.Content + "\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n\n")
}

// supposed is the right answer to an open question, or a text in its place that
// simulated models and judges agree on.
func supposed(t scoring.Task) string { return cmp.Or(t.Answer, "what is right of "+t.ID) }

var confidences = [...]string{"55", "70", "80", "90", "95"}

// otherAnswer is a wrong answer to an open question: a number that is off, or
// the answer to another question.
func otherAnswer(s *seed.Stream, right string, all []string) string {
	if digits.MatchString(right) {
		return near(s, right)
	}
	for range 4 {
		if other := all[pick(s, len(all))]; !strings.EqualFold(other, right) {
			return other
		}
	}
	return "it cannot be known"
}

// verdict is the reply of a judge model that never errs: correct only if the turn
// holds a response that ends as simulated answers to open questions do, with the
// right result.
func verdict(s *seed.Stream, turn string, t scoring.Task) string {
	result, confidence, answered := concluded(turn)
	correct := "no"
	switch {
	case !answered:
		result, confidence = "None", "100"
	case strings.EqualFold(result, strings.TrimSpace(supposed(t))):
		correct = "yes"
	}
	return "extracted_final_answer: " + inOneLine(result) +
		"\n\nreasoning: " + strings.TrimSpace(Thought(s)) +
		"\n\ncorrect: " + correct + "\n\nconfidence: " + confidence
}

// Parts of the end of an answer to an open question.
const (
	resultField     = "\nAnswer: "
	confidenceField = "\nConfidence: "
)

// concluded is the result and the confidence at the end of the last answer to an
// open question in a text.
func concluded(text string) (result, confidence string, found bool) {
	for end := strings.LastIndex(text, confidenceField); end >= 0; end = strings.LastIndex(text[:end], confidenceField) {
		confidence = text[end+len(confidenceField):]
		percent := strings.IndexByte(confidence[:min(len(confidence), len("100%"))], '%')
		if percent < 1 || strings.Trim(confidence[:percent], "0123456789") != "" {
			continue
		}
		if from := strings.LastIndex(text[:end], resultField); from >= 0 {
			return strings.TrimSpace(text[from+len(resultField) : end]), confidence[:percent], true
		}
	}
	return "", "", false
}

// Parts of the end of an answer that is graded.
const (
	sumUp     = "\n\nIn short: "
	thatIsAll = "\nThat is all."
)

// inOneLine is a text with single blanks as its white space.
func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// gradeOf is the reply of a judge model that grades by how much of the full answer, from
// its beginning on, stands at the end of a response.
func gradeOf(s *seed.Stream, turn string, t scoring.Task) string {
	had := ""
	if end := strings.LastIndex(turn, thatIsAll); end >= 0 {
		if from := strings.LastIndex(turn[:end], sumUp); from >= 0 {
			had = turn[from+len(sumUp) : end]
		}
	}
	full := []rune(inOneLine(supposed(t)))
	same := 0
	for _, r := range had {
		if same == len(full) || r != full[same] {
			break
		}
		same++
	}
	return "reasoning: " + strings.TrimSpace(Thought(s)) + "\n\ngrade: " + strconv.Itoa(10*same/max(1, len(full)))
}

// program is a Python program, ended by a line feed, that passes the first of some tests and no
// others. It looks their results up, since nothing here can program. The function that tests call is
// there plain and as a method of Solution, the two ways in which scorers call it.
func program(tests []scoring.Test, passed int) string {
	var b strings.Builder
	b.WriteString("import json\nimport sys\n\nCASES = {\n")
	for _, t := range tests[:passed] {
		b.WriteString("    " + python(t.Input) + ".strip(): " + python(t.Output) + ",\n")
	}
	b.WriteString("}\n\n\n")
	if len(tests) == 0 || tests[0].Kind != "function" {
		return b.String() + "print(CASES.get(sys.stdin.read().strip(), \"unknown\").rstrip(\"\\n\"))\n"
	}
	name := tests[0].Function
	b.WriteString("def " + name + "(*values):\n" +
		"    for given, result in CASES.items():\n" +
		"        if [json.loads(line) for line in given.split(\"\\n\") if line.strip()] == list(values):\n" +
		"            return json.loads(result)\n" +
		"    return \"unknown\"\n\n\n" +
		"class Solution:\n    def " + name + "(self, *values):\n        return globals()[\"" + name + "\"](*values)\n")
	return b.String()
}

// python is a Python string literal: Go's quoting, which Python reads alike.
func python(text string) string { return strconv.QuoteToASCII(text) }
