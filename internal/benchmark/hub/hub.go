// Package hub downloads files of datasets at pinned revisions from Hugging Face, or
// from another service with the same addresses and headers. A downloaded file has the
// size and the digest that the service gives; bytes of a cut transfer are kept, and the
// next attempt or call requests the rest.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"speceval/internal/machine/clock"
)

// DefaultEndpoint is the address of Hugging Face.
const DefaultEndpoint = "https://huggingface.co"

// Options configure a client. The zero value downloads what is open to everyone.
type Options struct {
	Endpoint string            // "": DefaultEndpoint
	Token    string            // of an account, for gated datasets; sent to the endpoint's host only
	Clock    clock.Clock       // nil: clock.Wall
	Report   func(line string) // gets a line before each new attempt; may be nil
}

// Client downloads files from one service.
type Client struct {
	Options
	endpoint *url.URL
	network  http.RoundTripper
}

// New makes a client, and sends nothing. The error names HF_ENDPOINT or HF_TOKEN, the
// variables that hold the values.
func New(o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(cmp.Or(o.Endpoint, DefaultEndpoint), "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("HF_ENDPOINT: want an address like %s", DefaultEndpoint)
	}
	o.Token = strings.TrimSpace(o.Token)
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("HF_TOKEN: has characters that no token has; copy it again")
	}
	if o.Clock == nil {
		o.Clock = clock.Wall{}
	}
	network := http.DefaultTransport.(*http.Transport).Clone()
	network.DisableCompression = true // bytes are counted as they come
	network.DialContext = func(ctx context.Context, kind, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: quiet}).DialContext(ctx, kind, address)
		return patient{conn, o.Clock}, err
	}
	return &Client{Options: o, endpoint: u, network: network}, nil
}

// Limits of waiting.
const (
	quiet        = time.Minute      // the longest silence of a service
	longestWait  = time.Minute      // before an attempt: 1 s before the second, then twice as long each time
	longestAsked = 10 * time.Minute // before an attempt, if the service asks for it
	fruitless    = 6                // attempts in a row without a new byte
)

// patient is a connection whose reads fail after a silence.
type patient struct {
	net.Conn
	clock clock.Clock
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(p.clock.Now().Add(quiet)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// File is a file of a dataset.
type File struct {
	Dataset  string // "cais/mmlu"
	Revision string // a commit, 40 hexadecimal digits
	Name     string // with folders, by slashes: "college_physics/test-00000-of-00001.parquet"
}

// Fetched is a file that is there, whole and checked.
type Fetched struct {
	Bytes  int64
	SHA256 string // of its bytes, in hexadecimal
	Kept   bool   // it was there before
}

// Fetch downloads a file to path. A file there with the size and the digest that the
// service gives stays; another is replaced once the new one is whole and checked.
//
// progress gets the bytes that are there and those of the whole file. The error names
// the file's address, and the part that is kept.
func (c *Client) Fetch(ctx context.Context, f File, path string, progress func(done, total int64)) (Fetched, error) {
	d := download{Client: c, file: f, path: path, progress: progress}
	d.url = c.endpoint.JoinPath("datasets", f.Dataset, "resolve", f.Revision, (&url.URL{Path: f.Name}).EscapedPath()).String()
	for failed, wait := 0, time.Second; ; wait = min(2*wait, longestWait) {
		before := d.reached
		fetched, err := d.attempt(ctx)
		if err == nil {
			return fetched, nil
		}
		if d.reached > before {
			failed, wait = 0, time.Second
		}
		failed++
		var fault *transientError
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case !errors.As(err, &fault):
		case fault.after > longestAsked:
			err = fmt.Errorf("%w; it asks to come back in %v", err, fault.after)
		case failed == fruitless:
			err = fmt.Errorf("%d attempts in a row without a new byte: %w", failed, err)
		default:
			if c.Report != nil {
				c.Report(fmt.Sprintf("%s: %v; next attempt in %v", d.url, err, max(wait, fault.after)))
			}
			if c.Clock.Sleep(ctx, max(wait, fault.after)) == nil {
				continue
			}
		}
		if info, absent := os.Stat(d.part); absent == nil && info.Size() > 0 {
			err = fmt.Errorf("%w; %d bytes are kept in %s, run again to resume", err, info.Size(), d.part)
		}
		return Fetched{}, fmt.Errorf("download %s: %w", d.url, err)
	}
}

// transientError is a fault that the next attempt may not meet.
type transientError struct {
	error
	after time.Duration // that the service asks to wait
}
