package evaluation_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/files"
	"speceval/internal/store/rollout"
)

// keep copies a folder, so that each case has one of its own.
func keep(t *testing.T, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "kept")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func replaceText(t *testing.T, path, pattern, by string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again := regexp.MustCompile(pattern).ReplaceAll(text, []byte(by))
	if string(again) == string(text) {
		t.Fatalf("%s has no %s", path, pattern)
	}
	if err := os.WriteFile(path, again, 0o666); err != nil {
		t.Fatal(err)
	}
}

// otherwise gives a stored setup or result another schema, and its manifest the new hash, as another
// version of the program would.
func otherwise(t *testing.T, folder, name, schema string) {
	t.Helper()
	before, err := files.DigestOf(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	replaceText(t, filepath.Join(folder, name), schema+`/\d+`, schema+"/0")
	after, err := files.DigestOf(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	replaceText(t, filepath.Join(folder, "manifest.json"), before.SHA256, after.SHA256)
}

func flip(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// sound checks that a folder has this result, and that all its files are as recorded.
func sound(t *testing.T, folder string, want *evaluation.Result) {
	t.Helper()
	s, err := evaluation.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Altered) > 0 || outcome(s.Result) != outcome(want) || s.Needs(evaluation.RolloutsFile, evaluation.ScoresFile, evaluation.RequestsFile) != nil {
		t.Errorf("said %q, result %+v, want %+v", s.Altered, s.Result, want)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.journal")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestAlteredFiles has one file after the other altered. What a result is read from is
// refused; another file is named, and refused where it is needed.
func TestAlteredFiles(t *testing.T) {
	l := newLab(t, "hbn_staged", 8, 3, quiz...)
	want := l.run()
	whole := l.settings.Folder
	edit := func(file, pattern, by string) func(string) {
		return func(folder string) { replaceText(t, filepath.Join(folder, file), pattern, by) }
	}
	become := func(file string, make func(path string) error) func(string) {
		return func(folder string) {
			path := filepath.Join(folder, file)
			if err := cmp.Or(os.Remove(path), make(path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o666) }
	device := func(path string) error { return os.Symlink("/dev/zero", path) }
	gone := func(path string) error { return nil }
	brace := func(path string) error { return os.WriteFile(path, []byte("{"), 0o666) }
	for _, c := range []struct {
		name  string
		spoil func(folder string)
		error string // of Open; "": none
		said  string
		needs string // the file that cannot be used then
	}{
		{"result", edit("result.json", `"estimate": [^,]*,\n  "standard`, `"estimate": 0.999, "standard`), "result.json is not as recorded", "", ""},
		{"no result", become("result.json", gone), "result.json is missing: put back what was there", "", ""},
		{"a pipe for a result", become("result.json", pipe), "result.json is now a pipe", "", ""},
		{"a device for a result", become("result.json", device), "result.json is now a device", "", ""},
		{"setup", edit("evaluation.json", `"weight": 0.4`, `"weight": 0.9`), "evaluation.json is not as recorded", "", ""},
		{"no setup", become("evaluation.json", gone), "evaluation.json is missing", "", ""},
		{"no manifest", become("manifest.json", gone), "manifest.json is missing: put back", "", ""},
		{"a manifest that is none", become("manifest.json", brace), "manifest.json is damaged", "", ""},
		{"a pipe for a manifest", become("manifest.json", pipe), "manifest.json is a pipe", "", ""},
		{"another format", edit("manifest.json", `"format": 1`, `"format": 2`), "manifest.json has format 2", "", ""},
		{"a large order in the manifest", edit("manifest.json", `"format": 1`, `"format": 1, "quadrature_order": 2000000000`), "", "", ""},
		{"a setup of another version", func(folder string) { otherwise(t, folder, "evaluation.json", "evaluation") }, `the schema "evaluation/0", want`, "", ""},
		{"a result of another version", func(folder string) { otherwise(t, folder, "result.json", "evaluation-result") }, `the schema "evaluation-result/0", want`, "", ""},
		{"verdicts", func(folder string) { flip(t, filepath.Join(folder, "scores.parquet")) }, "", "scores.parquet is not as recorded", evaluation.ScoresFile},
		{"no verdicts", become("scores.parquet", gone), "", "scores.parquet is missing", evaluation.ScoresFile},
		{"answers", func(folder string) { flip(t, filepath.Join(folder, "rollouts.parquet")) }, "", "rollouts.parquet is not as recorded", evaluation.RolloutsFile},
		{"requests", become("requests.parquet", brace), "", "requests.parquet is not as recorded", evaluation.RequestsFile},
		{"tasks", become("tasks.parquet", gone), "", "tasks.parquet is missing", ""},
		{"a file elsewhere", edit("manifest.json", `"path": "scores.parquet"`, `"path": "../../../../etc/passwd"`), "", "scores.parquet is not in manifest.json", evaluation.ScoresFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := keep(t, whole)
			c.spoil(folder)
			s, err := evaluation.Open(folder)
			if c.error != "" {
				if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), c.error) {
					t.Fatalf("error %v, want one that says %q", err, c.error)
				}
				if _, err := evaluation.Run(t.Context(), l.in(folder)); err == nil || !strings.Contains(err.Error(), c.error) {
					t.Errorf("run again: error %v, want %q", err, c.error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(s.Altered, "\n"); !strings.Contains(text, c.said) || (c.said == "") != (text == "") {
				t.Errorf("said %q, want %q", text, c.said)
			}
			if !reflect.DeepEqual(s.Result, want) {
				t.Errorf("result %+v, want %+v", s.Result, want)
			}
			for _, name := range []string{evaluation.RolloutsFile, evaluation.ScoresFile, evaluation.RequestsFile} {
				if err := s.Needs(name); (err != nil) != (name == c.needs) || err != nil && !strings.Contains(err.Error(), "put back what was there") {
					t.Errorf("%s is needed: error %v", name, err)
				}
			}
			_, err = evaluation.Rescore(t.Context(), l.in(folder), s, 3)
			if refused := c.needs == evaluation.RolloutsFile || c.needs == evaluation.RequestsFile; (err != nil) != refused {
				t.Errorf("scored again: error %v", err)
			} else if !refused {
				sound(t, folder, want)
			}
		})
	}
	if asked := len(l.asked); asked > want.Rollouts+want.Extra {
		t.Errorf("%d requests, of which %d are of the first run", asked, want.Rollouts+want.Extra)
	}
}

func TestAnAlteredDesignIsNotGoneOnWith(t *testing.T) {
	l := newLab(t, "hbn_staged", 8, 3, quiz...)
	ctx, stop := context.WithCancel(t.Context())
	l.fail = func(n int, _ vllm.Request) error {
		if n == 12 {
			stop()
		}
		return nil
	}
	l.paused(ctx, "canceled")
	l.calm()
	replaceText(t, filepath.Join(l.settings.Folder, "evaluation.json"), `"weight": 0.4`, `"weight": 0.99`)
	l.settings.Setup.Design.Weight = 0.99 // as the command takes it from there
	_, err := evaluation.Run(t.Context(), l.settings)
	if err == nil || !strings.Contains(err.Error(), "evaluation.json is not as recorded") || len(l.asked) > 0 {
		t.Errorf("error %v after %d requests", err, len(l.asked))
	}
	os.Remove(filepath.Join(l.settings.Folder, "manifest.json"))
	if _, err := evaluation.Run(t.Context(), l.settings); err == nil || !strings.Contains(err.Error(), "manifest.json is missing") || len(l.asked) > 0 {
		t.Errorf("error %v after %d requests", err, len(l.asked))
	}
}

// obstruct has nothing be written or removed at a path until it is undone.
func obstruct(t *testing.T, path string) (undo func()) {
	t.Helper()
	aside := path + ".aside"
	there := os.Rename(path, aside) == nil
	if err := os.MkdirAll(filepath.Join(path, "obstacle"), 0o777); err != nil {
		t.Fatal(err)
	}
	return func() {
		err := os.RemoveAll(path)
		if err == nil && there {
			err = os.Rename(aside, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledWhileFilesAreWritten ends a run before each file that it writes or removes when
// all rollouts are there. The next run asks for nothing, and has the same result.
func TestKilledWhileFilesAreWritten(t *testing.T) {
	want := newLab(t, "hbn_staged", 8, 3, quiz...).run()
	order := []string{"rollouts.parquet", "requests.parquet", "scores.parquet", "tasks.parquet", "result.json", "manifest.json"}
	for k, obstacle := range order {
		t.Run(obstacle, func(t *testing.T) {
			l := newLab(t, "hbn_staged", 8, 3, quiz...)
			at := func(name string) string { return filepath.Join(l.settings.Folder, name) }
			var undo func()
			l.fail = func(n int, _ vllm.Request) error {
				if n == 50 { // the setup and its manifest are there
					undo = obstruct(t, at(obstacle))
				}
				return nil
			}
			if _, err := evaluation.Run(t.Context(), l.settings); err == nil || !strings.Contains(err.Error(), obstacle) {
				t.Fatalf("error %v, want one of %s", err, obstacle)
			}
			undo()
			for i, name := range order[:5] { // a manifest is there from the beginning
				if _, err := os.Lstat(at(name)); (err == nil) != (i < k) {
					t.Errorf("%s before %s: %v", name, obstacle, err)
				}
			}
			if _, err := evaluation.Open(l.settings.Folder); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("opened after the kill: error %v", err)
			}
			if journals, _ := filepath.Glob(at("*.journal")); len(journals) == 0 {
				t.Error("the journals are gone")
			}
			l.calm()
			if r := l.run(); outcome(r) != outcome(want) || len(l.asked) > 0 {
				t.Errorf("%d requests, result %s\nwant %s", len(l.asked), outcome(r), outcome(want))
			}
			sound(t, l.settings.Folder, want)
		})
	}
}

// TestKilledWhileScoringAgain ends a rescore before each file that it replaces, and once all
// are replaced. Until it is repeated there is a result, and its verdicts cannot be used.
func TestKilledWhileScoringAgain(t *testing.T) {
	first := newLab(t, "hbn_staged", 8, 3, quiz...)
	was := first.run()
	for _, obstacle := range []string{"scores.parquet", "tasks.parquet", "result.json", ""} {
		t.Run("before "+obstacle, func(t *testing.T) {
			l := newLab(t, "hbn_staged", 8, 3, quiz...)
			l.settings.Folder = keep(t, first.settings.Folder)
			at := func(name string) string { return filepath.Join(l.settings.Folder, name) }
			if err := os.WriteFile(at("report.html"), []byte("of the result before"), 0o666); err != nil {
				t.Fatal(err)
			}
			strict := l.settings
			strict.Rules = "r2"
			var undo func()
			var once sync.Once
			strict.Score = func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
				once.Do(func() { undo = obstruct(t, at(cmp.Or(obstacle, "result.json"))) })
				v, err := l.score(ctx, r)
				v.Correct = !v.Correct
				return v, err
			}
			stored := l.open()
			_, err := evaluation.Rescore(t.Context(), strict, stored, 3)
			if err == nil {
				t.Fatal("no error of the obstacle")
			}
			undo()
			if _, err := os.Lstat(at("report.html")); err == nil {
				t.Error("the page of the result before is there")
			}
			strict.Score = func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
				v, err := l.score(ctx, r)
				v.Correct = !v.Correct
				return v, err
			}
			want := was
			if obstacle == "" { // all but the last manifest
				manifest, err := os.ReadFile(at("manifest.json"))
				if err != nil {
					t.Fatal(err)
				}
				if want, err = evaluation.Rescore(t.Context(), strict, stored, 3); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at("manifest.json"), manifest, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			s := l.open()
			if outcome(s.Result) != outcome(want) || !strings.Contains(strings.Join(s.Altered, "\n"), "of a rescore that has not ended") {
				t.Errorf("said %q, result %s\nwant %s", s.Altered, outcome(s.Result), outcome(want))
			}
			if err := s.Needs(evaluation.ScoresFile); err == nil || !strings.Contains(err.Error(), "speceval evaluate rescore "+l.settings.Folder) {
				t.Errorf("its verdicts: error %v", err)
			}
			again, err := evaluation.Rescore(t.Context(), strict, s, 3)
			if err != nil || math.Abs(again.Estimate-(1-was.Estimate)) > 1e-12 {
				t.Fatalf("%+v, %v", again, err)
			}
			sound(t, l.settings.Folder, again)
		})
	}
}
