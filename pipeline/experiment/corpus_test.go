package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/store/profile"
	"speceval/pipeline/config"
)

// TestPublishedMeansExactlyThePapersProfiles guards the paper's columns: another set of profiles
// must not be held against its numbers.
func TestPublishedMeansExactlyThePapersProfiles(t *testing.T) {
	all := must(profile.Parse(data.Profiles(), data.ProfilesName))
	papers, _, _ := profile.Evaluated(all)
	changed := slices.Clone(papers)
	changed[5].PassCounts = slices.Clone(changed[5].PassCounts)
	changed[5].PassCounts[0] ^= 1
	for name, profiles := range map[string][]profile.Profile{"the paper's": papers, "one less": papers[1:], "all of the release": all, "one count changed": changed} {
		same(t, name+" is published", arePublished(profiles), name == "the paper's")
	}
}

func TestProfilesOfTheCorpus(t *testing.T) {
	dir := filesIn(t, map[string]string{"own.csv": "benchmark,model,task_index,task_id,pass_count,tested_k\nb,m,0,x,1,4\nb,m,1,y,2,4\n"})
	const published = "published profiles stand in: data/profiles.parquet"
	for _, tt := range []struct {
		text, standIn string // or part of the error
		profiles      int
	}{
		{"", published, 108},
		{"[[model]]\nid = \"qwen3_5_4b\"\n[[model]]\nid = \"qwen2_5_3b\"\n[[benchmark]]\nid = \"aime24\"\n", published, 2},
		{"[corpus]\nprofiles = \"" + dir + "/own.csv\"\n", "profiles from " + dir + "/own.csv", 1},
		{"[[model]]\nid = \"gpt\"\n", `model "gpt": data/profiles.parquet has no profile`, 0},
		{"[[benchmark]]\nid = \"aime\"\n", `benchmark "aime": data/profiles.parquet has no profile`, 0},
		{"[corpus]\nprofiles = \"absent.csv\"\n", "corpus.profiles: open absent.csv", 0},
	} {
		profiles, standIn, err := knownProfiles(must(config.Parse([]byte(tt.text), "c.toml", nil)))
		if len(profiles) != tt.profiles || err == nil && standIn != tt.standIn || (err != nil) != (tt.profiles == 0) || err != nil && !strings.Contains(err.Error(), tt.standIn) {
			t.Errorf("%q: %d profiles, %q, %v", tt.text, len(profiles), standIn, err)
		}
	}
}

// two is a task file with two tasks.
const two = `{"id":"a","prompt":"1?","answer":"1","scorer":"math"}
{"id":"b","prompt":"2?","answer":"2","scorer":"math"}
`

func TestTaskFilesThatAreBuiltIn(t *testing.T) {
	dir, cfg := t.TempDir(), config.Default()
	cfg.Corpus.Tasks = dir
	for id, name := range map[string]string{"smallbench": data.SmallBenchmarkName, "primer": data.PrimerName} {
		read := must(ReadTasks(cfg, config.Benchmark{ID: id}))
		if read.Path != name || len(read.Tasks) < 60 {
			t.Errorf("%s: %d tasks of %s", id, len(read.Tasks), read.Path)
		}
		path := filepath.Join(dir, id+".jsonl")
		write(path, two) // a file of one's own comes first
		read = must(ReadTasks(cfg, config.Benchmark{ID: id}))
		same(t, id, fmt.Sprint(read.Path, len(read.Tasks)), fmt.Sprint(path, 2))
	}
	_, err := ReadTasks(cfg, config.Benchmark{ID: "aime24"})
	same(t, "aime24 without a file: is not there", errors.Is(err, fs.ErrNotExist), true)
}

// ownConfig is an experiment on a benchmark of one's own.
func ownConfig(t *testing.T, corpus, tasks string) *config.Config {
	t.Helper()
	return must(config.Parse([]byte("[corpus]\nsource = \"vllm\"\n"+corpus+"[[benchmark]]\nid = \"own\"\ntasks = '"+tasks+"'\n"), "e.toml", nil))
}

func TestOwnBenchmarksHaveOwnFiles(t *testing.T) {
	dir := filesIn(t, map[string]string{"mine.csv": ownRows, "other.jsonl": `{"benchmark_id":"x","id":"a","prompt":"p","answer":"1","scorer":"math"}`, "own.jsonl": two})
	all, absent, err := readTasks(ownConfig(t, "", filepath.Join(dir, "mine.csv")))
	if err != nil || absent != nil || len(all) != 1 || all[0].ID != "own" || len(all[0].Tasks) != 4 || all[0].Tasks[0].Benchmark != "own" || all[0].Tasks[0].Prompt != "Which one\r\nis \"red\"?" {
		t.Errorf("%+v, %v", all, err)
	}
	_, _, err = readTasks(ownConfig(t, "", filepath.Join(dir, "other.jsonl")))
	says(t, err, "other.jsonl holds tasks of x")
	_, absent, err = readTasks(ownConfig(t, "tasks = '"+dir+"'\n", filepath.Join(dir, "absent.csv")))
	ok(t, err)
	says(t, absent, "absent.csv: put them there", "[[benchmark]]")
	_, err = ReadTasks(config.Default(), config.Benchmark{ID: "primer", Tasks: "absent.csv"})
	same(t, "a file that is named is not there", errors.Is(err, fs.ErrNotExist), true)
}

// Other templates are other questions, by the digest that rollouts are kept by.
func TestTemplatesArePartOfWhatRolloutsAreOf(t *testing.T) {
	dir := filesIn(t, map[string]string{
		"mine.csv": ownRows, "other/judge.txt": "{{.Problem}}?", "other/gpqa.txt": "{{.Problem}}", "other/own.md": "",
		"same/gpqa.txt": "{{.Problem}}", "same/aime24.txt": "{{.Problem}}", "wrong/mine.txt": "{{.Problem}}", "lost/math.txt": "Solve it.",
	})
	source := func(prompts string) (string, error) {
		if prompts != "" {
			prompts = "prompts = '" + filepath.Join(dir, prompts) + "'\n"
		}
		all, _, err := readTasks(ownConfig(t, prompts, filepath.Join(dir, "mine.csv")))
		if err != nil {
			return "", err
		}
		return all[0].Prompts().SHA256, nil
	}
	ours := must(source(""))
	for folder, as := range map[string]bool{"same": true, "other": false} {
		same(t, "templates of "+folder+" are ours", must(source(folder)) == ours, as)
	}
	for folder, want := range map[string]string{
		"wrong": "wrong: prompt mine.txt: is for nothing that is asked", "lost": `lost: prompt math.txt: the user turn lacks "<the problem>"`, "absent": "absent: ",
	} {
		_, err := source(folder)
		says(t, err, "corpus.prompts: "+filepath.Join(dir, want))
	}
}

// docs/benchmarks.md shows the same two tasks in both forms.
func TestOwnBenchmarksOfThePage(t *testing.T) {
	page := must(os.ReadFile("../../docs/benchmarks.md"))
	prompts := must(Prompts(config.Default()))
	block := func(language, has string) string {
		for _, part := range strings.Split(string(page), "```"+language+"\n")[1:] {
			if text, _, _ := strings.Cut(part, "```"); strings.Contains(text, has) {
				return text
			}
		}
		t.Fatalf("the page has no %s with %s", language, has)
		return ""
	}
	dir := filesIn(t, map[string]string{"mine.csv": block("csv", "primes"), "mine.jsonl": block("json", "primes")})
	var both [][]benchmark.Task
	for _, name := range []string{"mine.csv", "mine.jsonl"} {
		both = append(both, must(benchmark.Reader{Prompts: prompts}.Read(filepath.Join(dir, name))))
	}
	if len(both[0]) != 2 || !reflect.DeepEqual(both[0], both[1]) {
		t.Errorf("CSV %+v\nJSONL %+v", both[0], both[1])
	}
	cfg := must(config.Parse([]byte(block("toml", "mine")), "benchmarks.md", nil))
	same(t, "the file", cfg.Benchmarks[0].Tasks, "mine.jsonl")
}

// write writes a program or a file, and the folders above it.
func write(path, text string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o777)); err != nil {
		panic(err)
	}
}

// filesIn is a folder with these files, by their names.
func filesIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

const ownRows = "\ufeffid,prompt,answer,scorer,options\r\n" +
	"a,\"Which one\r\nis \"\"red\"\"?\",B,choice,\"[\"\"sky\"\",\"\"rose\"\"]\"\r\n" +
	"b,Why?,So,judge,\r\n" +
	"c,1+1?,2,math,\r\n" +
	"d,1+1?,2,math,\r\n"

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// same fails where a value is not the wanted one.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// says fails unless an error has every part.
func says(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q", err, part)
		}
	}
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
