package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
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
// where it is sent on to. In addition to the last answer (200, 206, 416, or a redirect to
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

// home reports whether an address is one of the endpoint's host.
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
		return nil, &transientError{err: err}
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

// AccessError says that a dataset is not open to this account, or to none.
type AccessError struct {
	Dataset string
	Status  int    // 401 or 403
	Page    string // where its terms are accepted
	Message string // of the service; "" if it gave none

	advice string
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("the service answers with %s: %s", answer(e.Status, e.Message), e.advice)
}

// denied is the error of an answer that asks for an account or for consent.
func (c *Client) denied(f File, response *http.Response) *AccessError {
	e := &AccessError{Dataset: f.Dataset, Status: response.StatusCode, Page: c.page(f.Dataset), Message: c.said(response)}
	switch {
	case c.options.Token == "":
		e.advice = fmt.Sprintf("log in, accept the terms of the dataset at %s, and put a token of that account (%s/settings/tokens) into HF_TOKEN", e.Page, c.endpoint)
	case e.Status == http.StatusUnauthorized:
		e.advice = fmt.Sprintf("it does not know the token in HF_TOKEN, or there is no such dataset: look at %s/settings/tokens and %s", c.endpoint, e.Page)
	default:
		e.advice = fmt.Sprintf("accept the terms of the dataset at %s, with the account that the token in HF_TOKEN belongs to; the token must be allowed to read gated datasets", e.Page)
	}
	return e
}

// refusal is the error of an answer that gives nothing; nil if it gives some.
func (c *Client) refusal(f File, response *http.Response, at *url.URL) error {
	status := response.StatusCode
	said := fmt.Errorf("%s answers with %s", at.Host, answer(status, c.said(response)))
	switch {
	case status == http.StatusOK, status == http.StatusPartialContent, status == http.StatusRequestedRangeNotSatisfiable:
		return nil
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, !c.home(at):
		// Another host refuses an address that has become too old, of which the
		// next attempt gets a new one.
		return &transientError{err: said, asked: c.retryAfter(response)}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return c.denied(f, response)
	case status == http.StatusNotFound:
		switch response.Header.Get("X-Error-Code") {
		case "EntryNotFound":
			return fmt.Errorf("%w: revision %s has no such file", said, f.Revision)
		case "RevisionNotFound":
			return fmt.Errorf("%w: the dataset has no revision %s", said, f.Revision)
		case "RepoNotFound":
			return fmt.Errorf("%w: there is no such dataset, or it is not open; look at %s", said, c.page(f.Dataset))
		}
		return fmt.Errorf("%w: is HF_ENDPOINT right (%s)?", said, c.endpoint)
	}
	return said
}

// longestMessage bounds what is kept of a service's words, in bytes.
const longestMessage = 300

// said is what the service said in the headers of a refusal; "" if nothing.
func (c *Client) said(response *http.Response) string {
	var said []string
	for _, name := range []string{"X-Error-Code", "X-Error-Message"} {
		text := strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, c.hide(response.Header.Get(name)))
		if text != "" {
			said = append(said, strings.ToValidUTF8(text[:min(len(text), longestMessage)], ""))
		}
	}
	return strings.Join(said, ": ")
}

// answer names a status, and what was said with it.
func answer(status int, said string) string {
	if said == "" {
		return strconv.Itoa(status)
	}
	return fmt.Sprintf("%d (%s)", status, said)
}

// retryAfter is how long an answer asks to wait, in seconds or until a time.
func (c *Client) retryAfter(response *http.Response) time.Duration {
	text := strings.TrimSpace(response.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(c.options.Clock.Now()))
	}
	return 0
}
