package main

import (
	"context"
	"strings"

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
		t := s.console().Transfer(source.Dataset+"/"+name, s.report)
		f := hub.File{Dataset: source.Dataset, Revision: source.Revision, Name: name}
		fetched, err := client.Fetch(ctx, f, source.Path(to, name), t.Progress)
		t.End()
		if err == nil {
			err = source.Check(name, source.Path(to, name), fetched.SHA256)
		}
		if err != nil {
			return err
		}
		if !fetched.Kept { // otherwise the client reports it
			s.say("%s: fetched, %s, checked by %s%s", source.Path(to, name), phrase.Megabytes(fetched.Bytes), fetched.Verified, unknownDigest(source, name, fetched.SHA256))
		}
	}
	return nil
}

// unknownDigest says what a fetched file is, where this program did not know it before.
func unknownDigest(source *upstream.Source, name, digest string) string {
	if source.Known(name) != "" {
		return ", and as this program knows it"
	}
	return "; this program knows no SHA-256 of it, it is " + digest
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
