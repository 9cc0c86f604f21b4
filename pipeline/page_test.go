package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/stages/report"
)

// withPage is a bench whose page counts how often it was written.
func withPage(t *testing.T) (b *bench, page func() string) {
	b = newBench(t)
	times := 0
	b.page = func(w io.Writer, h report.History) error {
		times++
		made := 0
		for _, r := range h.Records {
			if r.Manifest != nil && r.Fresh {
				made++
			}
		}
		_, err := fmt.Fprintf(w, "page %d of %d units on %s", times, made, h.Origin.Host)
		return err
	}
	return b, func() string {
		data, err := os.ReadFile(filepath.Join(b.out, pageFile))
		if err != nil {
			return ""
		}
		return string(data)
	}
}

func TestThePageFollowsTheReport(t *testing.T) {
	b, page := withPage(t)
	if _, stderr := b.ok("run replay"); page() != "" || strings.Contains(stderr, pageFile) {
		t.Errorf("a page without a report: %q\n%s", page(), stderr)
	}
	_, stderr := b.ok("run")
	want(t, "run", stderr, "report.html written")
	if page() != "page 1 of 4 units on lab" {
		t.Errorf("after a run the page is %q", page())
	}
	b.ok("tables")
	if page() != "page 2 of 4 units on lab" {
		t.Errorf("after tables the page is %q", page())
	}
	b.ok("run replay --set replay.draws=16")
	if page() != "page 2 of 4 units on lab" {
		t.Errorf("the report is stale, and yet the page is %q", page())
	}
	if _, stderr := b.ok("tables -q"); !strings.HasPrefix(page(), "page 3 of ") || strings.Contains(stderr, pageFile) {
		t.Errorf("from stored results the page is %q\n%s", page(), stderr)
	}
}

func TestAFailedRunLeavesThePage(t *testing.T) {
	b, page := withPage(t)
	b.ok("run")
	b.hook = func(context.Context, string) error { return errBroken }
	if code, _, _ := b.do("run --force"); code != exitFailed || page() != "page 1 of 4 units on lab" {
		t.Errorf("exit code %d, page %q", code, page())
	}
	b.hook = nil
	b.page = func(w io.Writer, _ report.History) error {
		fmt.Fprint(w, "half a page")
		return errBroken
	}
	code, _, stderr := b.do("run --force")
	if code != exitFailed || page() != "page 1 of 4 units on lab" {
		t.Errorf("exit code %d, page %q", code, page())
	}
	want(t, "stderr", stderr, "the results are stored, but not the page: ", "broken")
}
