package family

import (
	"strconv"
	"strings"

	"speceval/internal/scorer"
	"speceval/internal/scorer/judge"
	"speceval/internal/seed"
)

// judged are open answers, about which a judge model is asked.
var judged = Family{
	Name: "judge", Version: judge.Version, Prompt: "judge",
	Need:      Judge,
	New:       func(t scorer.Task, r Resources) scorer.Scorer { return judge.New(r.Judge, t.Prompt, t.Answer) },
	Unchecked: "it asks a judge model on a server, and needs the question as well",
	Answer: func(s *seed.Stream, t scorer.Task, right bool, others []string) string {
		result := t.Answer
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
	Need:      Judge,
	New:       func(t scorer.Task, r Resources) scorer.Scorer { return judge.NewGraded(r.Judge, t.Prompt, t.Answer) },
	Unchecked: judged.Unchecked,
	Answer: func(s *seed.Stream, t scorer.Task, right bool, _ []string) string {
		full := []rune(inOneLine(t.Answer))
		if !right {
			full = full[:pick(s, len(full))]
		}
		return sumUp + string(full) + thatIsAll
	},
	Reply: gradeOf,
}

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
func verdict(s *seed.Stream, turn string, t scorer.Task) string {
	result, confidence, answered := concluded(turn)
	correct := "no"
	switch {
	case !answered:
		result, confidence = "None", "100"
	case strings.EqualFold(result, strings.TrimSpace(t.Answer)):
		correct = "yes"
	}
	return "extracted_final_answer: " + strings.Join(strings.Fields(result), " ") +
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
func gradeOf(s *seed.Stream, turn string, t scorer.Task) string {
	had := ""
	if end := strings.LastIndex(turn, thatIsAll); end >= 0 {
		if from := strings.LastIndex(turn[:end], sumUp); from >= 0 {
			had = turn[from+len(sumUp) : end]
		}
	}
	full := []rune(inOneLine(t.Answer))
	same := 0
	for _, r := range had {
		if same == len(full) || r != full[same] {
			break
		}
		same++
	}
	return "reasoning: " + strings.TrimSpace(Thought(s)) + "\n\ngrade: " + strconv.Itoa(10*same/max(1, len(full)))
}
