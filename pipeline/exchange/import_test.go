package exchange_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/evaluation/logs"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/exchange"
)

const testdata = "../../internal/evaluation/logs/testdata/"

// run imports paths below the logs of harness, or absolute ones.
func run(t *testing.T, r exchange.ImportRequest, paths ...string) (*exchange.Imported, error) {
	t.Helper()
	if r.To == "" {
		r.To = filepath.Join(t.TempDir(), "p.parquet")
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = testdata + p
		}
		r.Paths = append(r.Paths, p)
	}
	return exchange.Import(r)
}

func refuses(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one with %q", err, text)
		}
	}
}

func TestLogsOfOneBenchmarkAndModelAddUp(t *testing.T) {
	for _, name := range []string{"p.csv", "p.parquet"} {
		to := filepath.Join(t.TempDir(), name)
		done, err := run(t, exchange.ImportRequest{To: to}, "inspect/zstd.eval", "inspect/deflate.eval")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		read, err := profile.ParseAny(data, to)
		if err != nil || !reflect.DeepEqual(read, done.Profiles) || len(read) != 1 {
			t.Fatalf("%s: %v, %v, want %v", name, read, err, done.Profiles)
		}
		// Each has a: 1, 0, 0.5; b: 1, 0.5; 4: 1, 0, and 12 and 5 tokens a rollout.
		p := read[0]
		p.Source = ""
		want := profile.Profile{
			Benchmark: "org__quiz", Model: "mockllm__model", Scorer: "graded", TaskIDs: []string{"a", "b", "4"},
			PassCounts: []int{2, 2, 2}, Tested: []int{6, 4, 4}, Rewards: []float64{3, 3, 2}, Squares: []float64{2.5, 2.5, 2},
			PromptTokens: []int64{72, 48, 48}, CompletionTokens: []int64{30, 20, 20},
		}
		if !reflect.DeepEqual(p, want) {
			t.Errorf("got %+v\nwant %+v", p, want)
		}
		if !strings.HasPrefix(read[0].Source, "inspect zstd.eval ") || !strings.Contains(read[0].Source, "; inspect deflate.eval ") {
			t.Errorf("source %q", read[0].Source)
		}
		var b strings.Builder
		if err := done.Text(&b); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"zstd.eval", "1 left out: it is not scored", "org__quiz__model=mockllm__model: 3 tasks, mean 0.5833, graded", "written: " + to} {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s lacks %q", b.String(), text)
			}
		}
	}
}

func TestTheFooterSaysWhereProfilesAreFrom(t *testing.T) {
	to := filepath.Join(t.TempDir(), "p.parquet")
	if _, err := run(t, exchange.ImportRequest{To: to}, "nemo-skills/aime24"); err == nil {
		t.Fatal("a model without a name")
	}
	if _, err := run(t, exchange.ImportRequest{To: to, Model: "m"}, "nemo-skills/aime24"); err != nil {
		t.Fatal(err)
	}
	_, footer, err := rowfile.ReadFooter(to)
	if err != nil || footer["speceval.schema"] != profile.Schema || !strings.Contains(footer["speceval.imported"], `"benchmark":"aime24","model":"","scorer":"symbolic_correct"`) {
		t.Errorf("footer %v, %v", footer, err)
	}
	// Passes and failures of equal number are as good as any profile.
	all, err := profile.Read(to)
	if err != nil || all[0].TestedK != 2 || !reflect.DeepEqual(all[0].PassCounts, []int{2, 1}) {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestWhatWouldCountTwiceIsRefused(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "copy.eval")
	data, err := os.ReadFile(testdata + "inspect/zstd.eval")
	if err != nil || os.WriteFile(copied, data, 0o644) != nil {
		t.Fatal(err)
	}
	_, err = run(t, exchange.ImportRequest{}, "inspect/zstd.eval", copied)
	refuses(t, err, "copy.eval is the same log as", "zstd.eval")
}

// A log of a run that was tried again has the rollouts of the run before.
func TestRolloutsOfSeveralLogsCountOnce(t *testing.T) {
	folder := t.TempDir()
	before := `{"version":2,"status":"error","eval":{"task":"t","model":"m"},"samples":[
		{"id":"x","epoch":1,"uuid":"A","scores":{"s":{"value":"C"}},"model_usage":{"m":{"input_tokens":5,"output_tokens":6}}},{"id":"y","epoch":1,"uuid":"B","scores":{"s":{"value":"I"}}}]}`
	after := strings.Replace(strings.Replace(before, "error", "success", 1), "]}", `,{"id":"y","epoch":2,"uuid":"C","scores":{"s":{"value":"C"}},"model_usage":{"m":{"input_tokens":7,"output_tokens":8}}}]}`, 1)
	for name, text := range map[string]string{"a.json": before, "b.json": after} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done, err := run(t, exchange.ImportRequest{}, folder)
	if err != nil || done.Repeated != 2 || !reflect.DeepEqual(done.Profiles[0].Tested, []int{1, 2}) {
		t.Fatalf("%+v, %v", done, err)
	}
	// Tokens of y are not known: one of its rollouts has none. No reward is graded.
	if p := done.Profiles[0]; !reflect.DeepEqual(p.PromptTokens, []int64{5, -1}) || !reflect.DeepEqual(p.CompletionTokens, []int64{6, -1}) || p.Graded() {
		t.Errorf("%+v", p)
	}
}

func TestAllocationsAreImportedAlone(t *testing.T) {
	_, err := run(t, exchange.ImportRequest{}, "inspect/zstd.eval", "inspect/allocated.eval")
	refuses(t, err, "allocated.eval is of an allocation", "import it alone")
	to := filepath.Join(t.TempDir(), "p.csv")
	done, err := run(t, exchange.ImportRequest{To: to}, "inspect/allocated.eval")
	if err != nil || !done.Profiles[0].Allocated || !reflect.DeepEqual(done.Profiles[0].Tested, []int{3, 1, 1}) {
		t.Fatalf("%+v, %v", done, err)
	}
	_, err = profile.Read(to)
	refuses(t, err, to, "profile org__quiz__model=mockllm__model is of an allocation", "--prior")
}

func TestNames(t *testing.T) {
	done, err := run(t, exchange.ImportRequest{Benchmark: "mine", Model: "other"}, "harbor")
	if err != nil || done.Profiles[0].Name() != "mine__model=other" {
		t.Errorf("%v, %v", done, err)
	}
	done, err = run(t, exchange.ImportRequest{}, "harbor")
	if err != nil || done.Profiles[0].Model != "org__model+terminus" {
		t.Errorf("%v, %v", done, err)
	}
	_, err = run(t, exchange.ImportRequest{Model: "a/b"}, "harbor")
	refuses(t, err, `--model "a/b" is not a name`, "a__b would be one")
	_, err = run(t, exchange.ImportRequest{Model: "m"}, "harbor", "terminal-bench", "verifiers")
	refuses(t, err, "and both would be quiz with m: import them apart")
	_, err = run(t, exchange.ImportRequest{}, "harbor", "terminal-bench")
	refuses(t, err, `has rewards by "reward"`, `by "is_resolved"`)
	_, err = run(t, exchange.ImportRequest{To: "p.txt"}, "harbor")
	refuses(t, err, `--to "p.txt": want a file that ends in .csv or .parquet`)
	_, err = run(t, exchange.ImportRequest{Choice: logs.Choice{Reward: "absent"}}, "harbor")
	refuses(t, err, `no scores by "absent"`)
}

// Many kinds of logs at once are as many profiles.
func TestSeveralProfilesInOneFile(t *testing.T) {
	done, err := run(t, exchange.ImportRequest{}, "harbor", "verifiers", "lm-eval", "inspect/zstd.eval")
	if err != nil || len(done.Profiles) != 4 || done.Profiles[0].Benchmark != "org__quiz" || done.Profiles[1].Model != "org__dummy" {
		t.Errorf("%+v, %v", done, err)
	}
}
