package evaluation_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/manifest"
	"speceval/internal/policy"
	"speceval/internal/rollout"
	"speceval/internal/vllm"
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

// sound checks that nothing is said of an evaluation, and that its result is this one.
func sound(t *testing.T, l *lab, want *evaluation.Result) {
	t.Helper()
	s := l.open()
	if len(s.Said) > 0 || !reflect.DeepEqual(s.Result, want) || s.Recompute() != nil || !s.Whole() {
		t.Errorf("said %q, result %+v, want %+v", s.Said, s.Result, want)
	}
	// Without the result it is the same to the byte.
	path := filepath.Join(l.settings.Folder, "result.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s = l.open()
	if string(s.Text) != string(text) || len(s.Said) != 2 || !strings.Contains(s.Said[0], "result.json is missing") {
		t.Errorf("said %q of a missing result; computed again\n%s\nwas\n%s", s.Said, s.Text, text)
	}
	if err := s.Repair("c"); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Errorf("repaired %s, %v", again, err)
	}
	if s = l.open(); len(s.Said) > 0 {
		t.Errorf("said %q when it is repaired", s.Said)
	}
}

func TestResultsFollowFromTheirEvidence(t *testing.T) {
	for _, policy := range policy.ExecutionNames() {
		t.Run(policy, func(t *testing.T) {
			l := newLab(t, policy, 8, 3, quiz...)
			l.settings.Setup.PassK = []int{2}
			sound(t, l, l.run())
			strict := l.settings
			strict.Rules = "r2"
			strict.Score = func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
				v, err := l.score(ctx, r)
				v.Correct = !v.Correct // these would have led to another allocation
				return v, err
			}
			r, err := evaluation.Rescore(t.Context(), strict, l.open(), 3)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, l, r)
		})
	}
}

func TestAlteredEvaluationsAreToldOf(t *testing.T) {
	l := newLab(t, "hbn_staged", 8, 3, quiz...)
	want := l.run()
	whole := l.settings.Folder
	other := newLab(t, "hbn_staged", 8, 3, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9)
	other.run()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, at func(string) string)
		said  string // in what is said
		lost  bool   // there is no result
	}{
		{"estimate", func(t *testing.T, at func(string) string) {
			replaceText(t, at("result.json"), `"estimate": [^,]*,\n  "standard`, "\"estimate\": 0.999,\n  \"standard")
			replaceText(t, at("result.json"), `"interval": \[[^\]]*\]`, `"interval": [0.99, 0.9999]`)
		}, "result.json is not as recorded", false},
		{"estimate and manifest", func(t *testing.T, at func(string) string) {
			replaceText(t, at("result.json"), `"estimate": [^,]*,\n  "standard`, "\"estimate\": 0.999,\n  \"standard")
			replaceText(t, at("result.json"), `"interval": \[[^\]]*\]`, `"interval": [0.99, 0.9999]`)
			record(t, filepath.Dir(at("result.json")), "result.json")
		}, "estimate is 0.999, and comes to", false},
		{"allocation and manifest", func(t *testing.T, at func(string) string) {
			replaceText(t, at("result.json"), `"weight": 0.4`, `"weight": 0.5`)
			record(t, filepath.Dir(at("result.json")), "result.json")
		}, "is not what its verdicts and its design come to", false},
		{"result", func(t *testing.T, at func(string) string) { os.Remove(at("result.json")) }, "result.json is missing", false},
		{"result is garbage", func(t *testing.T, at func(string) string) { os.WriteFile(at("result.json"), []byte("{"), 0o666) }, "result.json is not as recorded", false},
		{"result is a pipe", func(t *testing.T, at func(string) string) {
			os.Remove(at("result.json"))
			syscall.Mkfifo(at("result.json"), 0o666)
		}, "result.json is now a pipe", false},
		{"result is a device", func(t *testing.T, at func(string) string) {
			os.Remove(at("result.json"))
			os.Symlink("/dev/zero", at("result.json"))
		}, "result.json is now a symbolic link", false},
		{"verdicts", func(t *testing.T, at func(string) string) { flip(t, at("scores.parquet")) }, "scores.parquet is not as recorded", false},
		{"no verdicts", func(t *testing.T, at func(string) string) { os.Remove(at("scores.parquet")) }, "scores.parquet is missing", false},
		{"answers", func(t *testing.T, at func(string) string) { flip(t, at("rollouts.parquet")) }, "rollouts.parquet is not as recorded", false},
		{"requests", func(t *testing.T, at func(string) string) { os.Truncate(at("requests.parquet"), 100) }, "requests.parquet is not as recorded", false},
		{"tasks", func(t *testing.T, at func(string) string) { os.Remove(at("tasks.parquet")) }, "tasks.parquet is missing", false},
		{"verdicts of another evaluation", func(t *testing.T, at func(string) string) {
			os.CopyFS(at("x"), os.DirFS(other.settings.Folder))
			os.Rename(filepath.Join(at("x"), "scores.parquet"), at("scores.parquet"))
		}, "scores.parquet is not as recorded", false},
		{"design", func(t *testing.T, at func(string) string) {
			replaceText(t, at("evaluation.json"), `"weight": 0.4`, `"weight": 0.99`)
		}, "evaluation.json is not as recorded", false},
		{"design, and no result", func(t *testing.T, at func(string) string) {
			replaceText(t, at("evaluation.json"), `"weight": 0.4`, `"weight": 0.99`)
			os.Remove(at("result.json"))
		}, "evaluation.json is not as recorded", true},
		{"no verdicts and an edited result", func(t *testing.T, at func(string) string) {
			os.Remove(at("scores.parquet"))
			replaceText(t, at("result.json"), `"estimate": [^,]*,\n  "standard`, "\"estimate\": 0.999,\n  \"standard")
		}, "scores.parquet is missing", true},
		{"manifest", func(t *testing.T, at func(string) string) { os.Remove(at("manifest.json")) }, "was made by speceval at commit c, without hashes", false},
		{"manifest and estimate", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			replaceText(t, at("result.json"), `"estimate": [^,]*,\n  "standard`, "\"estimate\": 0.88,\n  \"standard")
			replaceText(t, at("result.json"), `"interval": \[[^\]]*\]`, `"interval": [0.87, 0.9999]`)
		}, "estimate is 0.88, and comes to", false},
		{"manifest and design", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			replaceText(t, at("evaluation.json"), `"weight": 0.4`, `"weight": 0.99`)
		}, "scores.parquet was made for another evaluation.json", false},
		{"manifest and allocation", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			replaceText(t, at("result.json"), `"weight": 0.4`, `"weight": 0.5`)
		}, "is not what its verdicts and its design come to", false},
		{"manifest and answers", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			os.Truncate(at("rollouts.parquet"), 3000)
		}, "without hashes, and it cannot be computed again", false},
		{"manifest and verdicts", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			os.CopyFS(at("x"), os.DirFS(other.settings.Folder))
			os.Rename(filepath.Join(at("x"), "scores.parquet"), at("scores.parquet"))
		}, "without hashes", false},
		{"manifest and result", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			os.Remove(at("result.json"))
		}, "result.json is not there", false},
		{"manifest is garbage", func(t *testing.T, at func(string) string) { os.WriteFile(at("manifest.json"), []byte("{"), 0o666) }, "manifest.json is damaged", false},
		{"manifest is a pipe", func(t *testing.T, at func(string) string) {
			os.Remove(at("manifest.json"))
			syscall.Mkfifo(at("manifest.json"), 0o666)
		}, "manifest.json is a pipe", false},
		{"manifest names files elsewhere", func(t *testing.T, at func(string) string) {
			replaceText(t, at("manifest.json"), `"path": "scores.parquet"`, `"path": "../../../../etc/passwd"`)
		}, "scores.parquet is not in manifest.json", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.settings.Folder = keep(t, whole)
			c.spoil(t, func(name string) string { return filepath.Join(l.settings.Folder, name) })
			s, err := evaluation.Open(l.settings.Folder, l.settings.Prior)
			var altered *manifest.AlteredError
			if c.lost {
				if !errors.As(err, &altered) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), c.said) {
					t.Fatalf("error %v, want one that says %q", err, c.said)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(s.Said, "\n"); !strings.Contains(text, c.said) {
				t.Errorf("said %q, want %q", text, c.said)
			}
			if !reflect.DeepEqual(s.Result, want) && c.name != "manifest and verdicts" && outcome(s.Result) != outcome(want) {
				t.Errorf("result %+v, want %+v", s.Result, want)
			}
			if err := s.Repair("c"); err != nil {
				t.Errorf("repaired: %v", err)
			}
		})
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
	var altered *manifest.AlteredError
	if !errors.As(err, &altered) || len(l.asked) > 0 {
		t.Errorf("error %v after %d requests", err, len(l.asked))
	}
}

func TestALinkInThePlaceOfAJournalIsNotWritten(t *testing.T) {
	for _, name := range []string{"rollouts.journal", "scores.journal", "requests.journal", "partials.log"} {
		l := newLab(t, "hbn_staged", 8, 3, quiz...)
		if err := os.MkdirAll(l.settings.Folder, 0o777); err != nil {
			t.Fatal(err)
		}
		precious := filepath.Join(t.TempDir(), "precious")
		if err := os.WriteFile(precious, []byte("precious"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(precious, filepath.Join(l.settings.Folder, name)); err != nil {
			t.Fatal(err)
		}
		_, err := evaluation.Run(t.Context(), l.settings)
		if err == nil || !strings.Contains(err.Error(), name+" is a symbolic link") {
			t.Errorf("%s: error %v", name, err)
		}
		if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
			t.Errorf("%s: the file that it links to has %q, %v", name, text, err)
		}
	}
}

// A kill anywhere between the first file and the last leaves either journals, to go on
// from, or all that the result is computed from.
func TestKilledWhileFilesAreWritten(t *testing.T) {
	l := newLab(t, "hbn_staged", 8, 3, quiz...)
	want := l.run()
	whole := l.settings.Folder
	for kept, names := range map[string][]string{
		"before the result": {"evaluation.json", "rollouts.parquet", "requests.parquet", "scores.parquet", "tasks.parquet", "manifest.json"},
	} {
		l.settings.Folder = filepath.Join(t.TempDir(), "killed")
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(whole, name))
			if err == nil {
				err = os.MkdirAll(l.settings.Folder, 0o777)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(l.settings.Folder, name), text, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s := l.open()
		if !reflect.DeepEqual(s.Result, want) {
			t.Errorf("%s: %+v, want %+v", kept, s.Result, want)
		}
	}
}

// jsonOf reads a document.
func jsonOf(t *testing.T, path string) (doc map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// record has the manifest in a folder say that a file is as it is now.
func record(t *testing.T, folder, name string) {
	t.Helper()
	path := filepath.Join(folder, "manifest.json")
	doc := jsonOf(t, path)
	for _, f := range doc["files"].([]any) {
		if f := f.(map[string]any); f["path"] == name {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			f["sha256"], f["bytes"] = fmt.Sprintf("%x", sha256.Sum256(text)), len(text)
		}
	}
	text, err := json.Marshal(doc)
	if err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
