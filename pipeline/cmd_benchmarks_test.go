package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/made"
	"speceval/internal/benchmark/upstream"
	"speceval/internal/golden"
	"speceval/pipeline/experiment"
)

// upstreamFiles makes the files of some sources, and gives their folder.
func upstreamFiles(t *testing.T, sources ...string) string {
	t.Helper()
	groups := slices.DeleteFunc(must(experiment.PaperGroups()), func(g upstream.Group) bool { return !slices.Contains(sources, g.Source.ID) })
	dir := t.TempDir()
	ok(t, made.Write(dir, made.Options{Groups: groups, IDs: experiment.PaperIDs(), Seed: 1, Tests: 1 << 20, Images: 3000}))
	return dir
}

func TestBenchmarksList(t *testing.T) {
	golden.Check(t, "benchmarks-list.txt", []byte(said(t, exitDone, "benchmarks", "list")))
	var all []map[string]any
	if err := json.Unmarshal([]byte(said(t, exitDone, "benchmarks", "list", "--json")), &all); err != nil || len(all) != 18 {
		t.Fatalf("%d benchmarks, %v", len(all), err)
	}
	gpqa := all[slices.IndexFunc(all, func(g map[string]any) bool { return g["benchmark"] == "gpqa_diamond__domain_physics" })]
	if gpqa["gated"] != true || gpqa["tasks"] != 86.0 || gpqa["revision"] != "633f5ee89ab8ad4522a9f850766b73f62147ffdd" || gpqa["scorer"] != "choice" {
		t.Errorf("GPQA is %v", gpqa)
	}
}

func TestBenchmarksUsage(t *testing.T) {
	outcomes(t, onShell, []outcome{
		{words("benchmarks"), exitUsage, "--from"},
		{words("benchmarks --from x aime23"), exitUsage, `no benchmark "aime23"`},
		{words("benchmarks list all"), exitUsage, `unknown command "all"`},
		{words("benchmarks --from x --config no"), exitUsage, "no such file"},
		{words("benchmarks check"), exitUsage, ""}, {words("benchmarks check a b"), exitUsage, ""},
		{words("benchmarks check absent.jsonl"), exitUsage, "absent.jsonl"},
		{words("benchmarks check " + t.TempDir()), exitUsage, "has no task files"},
	})
}

func TestBenchmarksFromAFolder(t *testing.T) {
	from, to := upstreamFiles(t, "aime25", "hmmt", "mmlu"), filepath.Join(t.TempDir(), "tasks")
	want(t, "stdout", said(t, exitDone, "benchmarks", "--from", from, "--to", to, "hmmt", "aime25"),
		filepath.Join(to, "aime25.jsonl")+": 30 tasks, the published ids in order; asked in other words than upstream's", "hmmt.jsonl: 30 tasks")

	// A group that cannot be prepared does not keep the others from it.
	want(t, "some", said(t, exitFailed, "benchmarks", "--from", from, "--to", to, "aime25", "aime26", "mmlu_science__subject_college_physics"),
		"aime25.jsonl: 30 tasks", "aime26: ", "is not there: download it (--download)", "mmlu_science__subject_college_physics: not the tasks of the paper", "another revision")

	stdout := said(t, exitDone, "benchmarks", "--from", from, "--to", to, "--unpublished", "mmlu_science__subject_college_physics")
	want(t, "stdout", stdout, "this is not the paper's corpus", "physics.jsonl: 100 tasks; asked")
	lacks(t, "what is said of unpublished data", stdout, "published ids in order")
}

func TestBenchmarksDownload(t *testing.T) {
	const token = "hf_secretoftests"
	files := upstreamFiles(t, "aime25", "gpqa", "livecodebench")
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/datasets/"), "/", 5) // owner, name, resolve, revision, file
		if strings.HasPrefix(r.URL.Path, "/datasets/Idavidrein/gpqa/") && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		text := read(filepath.Join(files, parts[0], parts[1], filepath.FromSlash(parts[4])))
		w.Header().Set("X-Repo-Commit", parts[3])
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text))))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	defer hub.Close()
	from, to := filepath.Join(t.TempDir(), "upstream"), filepath.Join(t.TempDir(), "tasks")
	environment := []string{"HF_ENDPOINT=" + hub.URL}
	download := func(code int, environment ...string) string {
		t.Helper()
		ended, stdout, stderr := ran(func(s *shell) { s.environment = environment }, "--config", "../experiments.toml", "benchmarks", "--download", "--from", from, "--to", to,
			"aime25", "gpqa_diamond__domain_biology", "gpqa_diamond__domain_physics", "livecodebench_gt_2024_03_30__difficulty_hard")
		if ended != code {
			t.Errorf("%q: exit code %d, want %d", environment, ended, code)
		}
		return stdout + stderr
	}
	without := download(exitFailed, environment...)
	want(t, "without a token", without, "aime25.jsonl: 30 tasks", "hard.jsonl: 100 tasks, 600 tests", hub.URL+"/datasets/Idavidrein/gpqa", "HF_TOKEN")
	same(t, "times that the gated set is named", strings.Count(without, "accept the terms at"), 1)
	with := download(exitDone, append(environment, "HF_TOKEN="+token)...)
	want(t, "with a token", with, "biology.jsonl: 19 tasks", "physics.jsonl: 86 tasks", "livecodebench/code_generation_lite/test5.jsonl: is there already", "gpqa_diamond.csv: fetched")
	if strings.Contains(with, token) {
		t.Error("the token was printed")
	}
	want(t, "an endpoint that is none", download(exitUsage, "HF_ENDPOINT=nonsense"), "HF_ENDPOINT")
}

// TestTransfersSayHowFarTheyAre has a file of 100 MB, of which 20 were there, that
// comes in with 4 MB a second.
func TestTransfersSayHowFarTheyAre(t *testing.T) {
	now := time.Unix(1000, 0)
	var errs bytes.Buffer
	s := &session{shell: &shell{stderr: &errs, now: func() time.Time { return now }}}
	moving := s.console().Transfer("a/b.jsonl")
	for done := int64(20e6); done < 60e6; done += 4e6 {
		moving.Progress(done, 100e6)
		now = now.Add(time.Second)
	}
	moving.End()
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if len(lines) != 1 || !strings.HasSuffix(lines[0], " a/b.jsonl 40 MB of 100 MB, 4.0 MB/s, about 15 s left") {
		t.Errorf("it says %q", lines)
	}
}

// TestBenchmarksCheckHoldsThePapersIDs prepares a group, and changes its order.
func TestBenchmarksCheckHoldsThePapersIDs(t *testing.T) {
	from, to := upstreamFiles(t, "aime25"), t.TempDir()
	said(t, exitDone, "benchmarks", "--from", from, "--to", to, "aime25")
	want(t, "stdout", said(t, exitDone, "benchmarks", "check", to), "aime25.jsonl: 30 tasks of aime25: 30 math; the published ids in order; asked in other words")
	path := filepath.Join(to, "aime25.jsonl")
	write(path, strings.NewReplacer(`"task_id":"3"`, `"task_id":"4"`, `"task_id":"4"`, `"task_id":"3"`).Replace(read(path)))
	want(t, "another order", said(t, exitFailed, "benchmarks", "check", path), `task 3 is "4", published is "3"`, "published tasks are there", "--unpublished")
	if text := said(t, exitDone, "benchmarks", "check", "--unpublished", path); strings.Contains(text, "published") {
		t.Errorf("unpublished: %s", text)
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

// two is a task file with two tasks.
const two = `{"id":"a","prompt":"1?","answer":"1","scorer":"math"}
{"id":"b","prompt":"2?","answer":"2","scorer":"math"}
`

func TestCheckShowsWhatWillBeAsked(t *testing.T) {
	dir := filesIn(t, map[string]string{"mine.csv": ownRows})
	path := filepath.Join(dir, "mine.csv")
	_, stdout, stderr := onShell("benchmarks", "check", path)
	want := path + `: 4 tasks of mine: 2 math, 1 choice, 1 judge

Task a will be asked so, and "B" is right:

[user]
Choose one option and give its letter alone, one of A to B, as \boxed{letter}.
Problem: Which one` + "\r\n" + `is "red"?
Options: A) sky, B) rose
Answer:
`
	same(t, "what is printed", stdout, want)
	same(t, "the note", stderr, "note: d has the same user turn as c: if all else is the same too, the mean counts it twice; the simulated fleet takes both for one\n")
}

func TestCheckTellsAllFaults(t *testing.T) {
	dir := filesIn(t, map[string]string{
		"mine.csv": "id,prompt,answer,scorer\n" + strings.Repeat("x,p,2,maths\n", 40),
		"none":     "",
		"text.csv": "id,prompt,answer,tolerance,scorer\n" +
			"a,p,(,,regex\nb,p,about 5,,number\nc,p,5,-1,number\nd,p,0,1%,number\ne,p,5,1%,exact\nf,p, ,,exact\ng,p,,,command\nh,p,,,number\n",
		"one.jsonl": strings.SplitAfter(two, "\n")[0],
		"code.jsonl": `{"id":"a","prompt":"p","user_prompt":"p","scorer":"code","tests_file":"t.json"}
{"id":"b","prompt":"p","user_prompt":"p","scorer":"code","tests_file":"t.json"}`,
		"t.json": "[]",
	})
	for _, tt := range []struct{ path, want string }{
		{"mine.csv", `mine.csv: line 11: id: is "x", as in line 2`},
		{"none", "none: must be called .jsonl or .csv"},
		{"one.jsonl", "one.jsonl has 1 task, allocation needs at least 2"},
		{"code.jsonl", "t.json: has no tests"},
		{"text.csv", `text.csv: line 2: answer: is no regular expression (RE2): missing closing )`},
		{"text.csv", `text.csv: line 3: answer: is "about 5", must be a number and nothing else`},
		{"text.csv", `text.csv: line 4: tolerance: is "-1", must be a number from 0 on`},
		{"text.csv", `text.csv: line 5: tolerance: is "1%", and a share of 0 is nothing`},
		{"text.csv", `text.csv: line 6: tolerance: is there, but the scorer is exact`},
		{"text.csv", "text.csv: line 7: answer: is blank\n" + dir + `/text.csv: line 9: answer: is missing or empty`},
	} {
		code, stdout, stderr := onShell("benchmarks", "check", filepath.Join(dir, tt.path))
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, want a fault with %q\n%s%s", tt.path, code, tt.want, stdout, stderr)
		}
	}
}

// TestCheckReads has a folder of files, an open question, a file that the configuration names, which
// is asked as its benchmark, and one of one's own in a folder without a configuration, with a chat
// and metadata.
func TestCheckReads(t *testing.T) {
	dir := filesIn(t, map[string]string{
		"folder/good.jsonl": two, "folder/bad.jsonl": "{}\n", "folder/mine.csv": ownRows, "folder/README": "", "folder/x.tests/a.json": "",
		"open.jsonl": strings.ReplaceAll(two, "math", "judge"), "own/mine.csv": ownRows, "own/prompts/own.txt": "Own: {{.Problem}} {{.Options}}",
		"chat/chat.jsonl": `{"id":1,"messages":[{"role":"user","content":"1+1?"},{"role":"assistant","content":"2"},{"role":"user","content":"2+2?"}],"answer":4,"scorer":"math","level":3}
{"id":2,"prompt":"3+3?","answer":6,"scorer":"math"}
`,
	})
	write(dir+"/own/e.toml", "[corpus]\nprompts = '"+dir+"/own/prompts'\n[[benchmark]]\nid = \"own\"\ntasks = '"+dir+"/own/mine.csv'\n")
	check := func(line string) []string { return words("benchmarks check " + strings.ReplaceAll(line, "DIR", dir)) }
	outcomes(t, onShell, []outcome{
		{check("DIR/folder"), exitFailed, dir + "/folder/good.jsonl: 2 tasks of good: 2 math\n" + dir + "/folder/mine.csv: 4 tasks of mine: 2 math, 1 choice, 1 judge\n"},
		{check("DIR/folder"), exitFailed, "bad.jsonl: line 1: prompt: is missing"},
		{check("DIR/open.jsonl"), exitDone, "\n[system]\nReply in three lines"}, {check("DIR/open.jsonl"), exitDone, "\n[user]\n1?\n"},
		{check("DIR/own/mine.csv --config DIR/own/e.toml"), exitDone, "mine.csv: 4 tasks of own: "},
		{check("DIR/own/mine.csv --config DIR/own/e.toml"), exitDone, "\nOwn: Which one"},
	})
	t.Chdir(dir + "/chat")
	alone := func(words ...string) (int, string, string) { return ran(nil, words...) }
	outcomes(t, alone, []outcome{{check("chat.jsonl"), exitDone, "\n[user]\n1+1?\n\n[assistant]\n2\n\n[user]\n2+2?\n\nKept with its rollouts and scores: {\"level\":3}\n"}})
}
