package fleet

import (
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/seed"
)

// judged is the task about a response to which a user turn asks, as a judge model
// is asked: a task for a judge whose bare problem and right answer are both in
// the turn, in whatever words; the one with the longest problem. Nil if there is
// none.
func (a *Author) judged(user string) *benchmark.Task {
	var found *benchmark.Task
	for _, task := range a.open {
		if (found == nil || len(task.Prompt) > len(found.Prompt)) && strings.Contains(user, task.Prompt) && strings.Contains(user, task.Answer) {
			found = task
		}
	}
	return found
}

// verdict is the reply of a judge model that never errs: correct only if the turn
// holds a response that ends as an Author's answers to open questions do, with
// the right result.
func verdict(s *seed.Stream, user string, task *benchmark.Task) string {
	result, confidence, answered := concluded(user)
	correct := "no"
	switch {
	case !answered:
		result, confidence = "None", "100"
	case strings.EqualFold(result, strings.TrimSpace(task.Answer)):
		correct = "yes"
	}
	return "extracted_final_answer: " + strings.Join(strings.Fields(result), " ") +
		"\n\nreasoning: " + strings.TrimSpace(thoughts[pick(s, len(thoughts))]) +
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
