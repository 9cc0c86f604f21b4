package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// aborts are requests that the client gives up, and connections that the server
// does.
func aborts() []Check {
	return []Check{
		{"abort/stream", "closing a stream's connection ends the work, and no token is lost count of", abortStream},
		{"abort/whole", "so does giving up an answer that is not streamed", abortWhole},
		{"connection/kept", "a connection serves several requests", keptAlive},
		{"connection/after a refusal", "which refusals are the end of their connection, though they do not say so", afterRefusal},
		{"connection/idle", "the server closes a connection that is idle for too long", idleClosed},
	}
}

// endless is an answer that nothing ends while a check goes on: all of the
// context less what prompts here take.
func (s *session) endless() int { return s.Context - 200 }

// surplus is how many tokens a server may have made at most when the client's
// close reaches it on a busy machine, beyond those that the client has seen.
func (s *session) surplus() int { return s.endless() / 2 }

func abortStream(ctx context.Context, s *session) (Observation, error) {
	before, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	st, err := s.open(ctx, fields{"max_tokens": s.endless(), "stream_options": everyUsage})
	if err != nil {
		return "", err
	}
	last, err := st.until(40)
	st.close()
	if err != nil {
		return "", err
	}
	after, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	made := int(after[generatedName] - before[generatedName])
	if made < last.Completion || made > last.Completion+s.surplus() {
		return "", fmt.Errorf("%d tokens seen, %d counted by the server", last.Completion, made)
	}
	var l lines
	l.add("running again 0; generation_tokens_total grew by what was seen, or a little more")
	l.add("prompt_tokens_total grew by the prompt: %t", after[promptName]-before[promptName] == float64(last.Prompt))
	l.add("request_success_total grew by %d", int(after[successName]-before[successName]))
	return l.seen(), nil
}

func abortWhole(ctx context.Context, s *session) (Observation, error) {
	before, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, _, err := s.ask(asking, fields{"max_tokens": s.endless()})
		failed <- err
	}()
	if _, err := s.await(ctx, 1, 0); err != nil {
		return "", err
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		return "", fmt.Errorf("given up, the request ended with %v", err)
	}
	after, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	if made := int(after[generatedName] - before[generatedName]); made >= s.endless() {
		return "", fmt.Errorf("all %d tokens were made", made)
	}
	var l lines
	l.add("running again 0 before the answer's end; request_success_total grew by %d", int(after[successName]-before[successName]))
	return l.seen(), nil
}

// raw is a connection of our own to the server.
func (s *session) raw(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() }) // ends a read that would wait for ever
	return conn, bufio.NewReader(conn), nil
}

// knock sends a small request on a connection and reads the answer's head,
// which has no body.
func knock(conn net.Conn, r *bufio.Reader) (string, error) {
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: server\r\n\r\n"); err != nil {
		return "", err
	}
	status := ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return status, nil
		}
		if status == "" {
			status = line
		}
	}
}

func keptAlive(ctx context.Context, s *session) (Observation, error) {
	conn, r, err := s.raw(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var l lines
	for range 3 {
		status, err := knock(conn, r)
		if err != nil {
			return "", err
		}
		l.add("%s", status)
	}
	return l.seen(), nil
}

// afterRefusal sends each wrong request on a connection of its own, and then
// asks for the health on it.
func afterRefusal(ctx context.Context, s *session) (Observation, error) {
	var l lines
	for _, w := range wrong(s) {
		conn, r, err := s.raw(ctx)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		request, err := s.request(ctx, http.MethodPost, chatPath, s.chat(w.set))
		if err != nil {
			return "", err
		}
		if err := request.Write(conn); err != nil {
			return "", err
		}
		response, err := http.ReadResponse(r, request)
		if err != nil {
			return "", err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return "", err
		}
		next := "the connection goes on"
		if status, err := knock(conn, r); err != nil {
			next = "the connection is closed"
		} else if status != "HTTP/1.1 200 OK" {
			next = status
		}
		l.add("%s: %d, says close: %t, %s", w.name, response.StatusCode, response.Close, next)
	}
	return l.seen(), nil
}

func idleClosed(ctx context.Context, s *session) (Observation, error) {
	if s.KeepAlive <= 0 || s.KeepAlive > patience/2 {
		return "", skip("a keep-alive of %s is too long to wait for", s.KeepAlive)
	}
	conn, r, err := s.raw(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := knock(conn, r); err != nil {
		return "", err
	}
	begin := s.Clock.Now()
	_, err = r.ReadByte()
	if !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("an idle connection ends with %v, not with its end", err)
	}
	if idle := s.Clock.Now().Sub(begin); idle < s.KeepAlive*9/10 || idle > s.KeepAlive+5*time.Second {
		return "", fmt.Errorf("closed after %s, with a keep-alive of %s", idle, s.KeepAlive)
	}
	return "closed after the keep-alive", nil
}
