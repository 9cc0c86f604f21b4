package servers_test

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

// ofStreams are of completions that come in chunks.
var ofStreams = []behaviour{
	{"stream/form", "chunks begin, go on and end as our client expects", (*session).streamForm},
	{"stream/usage", "the last chunk counts the tokens", func(s *session) {
		events := s.chunks(fields{"stream_options": withUsage})
		last := events[len(events)-1]
		s.saw("last: %s", formOf(last.raw))
		if u := last.Usage; u == nil || u.Completion != 12 || u.Total != u.Prompt+12 {
			s.Fatalf("usage of 12 tokens: %s", last.raw)
		}
		for _, e := range events[:len(events)-1] {
			if e.Usage != nil {
				s.Fatalf("usage was not asked for in %s", e.raw)
			}
		}
	}},
	{"stream/continuous usage", "every chunk says how many tokens there are", (*session).continuousUsage},
	{"stream/ids", "ids of tokens come with the chunks", func(s *session) {
		events := s.chunks(fields{"stream_options": withUsage, "return_token_ids": true})
		ids := 0
		for _, e := range events {
			for _, c := range e.Choices {
				ids += len(c.Tokens)
			}
		}
		prompt, u := len(events[0].Prompt), events[len(events)-1].Usage
		if u == nil || prompt != u.Prompt || ids != u.Completion {
			s.Fatalf("%d ids of the prompt in the first chunk and %d of the answer in all, usage %+v", prompt, ids, u)
		}
		s.saw("the prompt's in the first chunk, the answer's in all")
	}},
	{"stream/text", "the chunks make up the text that is sent whole", func(s *session) {
		a, events := s.ask(nil), s.chunks(nil)
		reasoning, content, finish := "", "", ""
		for _, e := range events {
			for _, c := range e.Choices {
				reasoning += valueOf(c.Delta.Reasoning)
				content += valueOf(c.Delta.Content)
				finish += c.Finish
			}
		}
		if got := reasoning + "|" + content; got != a.text() || finish != a.Choices[0].Finish {
			s.Fatalf("whole %q (%s), in chunks %q (%s)", a.text(), a.Choices[0].Finish, got, finish)
		}
		s.saw("the same, and the same finish_reason")
	}},
}

// Stream options: the last chunk counts, or all do.
var (
	withUsage  = fields{"include_usage": true}
	everyUsage = fields{"include_usage": true, "continuous_usage_stats": true}
)

func (s *session) streamForm() {
	set := fields{"max_tokens": 40}
	if s.thinking {
		set["thinking_token_budget"] = 8
	}
	events := s.chunks(set)
	reasoning, content := false, false
	var between []string
	for _, e := range events[1:] {
		if e.ID != events[0].ID || len(e.Choices) != 1 {
			s.Fatalf("another id than %s, or no choice: %s", events[0].ID, e.raw)
		}
		d := e.Choices[0].Delta
		reasoning = reasoning || valueOf(d.Reasoning) != ""
		content = content || valueOf(d.Content) != ""
		between = append(between, deltaForm.ReplaceAllString(formOf(e.raw), "delta: {…}"))
	}
	s.saw("first: %s", formOf(events[0].raw))
	last := between[len(between)-1]
	between = between[:len(between)-1]
	slices.Sort(between)
	for _, form := range slices.Compact(between) {
		s.saw("then: %s", form)
	}
	s.saw("last: %s", last)
	s.saw("deltas bring reasoning: %t, content: %t", reasoning, content)
}

func (s *session) continuousUsage() {
	events := s.chunks(fields{"stream_options": everyUsage, "max_tokens": 40})
	before := 0
	for i, e := range events {
		u := e.Usage
		if u == nil {
			s.Fatalf("no usage in %s", e.raw)
		}
		if u.Completion < before || i == 0 && u.Completion != 0 || u.Total != u.Prompt+u.Completion {
			s.Fatalf("after %d tokens: %s", before, e.raw)
		}
		before = u.Completion
	}
	s.saw("first: %s", formOf(events[0].raw))
	s.saw("from 0 up to %d, in every chunk; choices in the last: %d", before, len(events[len(events)-1].Choices))
	events = s.chunks(fields{"stream_options": fields{"continuous_usage_stats": true}})
	any := slices.ContainsFunc(events, func(e event) bool { return e.Usage != nil })
	s.saw("without include_usage there is any: %t", any)
}

// event is one chunk, or the word after the last.
type event struct {
	completion
	raw  []byte
	done bool // [DONE]
}

// stream is an answer that comes in events.
type stream struct {
	*http.Response
	lines *bufio.Reader
	close context.CancelFunc // where the stream is, and its connection unless it was read to its end
}

// open sends a request with stream set, and returns when the headers are there; goroutines
// use it.
func (s *session) open(ctx context.Context, path string, body fields) (*stream, error) {
	body["stream"] = true
	ctx, cancel := context.WithCancel(ctx)
	s.Cleanup(cancel)
	response, err := oneEach.Do(s.request(ctx, http.MethodPost, path, body))
	if err != nil {
		return nil, err
	}
	return &stream{response, bufio.NewReader(response.Body), cancel}, nil
}

// next reads an event; io.EOF says that there are no more.
func (st *stream) next() (e event, err error) {
	line := ""
	for line == "" && err == nil {
		line, err = st.lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
	}
	if err != nil {
		return e, err
	}
	data, ok := strings.CutPrefix(line, "data: ")
	if !ok {
		return e, fmt.Errorf("a line of the stream is no data: %q", line)
	}
	e.raw, e.done = []byte(data), data == "[DONE]"
	if !e.done {
		err = json.Unmarshal(e.raw, &e.completion)
	}
	return e, err
}

// until reads events until one reports a number of tokens, or more.
func (s *session) until(st *stream, tokens int) usage {
	s.Helper()
	for {
		e, err := st.next()
		s.ok(err)
		if e.Usage == nil {
			s.Fatalf("no usage in %s", e.raw)
		}
		if e.Usage.Completion >= tokens {
			return *e.Usage
		}
	}
}

// events opens a stream, which must be one, and reads it to its end.
func (s *session) events(path string, body fields) (all []event) {
	s.Helper()
	st, err := s.open(s.ctx, path, body)
	s.ok(err)
	defer st.Body.Close()
	if kind := contentType(st.Response); st.StatusCode != http.StatusOK || kind != "text/event-stream" {
		s.Fatalf("not a stream: %d %s", st.StatusCode, kind)
	}
	for {
		e, err := st.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		s.ok(err)
		all = append(all, e)
	}
}

// whole is a stream less the [DONE] at its end.
func (s *session) whole(path string, body fields) []event {
	s.Helper()
	all := s.events(path, body)
	if len(all) < 3 || slices.IndexFunc(all, func(e event) bool { return e.done }) != len(all)-1 {
		s.Fatalf("a stream of %d events without [DONE] at its end alone", len(all))
	}
	return all[:len(all)-1]
}

func (s *session) chunks(set fields) []event {
	s.Helper()
	return s.whole(chatPath, s.chat(set))
}

// refusedStream is a request with stream set that is refused, in one line.
func (s *session) refusedStream(set fields) string {
	s.Helper()
	body := s.chat(set)
	body["stream"] = true
	got := s.post(chatPath, body)
	if got.status != http.StatusOK {
		return refusal(got)
	}
	text := "200 text/event-stream"
	for _, e := range s.events(chatPath, body) {
		if e.done {
			text += ", [DONE]"
			continue
		}
		text += ", " + refusal(reply{got.status, "event", e.raw})
	}
	return text
}
