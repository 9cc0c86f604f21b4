package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/pipeline/config"
)

func newTestLab(t *testing.T, out *bytes.Buffer) *lab {
	t.Helper()
	l, err := newLab(options{rollouts: 100}, t.TempDir(), out)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConfiguration(t *testing.T) {
	l := newTestLab(t, new(bytes.Buffer))
	text, url, judge, err := l.configuration("tasks")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse([]byte(text), "experiments.toml", nil)
	if err != nil || len(c.Benchmarks) != 18 || url == judge || c.Workers[0].URLs[0] != url || c.Judge.URLs[0] != judge {
		t.Errorf("%v; %s and %s of\n%s", err, url, judge, text)
	}
}

// TestCompare has profiles as the fleet would make them of one group, and others.
func TestCompare(t *testing.T) {
	for want, factor := range map[string]float64{"1 of 1 benchmarks are scored, 1 of them otherwise": 0.5, "": 1} {
		var out bytes.Buffer
		l := newTestLab(t, &out)
		l.groups = l.groups[:1]
		probabilities, err := l.probabilities()
		if err != nil {
			t.Fatal(err)
		}
		text := "benchmark,model,task_index,task_id,pass_count,tested_k\n"
		for i, p := range probabilities["aime24"] {
			text += fmt.Sprintf("aime24,%s,%d,%s,%.0f,100\n", modelID, i, l.ids["aime24"][i], 100*p*factor)
		}
		path := filepath.Join(l.dir, "profiles.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		err = l.compare(path)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q\n%s", err, want, out.String())
		}
	}
}

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-no-such-flag"}, &out, &errs); code != 2 {
		t.Errorf("exit code %d", code)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if code := run([]string{"-tests", "0", "-speceval", "/no/such/program"}, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "drill-benchmarks: failed\n") {
		t.Errorf("without the program: exit code %d\n%s", code, out.String())
	}
}
