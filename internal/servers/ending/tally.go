package ending

import (
	"fmt"
	"strings"
)

// Tally counts rollouts, and those among them whose answers are empty or not whole.
type Tally struct {
	All           int `json:"all"`
	Empty         int `json:"empty"`          // without an answer: they count as wrong
	Thinking      int `json:"thinking_only"`  // of the empty ones, those with thinking
	EmptyCut      int `json:"empty_cut"`      // empty ones that a limit cut
	EmptyFinished int `json:"empty_finished"` // empty ones that the model finished
	Unclosed      int `json:"unclosed"`       // with an answer before thinking that was not closed
	Cut           int `json:"cut"`            // by a limit, empty or not
	Filtered      int `json:"filtered"`
	Refused       int `json:"refused"`
	Called        int `json:"called"` // ended in the call of a tool
	Unread        int `json:"unread"` // whole, and the scorer found no answer in the text
}

// Add counts a rollout: the answer in it and whether its thinking was closed, as
// AfterThinking returns them; the bytes of all its text, reasoning included; its ending; and
// whether the scorer found an answer.
func (t *Tally) Add(answer string, closed bool, bytes int, end Ending, read bool) {
	t.All++
	switch end {
	case Cut:
		t.Cut++
	case Filtered:
		t.Filtered++
	case Refused:
		t.Refused++
	case Called:
		t.Called++
	}
	if strings.TrimSpace(answer) != "" {
		if !closed {
			t.Unclosed++
		} else if end == Finished && !read {
			t.Unread++
		}
		return
	}
	t.Empty++
	if bytes > len(answer) {
		t.Thinking++
	}
	switch end {
	case Cut:
		t.EmptyCut++
	case Finished:
		t.EmptyFinished++
	}
}

// Warned is the share of rollouts from which a line is a warning: the mean then says
// something of the servers, and not of the model alone.
const Warned = 0.05

// Lines say what more than a share of the rollouts lack: how many, and the usual cause. A
// share of 0 stands for all that is to be said; there are no lines where all is well, or
// where nothing was counted.
func (t *Tally) Lines(share float64) (lines []string) {
	if t == nil {
		return nil
	}
	line := func(n int, text string) {
		if of := float64(n) / float64(t.All); n > 0 && of > share {
			lines = append(lines, fmt.Sprintf("%d of %d rollouts (%.3g%%) %s", n, t.All, 100*of, text))
		}
	}
	line(t.Empty, "have an empty answer, which counts as wrong"+t.causes())
	line(t.Unclosed, "end in thinking that was not closed, of which nothing counts: sampling.max_tokens is too low for it, or the server lacks a reasoning parser")
	line(t.Cut, "were cut by a limit: sampling.max_tokens, or the context of the server, is too low for them")
	line(t.Filtered, "were withheld by a content filter, in whole or in part")
	line(t.Refused, "were refused by the provider of the model")
	line(t.Called, "ended in the call of a tool, though none was offered: start the server without a parser of tool calls")
	line(t.Unread, "have a text in which the scorer found no answer, and count as wrong: read some, and if they are right in a form of their own, ask for the scorer's form in the prompt, or choose another scorer")
	return lines
}

// causes are the usual ones of empty answers.
func (t *Tally) causes() string {
	text := ""
	if t.Thinking > 0 {
		text += fmt.Sprintf("; %d of them have thinking alone", t.Thinking)
	}
	if t.EmptyCut > 0 {
		text += fmt.Sprintf("; %d were cut by a limit, most often while the model thought: raise sampling.max_tokens", t.EmptyCut)
	}
	if t.EmptyFinished > 0 {
		text += fmt.Sprintf("; %d ended by themselves: the reasoning parser of the server takes answers for thinking (start it without one, or with that of the model), or the server lacks the parser that the model needs", t.EmptyFinished)
	}
	return text
}
