// Package vllm is a client of one vLLM server: chat completions, streamed or
// not, and what the server says of itself. It holds what the paper's
// experiment needs of vLLM 0.23. Of another OpenAI-compatible server it asks
// only what all of them know: see Client.TreatAsPlain. A request is aborted by cancelling its context, which
// closes its connection; nothing is retried here but by Retry.
//
// It stands on net/http rather than on OpenAI's SDK for Go (v3.96.0), which was
// measured first. The SDK took 310-370 µs of CPU a request and 40-47 µs a chunk
// of a stream (256 streams of 40 tokens a second: over 40% of a core), where
// this client takes 60-80 µs, and 17-23% of a core for those streams (26% in one
// run of eight), most of it the system's. And the SDK hides failures: a stream
// without its end ends without an error, a count that is no number becomes 0,
// invalid UTF-8 passes, and the body of vLLM's 401 becomes a JSON error without
// a status.
package vllm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/clock"
	"speceval/internal/display"
)

// Options are what a client needs besides an address. The zero value is good
// for one request at a time to a server without a key.
type Options struct {
	Key         Key           // sent as bearer; "" sends none
	Clock       clock.Clock   // nil: clock.Wall
	Idle        time.Duration // longest silence of a stream, from the request on; 0: none
	Connections int           // idle connections kept; 0: 2
	Plain       bool          // the server may be none of vLLM: see TreatAsPlain

	// Dial opens connections; nil: over the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Limits on what a server may send to what is no request for tokens, so that a broken one
// cannot take all memory. Those of an answer follow from its request: see limits.
const (
	largestControl = 8 << 20   // bytes of a list of models, of metrics and the like
	largestRefusal = 256 << 10 // bytes of a body that says why not
)

// Times of connections. A server of vLLM closes a connection that was idle for
// five seconds; ours are given up before.
const (
	connectWithin = 10 * time.Second
	idleWithin    = 4 * time.Second
	controlWithin = 20 * time.Second // for a question that needs no engine
)

// Client talks to one server. Its methods may be called concurrently.
type Client struct {
	root      string // without /v1
	api       string // the address of chat/completions and models, without these
	options   Options
	hider     *hider // of the key, in all that the server sends
	transport *http.Transport
	buffers   sync.Pool // of *bytes.Buffer, for whole answers
	streams   sync.Pool // of *events
	manner    atomic.Pointer[manner]
	tags      sync.Map // of marks, by model

	born  time.Time
	heard atomic.Int64 // when the server last told a piece of any stream, in nanoseconds after born
}

// versioned tells a base path that has the version of the API in it already.
var versioned = regexp.MustCompile(`/v[0-9][0-9a-z]*(/|$)`)

// New makes a client of the server at baseURL, like http://127.0.0.1:8000 or
// https://host/openai/v1. A path without a version gets /v1 at its end. Nothing
// is sent. It is an error if that is no such address.
func New(baseURL string, o Options) (*Client, error) {
	if err := CheckAddress(baseURL); err != nil {
		return nil, err
	}
	if err := o.Key.Check(); err != nil {
		return nil, fmt.Errorf("server %s: %w", baseURL, err)
	}
	if o.Clock == nil {
		o.Clock = clock.Wall{}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: connectWithin, KeepAlive: 15 * time.Second}).DialContext
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true) // a connection for each request, so that closing one aborts one
	api := strings.TrimRight(baseURL, "/")
	if u, err := url.Parse(baseURL); err == nil && !versioned.MatchString(u.Path) {
		api += "/v1"
	}
	c := &Client{
		root:    strings.TrimSuffix(api, "/v1"),
		api:     api,
		options: o,
		hider:   o.Key.hider(),
		born:    o.Clock.Now(),
		transport: &http.Transport{
			DialContext:            o.Dial,
			Protocols:              &protocols,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    o.Connections,
			IdleConnTimeout:        idleWithin,
			MaxResponseHeaderBytes: 1 << 20,
		},
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
		streams: sync.Pool{New: func() any { return newEvents(nil, 8<<10) }},
	}
	c.manner.Store(&manner{plain: o.Plain, idle: o.Idle})
	return c, nil
}

// CheckAddress says what is wrong with the address of a server, and tells nothing of it that
// may be secret; nil if nothing is.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return nil
	}
	if display.HasCredentials(address) {
		return fmt.Errorf("server address %s has a user or a password in it: leave them out; a key is taken from the environment variable that key_env names", display.Address(address))
	}
	return fmt.Errorf("server address %s: want one like http://127.0.0.1:8000", display.Address(address))
}

// URL is the address of the server, without /v1.
func (c *Client) URL() string { return c.root }

// Close closes the connections that are idle now. The client stays usable.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Complete asks for a completion in one piece. With an error, the Completion holds
// times only: the server sends nothing before it has finished. The rest of
// an answer always comes in pieces: see Stream.
func (c *Client) Complete(ctx context.Context, r Request) (Completion, error) {
	if r.Prefix != nil {
		return c.Stream(ctx, r, nil)
	}
	completion := c.blank()
	err := c.whole(ctx, r, &completion)
	completion.Finished = c.options.Clock.Now()
	return completion, err
}

// blank is the completion of a request that is about to be sent.
func (c *Client) blank() Completion {
	completion := Completion{Sent: c.options.Clock.Now(), Usage: Usage{Reasoning: -1}}
	if c.Plain() {
		completion.Usage = untold
	}
	return completion
}

// post sends a request for a completion, and again without what a plain server
// turns out to refuse. It tells what the answer may hold.
func (c *Client) post(ctx context.Context, r *Request, stream bool) (*http.Response, *limits, error) {
	for {
		m := c.manner.Load()
		body, err := r.body(stream, *m)
		if err != nil {
			return nil, nil, &Error{Kind: Rejected, URL: c.root, Message: "not sent", Unsent: true, Err: err}
		}
		path := "/chat/completions"
		if r.Prefix != nil {
			path = "/completions"
		}
		response, err := c.send(ctx, http.MethodPost, c.api+path, r.ID, body)
		if err == nil {
			most := r.limits(len(body), m.plain)
			return response, &most, nil
		}
		after, ok := m.learn(err)
		if !ok {
			return nil, nil, err
		}
		c.manner.CompareAndSwap(m, &after)
	}
}

func (c *Client) whole(ctx context.Context, r Request, into *Completion) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := c.watch(&r, into.Sent)
	if watch.longest > 0 {
		watch.whole()
		go watch.run(ctx, cancel, c.root)
	}
	response, most, err := c.post(ctx, &r, false)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	into.Software = software(response)
	buffer := c.buffers.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() < 1<<20 {
			buffer.Reset()
			c.buffers.Put(buffer)
		}
	}()
	if err := c.read(ctx, response, buffer, most.whole); err != nil {
		return err
	}
	plain := c.Plain()
	err = decodeAnswer(c.hider.answer(buffer.Bytes()), plain, most, into)
	if err == nil {
		err = r.answeredBy(into.Model, plain)
	}
	return c.blame(err)
}

// software is what a server calls itself, as far as that is a name.
func software(response *http.Response) string {
	name := response.Header.Get("Server")
	return name[:min(len(name), longestName)]
}

// send sends one request and returns the response if its status is 200. Its
// body must be closed, which closes the connection unless all was read.
func (c *Client) send(ctx context.Context, method, address, id string, body []byte) (*http.Response, error) {
	var sent atomic.Bool // on any connection, for the first may turn out to be closed
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(sent.Load() || w.Err == nil) },
	})
	request, err := http.NewRequestWithContext(traced, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Kind: Rejected, URL: c.root, Message: "not sent", Unsent: true, Err: err}
	}
	// An empty key says to the transport, and to no one else, that the request
	// may be sent again when a kept connection turns out to be closed before a
	// byte of an answer came.
	request.Header["Idempotency-Key"] = nil
	if len(body) > 0 {
		request.Header["Content-Type"] = []string{"application/json"}
	}
	if c.options.Key != "" {
		request.Header["Authorization"] = []string{"Bearer " + string(c.options.Key)}
	}
	if id != "" {
		request.Header["X-Request-Id"] = []string{id}
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, c.ended(ctx)
		}
		return nil, &Error{Kind: Unreachable, URL: c.root, Message: "no answer", Unsent: !sent.Load(), Err: c.hider.cause(err)}
	}
	if c.hider != nil {
		c.hider.header(response.Header, response.StatusCode != http.StatusOK)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	var buffer bytes.Buffer
	if err := c.read(ctx, response, &buffer, largestRefusal); err != nil && ctx.Err() != nil {
		return nil, err
	}
	e := refusal(c.root, response.StatusCode, response.Header.Get("Location"), []byte(c.hider.refusal(buffer.String())))
	e.Later = later(response.Header, c.options.Clock.Now())
	return nil, c.blame(e) // whose words may be escaped twice
}

// read reads a whole body of at most limit bytes.
func (c *Client) read(ctx context.Context, response *http.Response, buffer *bytes.Buffer, limit int64) error {
	if n := response.ContentLength; n > 0 {
		buffer.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	n, err := buffer.ReadFrom(io.LimitReader(response.Body, limit+1))
	switch {
	case n > limit:
		return &Error{Kind: Garbage, URL: c.root, Message: fmt.Sprintf("an answer of more than %d bytes", limit)}
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return c.ended(ctx)
	}
	return &Error{Kind: Cut, URL: c.root, Message: fmt.Sprintf("the connection broke after %d bytes", n), Err: err}
}

// ended is the error of a request whose context is done: the context's, or the
// *Error for which this package ended it.
func (c *Client) ended(ctx context.Context) error {
	var own *Error
	if errors.As(context.Cause(ctx), &own) && own.Kind == Idle {
		return own
	}
	return fmt.Errorf("%s: request given up: %w", c.root, ctx.Err())
}

// blame names the server in an error that its bytes caused, and hides the key in its words.
func (c *Client) blame(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		e.URL = c.root
		e.Message, e.Type, e.Param = c.hider.refusal(e.Message), c.hider.refusal(e.Type), c.hider.refusal(e.Param)
	}
	return err
}
