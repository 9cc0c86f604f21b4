package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// AccessError says that a dataset is not open to whoever asks.
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
		return &passing{err: said, asked: c.retryAfter(response)}
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
