package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// mostRedirects are followed for one request.
const mostRedirects = 10

// errSilent ends a request of which nothing is heard.
var errSilent = errors.New("silence")

// describe asks what a file is.
func (d *download) describe(ctx context.Context) (content, error) {
	ctx, _, stop := d.listen(ctx)
	defer stop()
	response, said, err := d.ask(ctx, http.MethodHead, d.file, 0)
	if err != nil {
		return content{}, err
	}
	response.Body.Close()
	if err := said.revised(d.file.Revision); err != nil {
		return content{}, err
	}
	if said.Size < 0 {
		return content{}, fmt.Errorf("%s does not say how large it is: is HF_ENDPOINT right?", d.endpoint)
	}
	return said, nil
}

// ask sends a request for the bytes of a file after the first from, and follows
// where it is sent on to. Beside the last answer (200, 206, 416, or a redirect to
// another host for HEAD) it gives what the endpoint said about the file; another
// host is not asked. Every other answer is an error.
func (c *Client) ask(ctx context.Context, method string, f File, from int64) (*http.Response, content, error) {
	at := c.address(f)
	said := sayings{content: content{Size: -1}}
	for range mostRedirects + 1 {
		response, err := c.send(ctx, method, at, from)
		if err != nil {
			return nil, content{}, err
		}
		next, err := redirect(at, response)
		home := c.home(at)
		if home && err == nil {
			err = said.learn(response)
		}
		if err == nil && next == nil {
			err = c.refusal(f, response, at)
		}
		if err == nil && (next == nil || method == http.MethodHead && !c.home(next)) {
			return response, said.content, nil
		}
		io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // an error costs a connection, no more
		response.Body.Close()
		if err != nil {
			return nil, content{}, err
		}
		at = next
	}
	return nil, content{}, fmt.Errorf("more than %d redirects, the last to %s", mostRedirects, at.Host)
}

// address is where a file of a dataset is asked for.
func (c *Client) address(f File) *url.URL {
	return c.endpoint.JoinPath("datasets", f.Dataset, "resolve", f.Revision, (&url.URL{Path: f.Name}).EscapedPath())
}

// home tells whether an address is one of the endpoint's host.
func (c *Client) home(u *url.URL) bool {
	return u.Scheme == c.endpoint.Scheme && strings.EqualFold(u.Hostname(), c.endpoint.Hostname()) && port(u) == port(c.endpoint)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// send sends one request. The token goes to the endpoint's host only.
func (c *Client) send(ctx context.Context, method string, at *url.URL, from int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: not an address", at.Host)
	}
	request.Header.Set("User-Agent", "speceval")
	request.Header.Set("Accept-Encoding", "identity")
	if from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	if c.options.Token != "" && c.home(at) {
		request.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	response, err := c.options.Transport.RoundTrip(request)
	if err != nil {
		err = fmt.Errorf("no answer from %s: %w", at.Host, c.broken(ctx, err))
		if stranger := (*tls.CertificateVerificationError)(nil); errors.As(err, &stranger) {
			return nil, err
		}
		return nil, &passing{err: err}
	}
	return response, nil
}

// redirect is where an answer sends its reader; nil: nowhere.
func redirect(at *url.URL, response *http.Response) (*url.URL, error) {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	next, err := at.Parse(response.Header.Get("Location"))
	switch {
	case err != nil || response.Header.Get("Location") == "":
		return nil, fmt.Errorf("%s sends on to nowhere", at.Host)
	case next.Scheme != "https" && (next.Scheme != "http" || at.Scheme == "https") || next.Host == "":
		return nil, fmt.Errorf("%s sends on to an address of %q: that is not followed", at.Host, next.Scheme)
	}
	next.User = nil
	return next, nil
}

// listen ends a context when nothing was heard for too long, at most twice as
// late.
func (c *Client) listen(ctx context.Context) (listening context.Context, heard, stop func()) {
	listening, cancel := context.WithCancelCause(ctx)
	var count atomic.Int64
	go func() {
		before := int64(0)
		for c.options.Clock.Sleep(listening, c.options.Quiet) == nil {
			now := count.Load()
			if now == before {
				cancel(errSilent)
				return
			}
			before = now
		}
	}()
	return listening, func() { count.Add(1) }, func() { cancel(nil) }
}

// broken is the reason why a request ended early.
func (c *Client) broken(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return fmt.Errorf("nothing came for %v", c.options.Quiet.Round(time.Millisecond))
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}
