package servers_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// wrong are requests that a server must refuse, alike with and without stream.
func (v *observed) wrong() []struct {
	name, about string
	set         fields
} {
	long := []fields{{"role": "user", "content": strings.Repeat("x ", 2*v.context)}}
	return []struct {
		name, about string
		set         fields
	}{
		{"model", "another model", fields{"model": "no-such-model"}},
		{"temperature", "a negative temperature", fields{"temperature": -1}},
		{"top_p", "top_p of 0", fields{"top_p": 0}},
		{"top_k", "top_k below -1", fields{"top_k": -5}},
		{"prompt", "a prompt longer than the context", fields{"messages": long}},
		{"max_tokens", "an answer longer than the context", fields{"max_tokens": v.context + 904}},
		{"max_tokens 0", "no answer", fields{"max_tokens": 0}},
		{"sum", "prompt and answer longer than the context", fields{"max_tokens": v.context - 1}},
		{"messages", "no message", fields{"messages": []fields{}}},
		{"no messages", "no messages field", fields{"messages": nil}},
		{"budget", "a negative budget of thinking", fields{"thinking_token_budget": -5}},
		{"budget type", "a budget of thinking that is no integer", fields{"thinking_token_budget": 1.5}},
		{"seed", "a seed that is no integer", fields{"seed": "x"}},
	}
}

// ofRefusals are of the errors for requests that are wrong.
func (v *observed) ofRefusals() (all []behaviour) {
	for _, w := range v.wrong() {
		all = append(all, behaviour{"refused/" + w.name, w.about, func(s *session) {
			got := s.post(chatPath, s.chat(w.set))
			if got.status < 400 || got.status > 499 {
				s.Fatalf("answers %d: %s", got.status, got.body)
			}
			s.saw("%s", refusal(got))
			if streamed := s.refusedStream(w.set); streamed != refusal(got) {
				s.saw("streamed: %s", streamed)
			}
		}})
	}
	return append(all,
		behaviour{"refused/stream_options", "stream_options without stream", func(s *session) {
			s.saw("%s", refusal(s.post(chatPath, s.chat(fields{"stream_options": withUsage}))))
		}},
		behaviour{"refused/content type", "a body that is not said to be JSON", func(s *session) {
			s.saw("%s", refusal(s.send(http.MethodPost, chatPath, s.chat(nil), "Content-Type", "text/plain")))
		}},
		behaviour{"refused/malformed", "a body that is no JSON", func(s *session) {
			s.saw("%s", refusal(s.post(chatPath, `{"model": "m",`)))
		}},
		behaviour{"refused/key", "no key, and a wrong one", func(s *session) {
			for _, path := range []string{"/v1/models", "/health", "/version", "/metrics", "/tokenize"} {
				for _, key := range []string{"", "Bearer wrong", s.key, "Bearer " + s.key} {
					got, denial := s.send(http.MethodGet, path, nil, "Authorization", key), ""
					if got.status == http.StatusUnauthorized { // other bodies do not matter here
						denial = got.kind + " " + string(got.body)
					}
					s.saw("%s with %q: %d %s", path, strings.ReplaceAll(key, s.key, "KEY"), got.status, denial)
				}
			}
		}})
}

// ofConnections are of connections that a server keeps, or gives up.
var ofConnections = []behaviour{
	{"connection/kept", "a connection serves several requests", func(s *session) {
		c := s.dial()
		for range 3 {
			status, err := c.knock()
			s.ok(err)
			s.saw("%s", status)
		}
	}},
	{"connection/after a refusal", "which refusals are the end of their connection, though they do not say so", func(s *session) {
		for _, w := range s.wrong() {
			c := s.dial()
			request := s.request(s.ctx, http.MethodPost, chatPath, s.chat(w.set))
			s.ok(request.Write(c))
			response, err := http.ReadResponse(c.lines, request)
			s.ok(err)
			_, err = io.Copy(io.Discard, response.Body)
			s.ok(err)
			next := "the connection goes on"
			if status, err := c.knock(); err != nil {
				next = "the connection is closed"
			} else if status != "HTTP/1.1 200 OK" {
				next = status
			}
			s.saw("%s: %d, says close: %t, %s", w.name, response.StatusCode, response.Close, next)
		}
	}},
	{"connection/idle", "the server closes a connection that is idle for too long", func(s *session) {
		c := s.dial()
		_, err := c.knock()
		s.ok(err)
		begin := time.Now()
		if _, err := c.lines.ReadByte(); !errors.Is(err, io.EOF) {
			s.Fatalf("an idle connection ends with %v, not with its end", err)
		}
		if idle := time.Since(begin); idle < s.keepAlive*9/10 || idle > s.keepAlive+5*time.Second {
			s.Fatalf("closed after %s, with a keep-alive of %s", idle, s.keepAlive)
		}
		s.saw("closed after the keep-alive")
	}},
}

// connection is one of our own to the server.
type connection struct {
	net.Conn
	lines *bufio.Reader
}

func (s *session) dial() connection {
	s.Helper()
	u, err := url.Parse(s.url)
	s.ok(err)
	c, err := net.Dial("tcp", u.Host)
	s.ok(err)
	s.ok(c.SetDeadline(time.Now().Add(patience)))
	s.Cleanup(func() { c.Close() })
	return connection{c, bufio.NewReader(c)}
}

// knock sends a small request and reads the answer's head, which has no body.
func (c connection) knock() (status string, err error) {
	if _, err := io.WriteString(c, "GET /health HTTP/1.1\r\nHost: server\r\n\r\n"); err != nil {
		return "", err
	}
	for {
		line, err := c.lines.ReadString('\n')
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
