package evaluation_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/servers/ending"
	"speceval/internal/servers/vllm"
)

// TestAnswersThatAreNotWholeAreCounted: in the result, its notes and its JSON, also after a
// rescore, and while they come in.
func TestAnswersThatAreNotWholeAreCounted(t *testing.T) {
	l := newLab(t, "uniform", 4, 4, quiz...)
	l.spoil = func(n int, c *vllm.Completion) {
		switch n % 8 {
		case 1:
			c.Text, c.Reasoning = "", "so 42"
		case 2:
			c.Text, c.Finish = "<think>so 42", "MAX_TOKENS"
		case 3:
			c.Text, c.Finish = "", "content_filter"
		case 4:
			c.Finish = "eos_token" // as good as stop
		}
	}
	l.settings.Found = func(scorer, answer string) bool { return false } // in texts that are whole
	var said []string
	l.settings.Say = func(message string) { said = append(said, message) }
	r := l.run()
	if want := (ending.Tally{All: 40, Empty: 15, Thinking: 10, EmptyCut: 5, EmptyFinished: 5, Cut: 5, Filtered: 5, Unread: 25}); *r.Answers != want {
		t.Errorf("%+v, want %+v", *r.Answers, want)
	}
	if len(said) != 1 || !strings.Contains(said[0], "of 16 rollouts") {
		t.Errorf("said %q", said)
	}
	text, err := json.Marshal(r)
	for _, words := range []string{`"answers":{"all":40,"empty":15,`, "15 of 40 rollouts (37.5%) have an empty answer", "5 of 40 rollouts (12.5%) were cut", "content filter"} {
		if err != nil || !strings.Contains(string(text), words) {
			t.Errorf("%v: %q is not in %s", err, words, text)
		}
	}
	recount(t, l, r)
	stored := l.open()
	stored.Result.Answers, stored.Result.Notes = nil, []string{"a note"} // as earlier versions have stored it
	again, err := evaluation.Rescore(t.Context(), l.settings, stored, 3)
	if err != nil || *again.Answers != *r.Answers || !slices.Equal(again.Notes, append([]string{"a note"}, r.Notes...)) {
		t.Errorf("%+v, notes %q, %v", again.Answers, again.Notes, err)
	}
	twice, err := evaluation.Rescore(t.Context(), l.settings, l.open(), 3)
	if err != nil || !slices.Equal(twice.Notes, again.Notes) {
		t.Errorf("notes %q, %v", twice.Notes, err)
	}
}

// TestAnUnknownEndOfAnAnswerPauses: it counts as no answer, and is asked for once.
func TestAnUnknownEndOfAnAnswerPauses(t *testing.T) {
	l := newLab(t, "uniform", 4, 4, quiz...)
	l.spoil = func(n int, c *vllm.Completion) {
		if n == 9 {
			c.Finish = "novel_end"
		}
	}
	paused := l.paused(t.Context(), `"novel_end"`)
	var e *vllm.Error
	if !errors.As(paused, &e) || e.Kind != vllm.UnknownEnd || paused.Kept >= 40 || len(l.asked) >= 40 {
		t.Errorf("%v, after %d requests", paused, len(l.asked))
	}
	l.calm()
	l.spoil = nil
	recount(t, l, l.run())
}
