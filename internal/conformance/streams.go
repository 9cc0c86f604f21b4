package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// streams are completions that come in chunks.
func streams() []Check {
	return []Check{
		{"stream/form", "chunks begin, go on and end as our client expects", streamForm},
		{"stream/usage", "the last chunk counts the tokens", streamUsage},
		{"stream/continuous usage", "every chunk says how many tokens there are", continuousUsage},
		{"stream/ids", "ids of tokens come with the chunks", streamIDs},
		{"stream/text", "the chunks make up the text that is sent whole", streamText},
	}
}

// checkEnd says whether a stream ends with the word that it is complete.
func checkEnd(events []event) error {
	if len(events) < 3 || !events[len(events)-1].done {
		return fmt.Errorf("a stream of %d events without [DONE] at its end", len(events))
	}
	if slices.ContainsFunc(events[:len(events)-1], func(e event) bool { return e.done }) {
		return fmt.Errorf("a stream goes on after [DONE]")
	}
	return nil
}

// chunks reads a whole stream less its [DONE].
func (s *session) chunks(ctx context.Context, set fields) ([]event, error) {
	events, err := s.whole(ctx, set)
	if err != nil {
		return nil, err
	}
	if err := checkEnd(events); err != nil {
		return nil, err
	}
	return events[:len(events)-1], nil
}

func streamForm(ctx context.Context, s *session) (Observation, error) {
	set := fields{"max_tokens": 40}
	if s.Thinking {
		set["thinking_token_budget"] = 8
	}
	events, err := s.chunks(ctx, set)
	if err != nil {
		return "", err
	}
	reasoning, content := false, false
	var between []string
	for _, e := range events[1:] {
		if e.answer.ID != events[0].answer.ID || len(e.answer.Choices) != 1 {
			return "", fmt.Errorf("another id than %s, or no choice: %s", events[0].answer.ID, e.raw)
		}
		d := e.answer.Choices[0].Delta
		reasoning = reasoning || value(d.Reasoning) != ""
		content = content || value(d.Content) != ""
		between = append(between, chunkShape(e.raw))
	}
	var l lines
	l.add("first: %s", shape([]byte(events[0].raw)))
	last := between[len(between)-1]
	between = between[:len(between)-1]
	slices.Sort(between)
	for _, form := range slices.Compact(between) {
		l.add("then: %s", form)
	}
	l.add("last: %s", last)
	l.add("deltas bring reasoning: %t, content: %t", reasoning, content)
	return l.seen(), nil
}

var withUsage = fields{"include_usage": true}

func streamUsage(ctx context.Context, s *session) (Observation, error) {
	events, err := s.chunks(ctx, fields{"stream_options": withUsage})
	if err != nil {
		return "", err
	}
	last := events[len(events)-1]
	var l lines
	l.add("last: %s", shape([]byte(last.raw)))
	u := last.answer.Usage
	if u == nil || u.Completion != 12 || u.Total != u.Prompt+12 {
		return "", fmt.Errorf("usage of 12 tokens: %s", last.raw)
	}
	for _, e := range events[:len(events)-1] {
		if e.answer.Usage != nil {
			return "", fmt.Errorf("usage was not asked for in %s", e.raw)
		}
	}
	return l.seen(), nil
}

// everyUsage are the stream options under which all chunks count.
var everyUsage = fields{"include_usage": true, "continuous_usage_stats": true}

func continuousUsage(ctx context.Context, s *session) (Observation, error) {
	events, err := s.chunks(ctx, fields{"stream_options": everyUsage, "max_tokens": 40})
	if err != nil {
		return "", err
	}
	before := 0
	for i, e := range events {
		u := e.answer.Usage
		if u == nil {
			return "", fmt.Errorf("no usage in %s", e.raw)
		}
		if u.Completion < before || i == 0 && u.Completion != 0 || u.Total != u.Prompt+u.Completion {
			return "", fmt.Errorf("after %d tokens: %s", before, e.raw)
		}
		before = u.Completion
	}
	var l lines
	l.add("first: %s", shape([]byte(events[0].raw)))
	l.add("from 0 up to %d, in every chunk; choices in the last: %d", before, len(events[len(events)-1].answer.Choices))
	events, err = s.chunks(ctx, fields{"stream_options": fields{"continuous_usage_stats": true}})
	if err != nil {
		return "", err
	}
	l.add("without include_usage there is any: %t", slices.ContainsFunc(events, func(e event) bool { return e.answer.Usage != nil }))
	return l.seen(), nil
}

func streamIDs(ctx context.Context, s *session) (Observation, error) {
	events, err := s.chunks(ctx, fields{"stream_options": withUsage, "return_token_ids": true})
	if err != nil {
		return "", err
	}
	ids := 0
	for _, e := range events {
		for _, c := range e.answer.Choices {
			ids += len(c.Tokens)
		}
	}
	prompt, u := len(events[0].answer.Prompt), events[len(events)-1].answer.Usage
	if u == nil || prompt != u.Prompt || ids != u.Completion {
		return "", fmt.Errorf("%d ids of the prompt in the first chunk and %d of the answer in all, usage %+v", prompt, ids, u)
	}
	return "the prompt's in the first chunk, the answer's in all", nil
}

func streamText(ctx context.Context, s *session) (Observation, error) {
	a, _, err := s.ask(ctx, nil)
	if err != nil {
		return "", err
	}
	events, err := s.chunks(ctx, nil)
	if err != nil {
		return "", err
	}
	reasoning, content, finish := "", "", ""
	for _, e := range events {
		for _, c := range e.answer.Choices {
			reasoning += value(c.Delta.Reasoning)
			content += value(c.Delta.Content)
			finish += value(c.Finish)
		}
	}
	if got := reasoning + "|" + content; got != a.text() || finish != *a.Choices[0].Finish {
		return "", fmt.Errorf("whole %q (%s), in chunks %q (%s)", a.text(), *a.Choices[0].Finish, got, finish)
	}
	return "the same, and the same finish_reason", nil
}

// refusedStream is a request with stream set that is refused, in one line.
func (s *session) refusedStream(ctx context.Context, set fields) (string, error) {
	body := s.chat(set)
	body["stream"] = true
	got, err := s.post(ctx, chatPath, body)
	if err != nil || got.status != http.StatusOK {
		return refusal(got), err
	}
	events, err := s.whole(ctx, set)
	if err != nil {
		return "", err
	}
	text := "200 text/event-stream"
	for _, e := range events {
		if e.done {
			text += ", [DONE]"
			continue
		}
		text += ", " + refusal(reply{status: got.status, kind: "event", body: []byte(e.raw)})
	}
	return text, nil
}

// stream is an answer that comes in events.
type stream struct {
	status int
	kind   string
	body   io.ReadCloser
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// event is one chunk, or the word after the last.
type event struct {
	raw    string
	answer answer
	done   bool // [DONE]
}

// open sends a chat request with stream set, and returns when the headers are
// there.
func (s *session) open(ctx context.Context, set fields) (*stream, error) {
	body := s.chat(set)
	body["stream"] = true
	ctx, cancel := context.WithCancel(ctx)
	request, err := s.request(ctx, http.MethodPost, chatPath, body)
	if err != nil {
		cancel()
		return nil, err
	}
	response, err := s.http.Do(request)
	if err != nil {
		cancel()
		return nil, err
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return &stream{response.StatusCode, kind, response.Body, bufio.NewReader(response.Body), cancel}, nil
}

// close ends the stream where it is, which closes the connection unless the
// stream was read to its end.
func (st *stream) close() {
	st.cancel()
	st.body.Close()
}

// next reads an event; io.EOF says that there are no more.
func (st *stream) next() (event, error) {
	for {
		line, err := st.lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if line == "" && err == nil {
			continue
		}
		if err != nil {
			return event{}, err
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			return event{}, fmt.Errorf("a line of the stream is no data: %q", line)
		}
		if data == "[DONE]" {
			return event{raw: data, done: true}, nil
		}
		e := event{raw: data}
		if err := json.Unmarshal([]byte(data), &e.answer); err != nil {
			return event{}, fmt.Errorf("%w: %s", err, data)
		}
		return e, nil
	}
}

// rest reads all events to the end of the body.
func (st *stream) rest() ([]event, error) {
	var events []event
	for {
		e, err := st.next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

// whole opens a stream, which must be one, and reads it to its end.
func (s *session) whole(ctx context.Context, set fields) ([]event, error) {
	st, err := s.open(ctx, set)
	if err != nil {
		return nil, err
	}
	defer st.close()
	if st.status != http.StatusOK || st.kind != "text/event-stream" {
		return nil, fmt.Errorf("not a stream: %d %s", st.status, st.kind)
	}
	return st.rest()
}

// until reads events until one reports at least so many tokens.
func (st *stream) until(tokens int) (usage, error) {
	for {
		e, err := st.next()
		if err != nil {
			return usage{}, err
		}
		if e.answer.Usage == nil {
			return usage{}, fmt.Errorf("no usage in %s", e.raw)
		}
		if e.answer.Usage.Completion >= tokens {
			return *e.answer.Usage, nil
		}
	}
}
