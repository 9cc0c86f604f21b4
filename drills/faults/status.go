package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// status is what `speceval status --json` says of an output folder.
type status struct {
	Stages []struct {
		Name    string `json:"name"`
		State   string `json:"state"`
		Reasons []struct {
			Units int    `json:"units"`
			Why   string `json:"why"`
		} `json:"reasons"`
	} `json:"stages"`
}

// status asks for it.
func (l *lab) status(ctx context.Context, out string) (s status, err error) {
	c, err := l.do(ctx, out, 0, "status", "--json")
	if err != nil {
		return s, err
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// because counts the units of a stage that are stale for a reason with these words.
func (s status) because(stage, words string) int {
	n := 0
	for _, g := range s.Stages {
		for _, r := range g.Reasons {
			if g.Name == stage && strings.Contains(r.Why, words) {
				n += r.Units
			}
		}
	}
	return n
}

// expect is an error unless just so many units of a stage are stale for a reason.
func (s status) expect(stage, words string, want int) error {
	if n := s.because(stage, words); n != want {
		return fmt.Errorf("%d units of %s are stale since one %q, want %d: %+v", n, stage, words, want, s.Stages)
	}
	return nil
}
