package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"speceval/internal/store/files"
)

// content describes a file in the words of the service: its size in bytes, and a digest, the
// SHA-256 of a large file or Git's SHA-1 of a small one, in hexadecimal.
type content struct {
	size   int64
	digest string
}

var digest = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// describe requests the size and the digest of a file. Of a large file, headers of the
// redirect to the store say them, which begin with X-Linked.
func (d *download) describe(ctx context.Context) (c content, err error) {
	response, err := d.send(ctx, http.MethodHead, 0)
	if err != nil {
		return c, err
	}
	response.Body.Close()
	header := response.Header
	c.digest = strings.Trim(strings.TrimPrefix(cmp.Or(header.Get("X-Linked-Etag"), header.Get("ETag")), "W/"), `"`)
	if c.size, err = strconv.ParseInt(header.Get("X-Linked-Size"), 10, 64); err != nil {
		c.size, err = response.ContentLength, nil
	}
	switch commit := header.Get("X-Repo-Commit"); {
	case commit != d.file.Revision:
		err = fmt.Errorf("the service answers with revision %.50q, want %s: is HF_ENDPOINT right?", commit, d.file.Revision)
	case c.size < 0 || !digest.MatchString(c.digest):
		err = errors.New("the service gives no size, or no SHA-256 or Git hash to check a download by: is HF_ENDPOINT right?")
	case c.size > files.Upstream.MaxBytes:
		err = fmt.Errorf("it has %d bytes, at most %d are downloaded", c.size, files.Upstream.MaxBytes)
	}
	return c, err
}

// send requests the bytes of a file from one on, and follows redirects: a GET to any
// host, a HEAD on the endpoint's host, since the store of large files signs its
// addresses for GET. The token goes to no other host. An answer without the file is an
// error, with the way out.
func (d *download) send(ctx context.Context, method string, from int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "speceval")
	if from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	if d.Token != "" {
		request.Header.Set("Authorization", "Bearer "+d.Token)
	}
	client := http.Client{Transport: d.network, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch {
		case len(via) > 10 || next.URL.Scheme != "https" && d.endpoint.Scheme == "https":
			return fmt.Errorf("redirect %d, to an address of %q, is not followed", len(via), next.URL.Scheme)
		case d.home(next.URL):
			return nil
		case method == http.MethodHead:
			return http.ErrUseLastResponse
		}
		next.URL.User = nil
		next.Header.Del("Authorization")
		return nil
	}}
	response, err := client.Do(request)
	if err != nil { // without the address, which may be signed
		return nil, &transientError{error: fmt.Errorf("no answer: %w", cmp.Or(errors.Unwrap(err), err))}
	}
	if err := d.refusal(response); err != nil {
		response.Body.Close()
		return nil, err
	}
	return response, nil
}

// home reports whether an address is on the endpoint's host and port.
func (c *Client) home(u *url.URL) bool {
	return u.Scheme == c.endpoint.Scheme && strings.EqualFold(u.Host, c.endpoint.Host)
}

// refusal is the error of an answer without the file; nil of others.
func (d *download) refusal(r *http.Response) error {
	home, status := d.home(r.Request.URL), r.StatusCode
	said := fmt.Errorf("%s answers with %s", r.Request.URL.Host, r.Status)
	if message := r.Header.Get("X-Error-Message"); message != "" && home {
		said = fmt.Errorf("%w, %.200q", said, message)
	}
	page := d.endpoint.JoinPath("datasets", d.file.Dataset)
	switch {
	case status < http.StatusBadRequest, status == http.StatusRequestedRangeNotSatisfiable:
		return nil
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, !home:
		// A signed address of another host expires; the next attempt gets another.
		seconds, _ := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 31) // a date: the usual wait
		return &transientError{said, time.Duration(seconds) * time.Second}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: log in, accept the terms at %s, and put a token of that account that may read gated datasets (%s/settings/tokens) into HF_TOKEN", said, page, d.endpoint)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: look at %s; is HF_ENDPOINT right?", said, page)
	}
	return said
}
