package family

import (
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
