package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"speceval/internal/hub"
	"speceval/internal/phrase"
	"speceval/internal/upstream"
)

// Environment variables of the service that publishes datasets, as its own tools
// name them.
const (
	hubEndpointVariable = "HF_ENDPOINT"
	hubTokenVariable    = "HF_TOKEN"
)

// download fetches the files of groups that are not there. It gives the groups
// whose files then are, and an error that names what could not be fetched.
func (s *session) download(ctx context.Context, groups []upstream.Group, to string) (whole []upstream.Group, err error) {
	client, err := hub.New(hub.Options{
		Endpoint: s.variable(hubEndpointVariable), Token: s.variable(hubTokenVariable), Seed: uint64(s.now().UnixNano()), Report: s.report,
	})
	if err != nil {
		return nil, &usageError{err}
	}
	return upstream.Download(ctx, groups, func(source *upstream.Source) error { return s.fetch(ctx, client, source, to) })
}

// fetch fetches the files of a source.
func (s *session) fetch(ctx context.Context, client *hub.Client, source *upstream.Source, to string) error {
	for _, name := range source.Files {
		t := s.transfer(source.Dataset + "/" + name)
		f := hub.File{Dataset: source.Dataset, Revision: source.Revision, Name: name}
		fetched, err := client.Fetch(ctx, f, source.Path(to, name), t.progress)
		t.end()
		if err != nil {
			return err
		}
		if !fetched.Kept { // otherwise the client reports it
			s.say("%s: fetched, %s, checked by %s", source.Path(to, name), phrase.Megabytes(fetched.Bytes), fetched.Verified)
		}
	}
	return nil
}

// variable is the value of an environment variable, "" if it is not set.
func (s *shell) variable(name string) string {
	for _, v := range s.environment {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// transfer shows how far a file is: a bar on a terminal, dated lines elsewhere.
type transfer struct {
	name     string
	bar      *progressbar.ProgressBar // nil: lines
	say      func(text string)
	now      func() time.Time
	began    time.Time
	at       int64 // bytes when it began
	lastLine time.Time
	started  bool
}

func (s *session) transfer(name string) *transfer {
	t := &transfer{name: name, now: s.now, say: s.report}
	if s.terminal && !s.quiet {
		t.bar = progressbar.NewOptions64(-1,
			progressbar.OptionSetWriter(s.stderr), progressbar.OptionSetDescription(name), progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		)
	}
	return t
}

// progress takes in how far the file is.
func (t *transfer) progress(done, total int64) {
	now := t.now()
	if !t.started {
		t.started, t.began, t.lastLine, t.at = true, now, now, done
	}
	if t.bar != nil {
		t.bar.ChangeMax64(max(total, done))
		t.bar.Set64(done)
		return
	}
	if now.Sub(t.lastLine) < lineInterval {
		return
	}
	t.lastLine = now
	rate := float64(done-t.at) / now.Sub(t.began).Seconds()
	left := ""
	if rate > 0 && total > done {
		left = ", about " + phrase.Duration(float64(total-done)/rate) + " left"
	}
	t.say(fmt.Sprintf("%s %s of %s, %.1f MB/s%s", t.name, phrase.Megabytes(done), phrase.Megabytes(total), rate/1e6, left))
}

func (t *transfer) end() {
	if t.bar != nil {
		t.bar.Finish()
	}
}
