// Package command scores answers by a program of the user's own, the grader, which
// stays up: it reads a line of JSON for every response, and writes one with the
// verdict. A line is
//
//	{"task":{"benchmark":"…","id":"…","prompt":"…","user_prompt":"…","answer":"…"},"response":"…","cut":false}
//
// where the task has system_prompt, history and metadata as well if there are any,
//
// and its reply
//
//	{"reward":1,"answer":"…","note":"…"}
//
// where answer, what was read from the response, and note may be left out. What the
// grader writes is never trusted: a reply that is no such line, or has a reward that
// its tasks may not have, is none. A grader that dies, is too slow or gives no such
// reply is ended, and the response goes to a fresh one; if that gives none either,
// the response has no verdict, which is an error and no wrong answer.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"speceval/internal/scoring"
)

// Versions name the rules of this package in scores and profiles, of rewards that
// are 0 or 1 and of graded ones; what the grader is made of follows them there.
const (
	Version       = "speceval_command_v1"
	GradedVersion = "speceval_command_graded_v1"
)

// Scorer scores responses to one task.
type Scorer struct {
	grader *Grader
	task   task
	graded bool
}

// task is a task as requests to the grader have it.
type task struct {
	Benchmark    string          `json:"benchmark"`
	ID           string          `json:"id"`
	Prompt       string          `json:"prompt"`
	UserPrompt   string          `json:"user_prompt"`
	SystemPrompt string          `json:"system_prompt,omitempty"`
	History      []scoring.Turn  `json:"history,omitempty"`
	Answer       string          `json:"answer"` // "" for none
	Metadata     json.RawMessage `json:"metadata,omitempty"`
}

// request is a line to the grader.
type request struct {
	Task     *task  `json:"task"`
	Response string `json:"response"`
	Cut      bool   `json:"cut"`
}

// New is the scorer for a task. Rewards other than 0 and 1 are for graded ones.
func New(g *Grader, t scoring.Task, graded bool) *Scorer {
	return &Scorer{g, task{
		t.Benchmark, t.ID, t.Prompt, t.UserPrompt, t.SystemPrompt, t.History, t.Answer, json.RawMessage(t.Metadata),
	}, graded}
}

// Score asks the grader, and a fresh one if there is no verdict. The error says
// what became of the second.
func (s *Scorer) Score(ctx context.Context, r scoring.Response) (scoring.Verdict, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(request{&s.task, strings.ToValidUTF8(r.Text, "\ufffd"), r.Cut}); err != nil {
		return scoring.Verdict{}, fmt.Errorf("ask the grader: %w", err)
	}
	return s.grader.ask(ctx, line.Bytes(), s.graded)
}

// reply is a line of the grader.
type reply struct {
	Reward json.RawMessage `json:"reward"` // a number, or true or false for 1 and 0
	Answer string          `json:"answer"`
	Note   string          `json:"note"`
}

// parse reads a reply. The error says what is wrong with it.
func parse(line []byte, graded bool) (v scoring.Verdict, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	var r reply
	switch err := d.Decode(&r); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return v, fmt.Errorf("wrote %s, which is no reply: it must be a JSON object on one line", shown(line))
	case err != nil: // which may repeat a key of any length
		return v, fmt.Errorf("wrote %s, which is no reply: %s", shown(line), scoring.Shorten(strings.TrimPrefix(err.Error(), "json: ")))
	}
	fault := ""
	switch string(r.Reward) {
	case "":
		fault = "there is no reward"
	case "null":
		fault = "the reward is null"
	case "true":
		v.Reward = 1
	case "false":
	default:
		if json.Unmarshal(r.Reward, &v.Reward) != nil {
			fault = "the reward is no number"
		}
	}
	if _, err := d.Token(); err != io.EOF {
		fault = "more than one JSON object"
	} else if v.Reward += 0; !(v.Reward >= 0 && v.Reward <= 1) { // -0 is 0
		fault = "a reward is from 0 to 1"
	} else if !graded && v.Reward != 0 && v.Reward != 1 {
		fault = "a reward between 0 and 1 is for tasks whose scorer is command-graded"
	}
	if fault != "" {
		return scoring.Verdict{}, fmt.Errorf("wrote %s: %s", shown(line), fault)
	}
	v.Answer, v.Note = scoring.Shorten(r.Answer), scoring.Shorten(r.Note)
	return v, nil
}

// shown is a line for an error.
func shown(line []byte) string {
	const most = 120
	line = bytes.TrimSpace(line)
	if len(line) > most {
		line = append(append([]byte{}, line[:most]...), "…"...)
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(string(line), "\ufffd"))
}
