package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
)

// deaths is what a client sees when the engine dies behind the server.
func deaths() []Check {
	return []Check{{"death/engine", "requests in flight fail so that they can be told apart, then nobody answers", engineDeath}}
}

func engineDeath(ctx context.Context, s *session) (Observation, error) {
	if s.Kill == nil {
		return "", skip("the engine cannot be killed from here")
	}
	st, err := s.open(ctx, fields{"max_tokens": s.endless(), "stream_options": everyUsage})
	if err != nil {
		return "", err
	}
	defer st.close()
	type outcome struct {
		got reply
		err error
	}
	whole := make(chan outcome, 1)
	go func() {
		got, err := s.post(ctx, chatPath, s.chat(fields{"max_tokens": s.endless()}))
		whole <- outcome{got, err}
	}()
	if _, err := s.await(ctx, 2, 0); err != nil {
		return "", err
	}
	if _, err := st.until(1); err != nil {
		return "", err
	}
	if err := s.Kill(); err != nil {
		return "", err
	}
	var l lines
	o := <-whole
	if o.err != nil {
		return "", fmt.Errorf("the request in flight: %w", o.err)
	}
	l.add("in flight: %s", refusal(o.got))
	for _, e := range tail(st) {
		l.add("in a stream: %s", e)
	}
	err = s.refusing(ctx, &l)
	return l.seen(), err
}

// tail says what comes after the last token of a stream: events that are no
// chunk, and how the body ends.
func tail(st *stream) []string {
	var seen []string
	for {
		e, err := st.next()
		switch {
		case errors.Is(err, io.EOF):
			return append(seen, "end of the body")
		case err != nil:
			return append(seen, "cut")
		case e.done:
			seen = append(seen, e.raw)
		case e.answer.Error != nil:
			seen = append(seen, refusal(reply{status: http.StatusOK, kind: "event", body: []byte(e.raw)}))
		}
	}
}

// refusing waits until connections are refused.
func (s *session) refusing(ctx context.Context, l *lines) error {
	for {
		_, err := s.get(ctx, "/health")
		if errors.Is(err, syscall.ECONNREFUSED) {
			l.add("later: connection refused")
			return nil
		}
		if err := s.Clock.Sleep(ctx, 10*poll); err != nil {
			return fmt.Errorf("the server still listens: %w", err)
		}
	}
}
