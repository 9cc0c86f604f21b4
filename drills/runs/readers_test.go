package runs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/rollout"
)

// TestDuckDBNoticesWhatIsWrong compares made parts. It needs a Python with
// duckdb, named by SPECEVAL_PYTHON or else python3, and is skipped without one,
// except under SPECEVAL_CI=1.
func TestDuckDBNoticesWhatIsWrong(t *testing.T) {
	l := tiny()
	if l.Python = os.Getenv("SPECEVAL_PYTHON"); l.Python == "" {
		l.Python = "python3"
	}
	if output, err := exec.Command(l.Python, "-c", "import duckdb").CombinedOutput(); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatalf("%s: %v\n%s", l.Python, err, output)
		}
		t.Skipf("%s has no duckdb; name a Python that has in SPECEVAL_PYTHON", l.Python)
	}
	for want, spoil := range map[string]func(parts [][]rollout.Rollout){
		"<nil>":                               func([][]rollout.Rollout) {},
		"5 rows in 2 parts, 5 different":      func(p [][]rollout.Rollout) { p[1] = p[1][:2] },
		"6 rows in 2 parts, 5 different":      func(p [][]rollout.Rollout) { p[1][0].Rollout = 1 },
		"6 rows in 2 parts, 6 different, 1 u": func(p [][]rollout.Rollout) { p[0][2].FinishReason = "" },
		"1 answers are others":                func(p [][]rollout.Rollout) { p[0][0].Text = "half" },
	} {
		l.Dir = t.TempDir()
		parts := rollouts(6, 3)
		save(t, l.Path("undisturbed"), rollouts(6, 4)) // cut into parts in another way
		spoil(parts)
		save(t, l.Path("disturbed"), parts)
		if err := l.checkReaders(t.Context()); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	path := l.Path("disturbed", "model=m", "part-1.parquet")
	if err := os.WriteFile(path, []byte("PAR1 no more"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := l.checkReaders(t.Context()); err == nil || !strings.Contains(err.Error(), "part-1.parquet") {
		t.Errorf("a broken part: %v", err)
	}
}

// rollouts makes n rollouts in parts of size.
func rollouts(n, size int) (parts [][]rollout.Rollout) {
	for i := range n {
		if i%size == 0 {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, rollout.Rollout{
			Benchmark: "b", Model: "m", TaskID: "x", Rollout: int32(i), Seed: int64(i), PromptTokens: 3, CompletionTokens: 4,
			FinishReason: "stop", Text: fmt.Sprint("answer ", i), Server: "http://a", LatencySeconds: float64(size),
		})
	}
	return parts
}

func save(t *testing.T, folder string, parts [][]rollout.Rollout) {
	t.Helper()
	folder = filepath.Join(folder, "model=m")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		var b bytes.Buffer
		all := func(yield func(*rollout.Rollout, error) bool) {
			for j := range part {
				if !yield(&part[j], nil) {
					return
				}
			}
		}
		if err := rollout.WritePart(&b, all, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("part-%d.parquet", i)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
