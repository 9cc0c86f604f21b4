package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

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
