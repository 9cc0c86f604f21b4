package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Result is what came of one check.
type Result struct {
	Check Check
	Seen  Observation
	Err   error // ErrSkipped where the check does not apply
}

// RunAll makes all checks of a target, one after another.
func RunAll(ctx context.Context, t *Target) []Result {
	var results []Result
	for _, c := range Checks() {
		seen, err := c.Run(ctx, t)
		results = append(results, Result{c, seen, err})
	}
	return results
}

// Text is what the check saw, or why it did not see it.
func (r Result) Text() string {
	switch {
	case errors.Is(r.Err, ErrSkipped):
		return r.Err.Error()
	case r.Err != nil:
		return strings.TrimSpace(fmt.Sprintf("%s\nfailed: %v", r.Seen, r.Err))
	}
	return string(r.Seen)
}

// Record writes results down, so that they can be compared with those of another
// day, or of another server.
func Record(results []Result) []byte {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "[%s]\n%s\n\n", r.Check.Name, r.Text())
	}
	return []byte(b.String())
}

// Recorded reads a record: the text of each check by its name.
func Recorded(record []byte) (map[string]string, error) {
	texts := make(map[string]string)
	for part := range strings.SplitSeq(strings.TrimSpace(string(record)), "\n\n") {
		head, text, _ := strings.Cut(part, "\n")
		name, begins := strings.CutPrefix(head, "[")
		name, ends := strings.CutSuffix(name, "]")
		if !begins || !ends {
			return nil, fmt.Errorf("a record's part begins with %q, not with [the check's name]", head)
		}
		texts[name] = text
	}
	return texts, nil
}
