// Package vllm is a client of one vLLM server, as of 0.23: chat completions, streamed or not,
// and what the server says of itself. Of another OpenAI-compatible server it asks only what all
// of them know: see Client.TreatAsPlain. A request is aborted by cancelling its context.
//
// It stands on net/http and structs of json/v2. OpenAI's SDK for Go (v3.98.0), tried on 88
// dialects of servers, took six times the CPU of a chunk, and was wrong in silence in 11: a
// stream without its end ends without an error, parts of a text are their JSON.
package vllm

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
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
	"syscall"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/terminal/display"
)

// Options are the settings of a client besides its address. The zero value is good for one
// request at a time to a server without a key.
type Options struct {
	Key         Key           // sent as bearer; "" sends none
	KeyHint     string        // where the key is taken from, for the error of one that is refused
	Clock       clock.Clock   // nil: clock.Wall
	Idle        time.Duration // longest time without a token; 0: any
	Connections int           // idle connections kept; 0: 2
	Plain       bool          // the server may be none of vLLM: see Treat

	// Dial opens connections; nil: over the network, and the proxies of the environment.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	largestControl = 8 << 20   // bytes of a list of models, of metrics and the like; of an answer: see limits
	largestRefusal = 256 << 10 // bytes of a body that says why not
	connectWithin  = 10 * time.Second
	idleWithin     = 4 * time.Second // of a connection, which vLLM closes after five seconds
)

// Client talks to one server. Its methods may be called concurrently.
type Client struct {
	root, api string // the server's address, and the API's, before chat/completions and models
	options   Options
	transport *http.Transport
	manner    atomic.Pointer[manner]
	tags      sync.Map // of tags, by model

	born  time.Time
	heard atomic.Int64 // when the server last told a token of any stream, in nanoseconds after born
}

// versioned is a base path with the version of the API in it.
var versioned = regexp.MustCompile(`/v[0-9][0-9a-z]*(/|$)`)

// New makes a client of the server at a URL, like http://127.0.0.1:8000 or
// https://host/openai/v1. A path without a version gets /v1, and loses /chat/completions.
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
	t := &http.Transport{
		DialContext: o.Dial, Protocols: new(http.Protocols),
		DisableCompression:  true, // is not asked for, and read all the same: see unpacked
		MaxIdleConnsPerHost: o.Connections, IdleConnTimeout: idleWithin, MaxResponseHeaderBytes: 1 << 20,
	}
	t.Protocols.SetHTTP1(true) // a connection for each request, so that closing one aborts one
	if o.Dial == nil {
		t.DialContext, t.Proxy = (&net.Dialer{Timeout: connectWithin, KeepAlive: 15 * time.Second}).DialContext, http.ProxyFromEnvironment
	}
	api := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(baseURL, "/"), "/chat/completions"), "/")
	if u, err := url.Parse(api); err == nil && !versioned.MatchString(u.Path) {
		api += "/v1"
	}
	c := &Client{root: strings.TrimSuffix(api, "/v1"), api: api, options: o, born: o.Clock.Now(), transport: t}
	c.manner.Store(&manner{plain: o.Plain})
	return c, nil
}

// CheckAddress says what is wrong with the address of a server, without its secrets.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "":
		return nil
	case display.HasCredentials(address):
		return fmt.Errorf("server address %s has a user or a password in it: leave them out; a key is taken from the environment variable that key_env names", display.Address(address))
	}
	return fmt.Errorf("server address %s: want one like http://127.0.0.1:8000", display.Address(address))
}

// URL is the address of the server, without /v1.
func (c *Client) URL() string { return c.root }

// Close closes the connections that are idle now. The client stays usable.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// post sends a request for a completion, and again without what the server turns out to
// refuse. It tells what the answer may hold.
func (c *Client) post(ctx context.Context, r *Request, stream bool) (*http.Response, limits, error) {
	address := c.api + "/chat/completions"
	if r.Prefix != nil {
		address = c.api + "/completions"
	}
	for {
		m := c.manner.Load()
		body, err := r.body(stream, *m)
		if err != nil {
			return nil, limits{}, c.unsent(err)
		}
		response, err := c.send(ctx, http.MethodPost, address, r.ID, body)
		after, learnt := m.learn(r, err)
		if !learnt {
			return response, r.limits(len(body), *m), err
		}
		c.manner.CompareAndSwap(m, &after)
	}
}

func (c *Client) unsent(err error) error {
	return &Error{Kind: Rejected, URL: c.root, Message: "not sent", Unsent: true, Err: err}
}

// send sends one request and returns the response if its status is 200. Its
// body must be closed, which closes the connection unless all was read.
func (c *Client) send(ctx context.Context, method, address, id string, body []byte) (*http.Response, error) {
	var sent atomic.Bool // on any connection, for the first may turn out to be closed
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(sent.Load() || w.Err == nil) },
	}), method, address, bytes.NewReader(body))
	if err != nil {
		return nil, c.unsent(err)
	}
	// An empty key says to the transport, and to no one else, that the request may be sent again
	// when a kept connection turns out to be closed before a byte of an answer came.
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
		return nil, c.blame(ctx, &Error{Kind: Unreachable, Message: c.unanswered(request, err), Unsent: !sent.Load(), Err: err})
	}
	if err = unpacked(response); err == nil && response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	if err != nil {
		return nil, c.blame(ctx, err)
	}
	said, _ := c.read(ctx, response, largestRefusal)
	e := failure(response.StatusCode, c.options.Key.hide(said))
	if location := response.Header.Get("Location"); location != "" {
		e.Message = "the server says it is at " + clip(location) + ": use that address"
	}
	e.Later = later(response.Header, c.options.Clock.Now())
	return nil, c.blame(ctx, e) // whose words may be escaped twice
}

// unanswered says why there is no answer, where the system's error does not show it.
func (c *Client) unanswered(request *http.Request, err error) string {
	var op *net.OpError
	for rest := err; errors.As(rest, &op) && op.Addr == nil; { // "proxyconnect" around it
		rest = op.Err
	}
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "its certificate is of an authority that this machine does not know: name the file of that in SSL_CERT_FILE"
	case !errors.Is(err, syscall.ECONNREFUSED) || op == nil || op.Addr == nil:
		return "no answer"
	}
	said := fmt.Sprintf("nothing listens on %s", op.Addr)
	if c.transport.Proxy != nil {
		if proxy, err := c.transport.Proxy(request); err == nil && proxy != nil {
			said += ", the proxy of the environment (http_proxy, https_proxy; no_proxy names hosts without one)"
		}
	}
	return said
}

// unpacked has the body of a response read as it was before a server packed it, as some do
// that are not asked to. What comes out is bounded like any body.
func unpacked(response *http.Response) error {
	encoding := strings.ToLower(response.Header.Get("Content-Encoding"))
	if encoding == "" || encoding == "identity" {
		return nil
	}
	if encoding != "gzip" && encoding != "x-gzip" {
		return garbage("packed as %q, which was not asked for", clip(encoding))
	}
	body := response.Body
	unpacker, err := gzip.NewReader(body)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{unpacker, body}
	} else if !errors.Is(err, io.EOF) { // of no body at all
		return &Error{Kind: Garbage, Message: "said to be gzip", Err: err}
	}
	return nil
}

// read reads a whole body of at most limit bytes.
func (c *Client) read(ctx context.Context, response *http.Response, limit int64) ([]byte, error) {
	said, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		err = &Error{Kind: Cut, Message: fmt.Sprintf("the connection broke after %d bytes", len(said)), Err: err}
	} else if int64(len(said)) > limit {
		said, err = said[:limit], garbage("an answer of more than %d bytes", limit)
	}
	return said, c.blame(ctx, err)
}

// within ends a request, with an Error of kind Idle, when no time is left for it.
func (c *Client) within(ctx context.Context, left func() (time.Duration, string)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for wait, why := left(); ; wait, why = left() {
			if wait <= 0 {
				cancel(&Error{Kind: Idle, URL: c.root, Message: why})
				return
			}
			if c.options.Clock.Sleep(ctx, wait) != nil {
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// blame is the error of a request: with the server in it, and without the key. One whose
// context is done has the context's error, or the *Error for which this package ended it.
func (c *Client) blame(ctx context.Context, err error) error {
	var e *Error
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &e) && e.Kind == Idle:
		return e
	case ctx.Err() != nil:
		return fmt.Errorf("%s: request given up: %w", c.root, ctx.Err())
	case errors.As(err, &e):
		e.URL, e.Hint = c.root, c.options.KeyHint
		for _, words := range []*string{&e.Message, &e.Type, &e.Param} {
			*words = string(c.options.Key.hide([]byte(*words)))
		}
		if e.Err != nil && len(c.options.Key) >= shortKey && strings.Contains(e.Err.Error(), string(c.options.Key)) {
			e.Err = errors.New(string(c.options.Key.hide([]byte(e.Err.Error())))) // without its own cause
		}
	}
	return err
}
