package drill_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

const part = "generate/benchmark=b/model=m/part-0000.parquet"

// folder is an output folder of two units, with what else a run leaves.
func folder(t *testing.T, change func(r *rollout.Rollout)) string {
	t.Helper()
	dir := t.TempDir()
	row := rollout.Rollout{Benchmark: "b", Model: "m", TaskID: "t", Seed: 7, Text: "yes", LatencySeconds: 0.5, Server: "http://a:1"}
	if change != nil {
		change(&row)
	}
	var b bytes.Buffer
	if err := rowfile.Write(&b, []rollout.Rollout{row}, map[string]string{"speceval.key": "k"}); err != nil {
		t.Fatal(err)
	}
	put(t, dir, part, b.String())
	put(t, dir, "tables/a.csv", "b,1\n")
	put(t, dir, "manifests/generate/b/m.json", manifest("generate", "b/m", part))
	put(t, dir, "manifests/report/a.json", manifest("report", "a", "tables/a.csv"))
	put(t, dir, "report.html", time.Now().String())
	put(t, dir, ".lock", time.Now().String())
	return dir
}

func manifest(stage, unit, output string) string {
	return fmt.Sprintf(`{"format":1,"key":"k","parts":{"stage":%q,"unit":%q},"outputs":[{"path":%q,"sha256":"s"}],"start":%q}`, stage, unit, output, time.Now())
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestEveryDifferenceIsFound(t *testing.T) {
	l, want := drill.New(t, time.Minute), folder(t, nil)
	tests := map[string]struct {
		change func(dir string)
		path   string // "" if it is none
		bytes  int
	}{
		"nothing":              {func(string) {}, "", 0},
		"times":                {func(dir string) { os.Chtimes(filepath.Join(dir, "tables", "a.csv"), time.Unix(1, 0), time.Unix(1, 0)) }, "", 0},
		"the program's own":    {func(dir string) { put(t, dir, "scratch/x", "x"); put(t, dir, "superseded/x", "x") }, "", 0},
		"moved aside":          {func(dir string) { put(t, dir, "tables/a.csv.edited-01234567", "x") }, "", 0},
		"a byte":               {func(dir string) { put(t, dir, "tables/a.csv", "b,2\n") }, "tables/a.csv", 1},
		"an end":               {func(dir string) { put(t, dir, "tables/a.csv", "b,1\n!!") }, "tables/a.csv", 2},
		"a file less":          {func(dir string) { os.Remove(filepath.Join(dir, "tables", "a.csv")) }, "tables/a.csv", 4},
		"a file more":          {func(dir string) { put(t, dir, "tables/b.csv", "") }, "tables/b.csv", 1},
		"a file in the making": {func(dir string) { put(t, dir, "tables/a.csv.1.partial", "x") }, "tables/a.csv.1.partial", 1},
		"a key": {func(dir string) {
			put(t, dir, "manifests/report/a.json", strings.Replace(manifest("report", "a", "tables/a.csv"), `"k"`, `"l"`, 1))
		}, "the manifest of report/a", 1},
		"a unit more": {func(dir string) { put(t, dir, "manifests/score/x.json", manifest("score", "x", "x")) }, "the manifest of score/x", 1},
		"a unit less": {func(dir string) { os.Remove(filepath.Join(dir, "manifests", "report", "a.json")) }, "the manifest of report/a", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := folder(t, nil)
			test.change(got)
			found, n := l.Compare(want, got), 0
			for _, d := range found {
				n += d.Bytes
			}
			if n != test.bytes || test.path == "" != (len(found) == 0) || len(found) == 1 && found[0].Path != test.path {
				t.Errorf("found %v, %d bytes; want %q, %d", found, n, test.path, test.bytes)
			}
		})
	}
}

func TestOnlyWhatNoSeedDeterminesIsLeftOutOfRollouts(t *testing.T) {
	l, want := drill.New(t, time.Minute), folder(t, nil)
	for name, test := range map[string]struct {
		change func(r *rollout.Rollout)
		alike  bool
	}{
		"latency":   {func(r *rollout.Rollout) { r.LatencySeconds = 9 }, true},
		"server":    {func(r *rollout.Rollout) { r.Server = "http://b:2" }, true},
		"text":      {func(r *rollout.Rollout) { r.Text = "no" }, false},
		"seed":      {func(r *rollout.Rollout) { r.Seed = 8 }, false},
		"tokens":    {func(r *rollout.Rollout) { r.CompletionTokens = 8 }, false},
		"reasoning": {func(r *rollout.Rollout) { r.ReasoningTokens = new(int32) }, false},
	} {
		got := folder(t, test.change)
		if found := l.CompareRollouts(want, got); (len(found) == 0) != test.alike {
			t.Errorf("%s: %v", name, found)
		}
		if l.SameRollouts(want, got) {
			t.Errorf("%s: the same bytes", name)
		}
	}
	got := folder(t, nil)
	put(t, got, "generate/benchmark=b/model=m/part-0001.parquet", "more")
	if found := l.CompareRollouts(want, got); len(found) != 1 {
		t.Errorf("a part more: %v", found)
	}
}
