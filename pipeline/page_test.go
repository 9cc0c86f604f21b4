package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/pipeline/dag"
	"speceval/stages/report/page"
)

// withPage is a bench whose page counts how often it was written.
func withPage(t *testing.T) (b *bench, wantPage func(page string)) {
	b = newBench(t)
	times := 0
	b.page = func(w io.Writer, h page.History) error {
		times++
		made := 0
		for _, r := range h.Records {
			if r.State == dag.Fresh {
				made++
			}
		}
		_, err := fmt.Fprintf(w, "page %d of %d units", times, made)
		return err
	}
	return b, func(page string) {
		t.Helper()
		if data, _ := os.ReadFile(filepath.Join(b.out, pageFile)); string(data) != page {
			t.Errorf("the page is %q, want %q", data, page)
		}
	}
}

func TestThePageFollowsTheReport(t *testing.T) {
	b, wantPage := withPage(t)
	b.ok("run replay")
	wantPage("")
	b.wants("run", exitDone, "report.html written")
	wantPage("page 1 of 4 units")
	b.ok("tables")
	wantPage("page 2 of 4 units")
	b.ok("run replay --set replay.draws=16") // the report is stale
	wantPage("page 2 of 4 units")
	if _, stderr := b.ok("tables -q"); strings.Contains(stderr, pageFile) {
		t.Errorf("tables -q says %s", stderr)
	}
	wantPage("page 3 of 0 units")
}

func TestAFailedRunLeavesThePage(t *testing.T) {
	b, wantPage := withPage(t)
	b.ok("run")
	b.fails("replay/b", errBroken)
	b.wants("run --force", exitFailed, "replay/b: broken")
	wantPage("page 1 of 4 units")
	b.hook = nil
	b.page = func(w io.Writer, _ page.History) error {
		fmt.Fprint(w, "half a page")
		return errBroken
	}
	b.wants("run --force", exitFailed, "the results are stored, but not the page: ", "broken")
	wantPage("page 1 of 4 units")
}

func TestFailuresGetALineAndAreListedLast(t *testing.T) {
	b := newBench(t)
	b.fails("replay/b", errBroken)
	_, _, stderr := b.do("run")
	want(t, "stderr", stderr, "Z replay/b failed\n")
	if !strings.HasSuffix(stderr, "speceval: 1 unit failed, 2 not run\n  replay/b: broken\n") {
		t.Errorf("the failures do not come last:\n%s", stderr)
	}
}

func TestBarOnATerminal(t *testing.T) {
	b := newBench(t)
	b.terminal = true
	b.fails("report/table", errBroken)
	_, _, stderr := b.do("run")
	want(t, "stderr", stderr, "\r", "replay", "report/table failed\n", "1 unit failed")
	lacks(t, "the bar", stderr, "\x1b[3")
}

// logged is the log of the newest run of the bench; empty if there is none.
func (b *bench) logged() string {
	b.t.Helper()
	names := must(filepath.Glob(filepath.Join(b.out, "logs", "run-*-7.jsonl")))
	if len(names) == 0 {
		return ""
	}
	return read(names[len(names)-1])
}

func TestARunLeavesALog(t *testing.T) {
	b := newBench(t)
	b.fails("replay/b", errBroken)
	b.do("run -q")
	want(t, "the log", b.logged(),
		`"msg":"run started","host":"lab","pid":7,"command":"speceval run -q","commit":"abc","config":"experiments.toml","holder":"pid 7 on lab, `,
		`"units":4}`, `"msg":"unit started","host":"lab","stage":"replay","unit":"a","key":"`, `"msg":"unit done"`, `"wall_seconds":1`,
		`"level":"ERROR","msg":"unit failed","host":"lab","stage":"replay","unit":"b"`, `"error":"broken"`,
		`"msg":"run ended","host":"lab","units":4,"done":1,"failed":1}`)
	b.hook = nil
	b.ok("run")
	before := b.logged()
	want(t, "the log of the rest", before, `"done":3`)
	b.ok("run")
	same(t, "the log after a run of nothing", b.logged(), before)
	b = newBench(t)
	write(filepath.Join(b.out, "logs"), "a file where its folder would be")
	if _, stderr := b.ok("run"); strings.Count(stderr, "/logs: not a directory") != 1 || !strings.Contains(stderr, "4 units done") {
		t.Errorf("without a log the run says\n%s", stderr)
	}
}
