package runs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/rollout"
)

// at is a moment, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1e9, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func TestSpansOfAnElement(t *testing.T) {
	line := func(seconds float64, what, key string) event {
		return event{Time: at(seconds), What: what, Key: key}
	}
	got := spans("7_1", []event{
		line(1, "unit started", "a"), line(2, "unit done", "a"),
		line(2, "unit started", "b"), // killed, and requeued
		line(9, "unit done", "a"),    // it was done before
		line(9, "unit started", "b"), // killed for good
		line(3, "element ended", ""),
	}, at(11))
	want := map[string][]span{
		"a": {{"7_1", at(1), at(2)}},
		"b": {{"7_1", at(2), at(9)}, {"7_1", at(9), at(11)}},
	}
	for key := range want {
		if !slices.Equal(got[key], want[key]) {
			t.Errorf("%s: %v, want %v", key, got[key], want[key])
		}
	}
}

func TestUnitsThatTwoElementsAreAt(t *testing.T) {
	for _, test := range []struct {
		name string
		all  []span
		want int
	}{
		{"one after the other", []span{{"1_0", at(1), at(2)}, {"2_0", at(2), at(3)}}, 0},
		{"one element twice", []span{{"1_0", at(1), at(3)}, {"1_0", at(2), at(4)}}, 0},
		{"at once", []span{{"1_0", at(1), at(3)}, {"2_0", at(2), at(4)}}, 1},
		{"one within the other", []span{{"2_0", at(2), at(3)}, {"1_0", at(1), at(4)}}, 1},
	} {
		if got := overlapping(map[string][]span{"key": test.all}); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestUnitsSubmittedWhileAJobLives(t *testing.T) {
	for _, test := range []struct {
		name    string
		alive   float64 // the first element, last
		settled float64 // when it logged the outcome of the unit; 0: never
		want    int
	}{
		{"it had ended", 4, 0, 0},
		{"it lived", 6, 0, 1},
		{"it lived, and the unit had failed", 6, 3, 0},
		{"it lived, and the unit failed later", 9, 7, 1},
	} {
		first := submission{element: "1_0", at: at(1)}
		if test.settled > 0 {
			first.settled = at(test.settled)
		}
		alive := func(element string) time.Time {
			return map[string]time.Time{"1_0": at(test.alive), "2_0": at(20)}[element]
		}
		if got := tooOften(map[string][]submission{"key": {first, {element: "2_0", at: at(5)}}}, alive); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestEstimatesOfPlans(t *testing.T) {
	for plan, want := range map[string]float64{
		"replay  5 of 5 units to run, about 3 s\ntotal   5 units, about 3.5 s with -j 1\n":                     3.5,
		"total   2869 units, about 21 h 22 min by earlier runs and, for 9 units, by what took 5 s with -j 2\n": 21*3600 + 22*60,
	} {
		if got, err := estimate(plan); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", plan, got, err, want)
		}
	}
	if _, err := estimate("total  5 units, time unknown with -j 1"); err == nil || !strings.Contains(err.Error(), "time unknown") {
		t.Errorf("an unknown time: %v", err)
	}
}

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
