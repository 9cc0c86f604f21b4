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

var _ scoring.Scorer = (*Scorer)(nil)

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
	line, err := requestLine(request{&s.task, strings.ToValidUTF8(r.Text, "\ufffd"), r.Cut})
	if err != nil {
		return scoring.Verdict{}, err
	}
	return s.grader.ask(ctx, line, func(reply []byte) (scoring.Verdict, error) { return parse(reply, s.graded) })
}

// requestLine is a request as a line.
func requestLine(r request) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("ask the grader: %w", err)
	}
	return b.Bytes(), nil
}

// reply is a line of the grader.
type reply struct {
	Reward json.RawMessage `json:"reward"`
	Answer string          `json:"answer"`
	Note   string          `json:"note"`
}

// parse reads a reply. The error says what is wrong with it.
func parse(line []byte, graded bool) (scoring.Verdict, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	var r reply
	if err := d.Decode(&r); err != nil {
		return scoring.Verdict{}, fmt.Errorf("wrote %s, which is no reply: %w", shown(line), plainly(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return scoring.Verdict{}, fmt.Errorf("wrote %s: more than one JSON object", shown(line))
	}
	reward, err := rewardOf(r.Reward)
	switch {
	case err != nil:
		return scoring.Verdict{}, fmt.Errorf("wrote %s: %w", shown(line), err)
	case !(reward >= 0 && reward <= 1):
		return scoring.Verdict{}, fmt.Errorf("wrote %s: a reward is from 0 to 1", shown(line))
	case !graded && reward != 0 && reward != 1:
		return scoring.Verdict{}, fmt.Errorf("wrote %s: a reward between 0 and 1 is for tasks whose scorer is command-graded", shown(line))
	}
	return scoring.Verdict{Reward: reward, Answer: scoring.Shorten(r.Answer), Note: scoring.Shorten(r.Note)}, nil
}

// rewardOf reads a reward: a number, or true or false for 1 and 0.
func rewardOf(value json.RawMessage) (float64, error) {
	switch string(value) {
	case "":
		return 0, errors.New("there is no reward")
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	case "null":
		return 0, errors.New("the reward is null")
	}
	var reward float64
	if err := json.Unmarshal(value, &reward); err != nil {
		return 0, errors.New("the reward is no number")
	}
	return reward + 0, nil
}

// plainly is an error of the decoder without the words that name it, and short
// enough: it may repeat a key of any length.
func plainly(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it must be a JSON object on one line")
	}
	return errors.New(scoring.Shorten(strings.TrimPrefix(err.Error(), "json: ")))
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
