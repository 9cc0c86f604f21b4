package show

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"speceval/internal/evaluation"
)

// answer is an answer with its verdict.
type answer struct {
	Number        int // from 1
	Verdict, Kind string
	Text          string
}

// Bounds of prompts and answers, in bytes.
const (
	answerBytes = 100 // of an answer besides its text
	leastText   = 200 // of an answer
	mostText    = 2000
	mostAnswers = 20 // of a task
)

// addAnswers adds the prompts and the first answers of the tasks that are listed.
func (p Page) addAnswers(tasks []task) error {
	names, most := 0, 0
	for _, t := range tasks {
		names, most = names+len(template.HTMLEscapeString(t.Name)), max(most, t.Rollouts())
	}
	room := max(0, (mostBytes-names)/len(tasks)-rowBytes)
	prompt := min(mostText, room/3)
	room -= prompt
	answers := max(1, min(mostAnswers, room/(leastText+answerBytes), most))
	each := max(0, min(mostText, room/answers-answerBytes))
	at := make(map[int32]*task, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		at[t.Index], t.Prompt = t, bounded(p.Prompt(int(t.Index)), prompt, false)
	}
	for a, err := range p.Stored.Answers() {
		if err != nil {
			return err
		}
		if t := at[a.TaskIndex]; t != nil && len(t.Answers) < answers {
			t.Answers = append(t.Answers, newAnswer(a, each))
		}
	}
	return nil
}

// newAnswer is an answer of about a number of bytes at most.
func newAnswer(of evaluation.Answer, most int) answer {
	text, v := of.Text, of.Verdict
	if strings.TrimSpace(text) == "" {
		text = fmt.Sprintf("(no answer after %d characters of thinking)", utf8.RuneCountInString(of.Reasoning))
	}
	a := answer{Number: int(of.Rollout.Rollout) + 1, Verdict: "failed", Kind: "bad", Text: bounded(text, most, true)}
	switch {
	case v.Correct:
		a.Verdict, a.Kind = "passed", "good"
	case v.Partial > 0:
		a.Verdict, a.Kind = fmt.Sprintf("reward %.3g", v.Partial), "noise"
	}
	for _, said := range []string{v.Answer, v.Note} {
		if said != "" {
			a.Verdict += ": " + bounded(said, most/2, false)
		}
	}
	return a
}

// bounded cuts a text to about a number of bytes of a page: its end, or its beginning, is kept.
func bounded(text string, most int, end bool) string {
	text = strings.TrimSpace(text)
	if len(template.HTMLEscapeString(text)) <= most {
		return text
	}
	runes, size := []rune(text), 0
	if end {
		slices.Reverse(runes)
	}
	for i, r := range runes {
		if size += len(template.HTMLEscapeString(string(r))); size > most {
			runes = append(runes[:i], '…')
			break
		}
	}
	if end {
		slices.Reverse(runes)
	}
	return string(runes)
}
