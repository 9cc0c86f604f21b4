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
	"sync"
	"syscall"
	"time"
)

// deaths is what a client sees when the engine dies behind the server.
func deaths() []Check {
	return []Check{{"death/engine", "requests in flight fail with an error of their own, then connections are refused", engineDeath}}
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

// crowds are many requests at once.
func crowds() []Check {
	return []Check{
		{"crowd/together", "a full batch is answered whole", together},
		{"crowd/seeds", "how many seeds hold in a batch", seedsTogether},
		{"crowd/queue", "what is too much waits, and is served in order", queue},
	}
}

// all asks for several answers at once.
func (s *session) all(ctx context.Context, n int, set func(i int) fields) ([]answer, error) {
	got := make([]answer, n)
	faults := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { got[i], _, faults[i] = s.ask(ctx, set(i)) })
	}
	group.Wait()
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

func together(ctx context.Context, s *session) (Observation, error) {
	before, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	got, err := s.all(ctx, s.Sequences, func(i int) fields { return fields{"seed": i, "max_tokens": 64} })
	if err != nil {
		return "", err
	}
	for _, a := range got {
		if a.Usage.Completion != 64 {
			return "", fmt.Errorf("%d tokens instead of 64", a.Usage.Completion)
		}
	}
	after, err := s.await(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	n := float64(s.Sequences)
	var l lines
	l.add("as many answers as sequences, of 64 tokens each")
	l.add("generation_tokens_total grew by their tokens: %t", after[generatedName]-before[generatedName] == 64*n)
	l.add("request_success_total grew by their number: %t", after[successName]-before[successName] == n)
	return l.seen(), nil
}

// Batches change rounding, and a near tie may then fall to another token: texts of a
// batch may differ from those asked for alone. How many do depends on the processor, so
// that their number is shown and not judged.
func seedsTogether(ctx context.Context, s *session) (Observation, error) {
	const n = 16
	set := func(i int) fields { return fields{"seed": 100 + i, "max_tokens": 32} }
	batch, err := s.all(ctx, n, set)
	if err != nil {
		return "", err
	}
	same := 0
	for i := range batch {
		alone, _, err := s.ask(ctx, set(i))
		if err != nil {
			return "", err
		}
		if alone.text() == batch[i].text() {
			same++
		}
	}
	return Observation(fmt.Sprintf("%d of %d texts of a batch are those asked for alone", same, n)), nil
}

// queue fills the server and lets three wait; then it aborts the first.
func queue(ctx context.Context, s *session) (Observation, error) {
	const extra = 3
	crowded, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make([]chan *stream, s.Sequences+extra)
	failed := make(chan error, len(opened))
	for i := range opened {
		opened[i] = make(chan *stream, 1)
		go func() {
			st, err := s.open(crowded, fields{"seed": i, "max_tokens": s.endless(), "stream_options": everyUsage})
			if err != nil {
				failed <- err
				return
			}
			opened[i] <- st
		}()
		// One after another, so that the order is known.
		if _, err := s.await(ctx, min(i+1, s.Sequences), max(0, i+1-s.Sequences)); err != nil {
			return "", err
		}
	}
	var l lines
	l.add("running at the limit, %d waiting", extra)
	first, err := received(ctx, opened[0], failed)
	if err != nil {
		return "", err
	}
	first.close()
	if _, err := s.await(ctx, s.Sequences, extra-1); err != nil {
		return "", err
	}
	next, err := received(ctx, opened[s.Sequences], failed)
	if err != nil {
		return "", err
	}
	if _, err := next.until(1); err != nil {
		return "", err
	}
	l.add("one aborted: the first that waited runs, %d waiting", extra-1)
	cancel()
	if _, err := s.await(ctx, 0, 0); err != nil {
		return "", err
	}
	l.add("all aborted: none running, none waiting")
	return l.seen(), nil
}

func received(ctx context.Context, opened chan *stream, failed chan error) (*stream, error) {
	select {
	case st := <-opened:
		return st, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
