package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesIn is a folder with these files, by their names.
func filesIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
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
	code, stdout, stderr := onShell("benchmarks", "check", path)
	if code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	want := path + `: 4 tasks of mine: 2 math, 1 choice, 1 judge

Task a will be asked so, and "B" is right:

[user]
Choose one option and give its letter alone, one of A to B, as \boxed{letter}.
Problem: Which one` + "\r\n" + `is "red"?
Options: A) sky, B) rose
Answer:
`
	if stdout != want {
		t.Errorf("printed\n%s\nwant\n%s", stdout, want)
	}
	if stderr != "note: d is asked in the same words as c: the mean counts it twice, and the simulated fleet refuses it\n" {
		t.Errorf("said %s", stderr)
	}
	open := filesIn(t, map[string]string{"q.jsonl": strings.ReplaceAll(two, "math", "judge")})
	if _, stdout, _ := onShell("benchmarks", "check", filepath.Join(open, "q.jsonl")); !strings.Contains(stdout, "\n[system]\nReply in three lines") || !strings.HasSuffix(stdout, "\n[user]\n1?\n") {
		t.Errorf("an open question: %s", stdout)
	}
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
	for _, tt := range []struct {
		path string
		code int
		want string
	}{
		{"mine.csv", exitFailed, `mine.csv: line 41: id: is "x", as in line 2`},
		{"none", exitFailed, "none: must be called .jsonl or .csv"},
		{"one.jsonl", exitFailed, "one.jsonl has 1 task, allocation needs at least 2"},
		{"code.jsonl", exitFailed, "t.json: has no tests"},
		{"absent.jsonl", exitUsage, "absent.jsonl"},
		{"text.csv", exitFailed, `text.csv: line 2: answer: is no regular expression (RE2): missing closing )`},
		{"text.csv", exitFailed, `text.csv: line 3: answer: is "about 5", must be a number and nothing else`},
		{"text.csv", exitFailed, `text.csv: line 4: tolerance: is "-1", must be a number from 0 on`},
		{"text.csv", exitFailed, `text.csv: line 5: tolerance: is "1%", and a share of 0 is nothing`},
		{"text.csv", exitFailed, `text.csv: line 6: tolerance: is there, but the scorer is exact`},
		{"text.csv", exitFailed, "text.csv: line 7: answer: is blank\n" + `DIR/text.csv: line 9: answer: is missing or empty`},
	} {
		tt.want = strings.ReplaceAll(tt.want, "DIR", dir)
		code, stdout, stderr := onShell("benchmarks", "check", filepath.Join(dir, tt.path))
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s%s", tt.path, code, tt.code, tt.want, stdout, stderr)
		}
		if strings.Contains(stderr, "more faults") {
			t.Errorf("%s: not all faults are told\n%s", tt.path, stderr)
		}
	}
	for _, words := range [][]string{{}, {"a", "b"}} {
		if code, _, stderr := onShell(append([]string{"benchmarks", "check"}, words...)...); code != exitUsage {
			t.Errorf("%q: exit code %d\n%s", words, code, stderr)
		}
	}
}

func TestCheckReadsAFolder(t *testing.T) {
	dir := filesIn(t, map[string]string{"good.jsonl": two, "bad.jsonl": "{}\n", "mine.csv": ownRows, "README": "", "x.tests/a.json": ""})
	code, stdout, stderr := onShell("benchmarks", "check", dir)
	want := filepath.Join(dir, "good.jsonl") + ": 2 tasks of good: 2 math\n" + filepath.Join(dir, "mine.csv") + ": 4 tasks of mine: 2 math, 1 choice, 1 judge\n"
	if code != exitFailed || stdout != want || !strings.Contains(stderr, "bad.jsonl: line 1: prompt: is missing") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := onShell("benchmarks", "check", t.TempDir()); code != exitUsage || !strings.Contains(stderr, "has no task files") {
		t.Errorf("an empty folder: exit code %d\n%s", code, stderr)
	}
}

// The file of a configured benchmark is asked as that benchmark.
func TestCheckKnowsTheConfiguredFiles(t *testing.T) {
	dir := filesIn(t, map[string]string{"mine.csv": ownRows, "prompts/own.txt": "Own: {{.Problem}} {{.Options}}"})
	path := filepath.Join(dir, "mine.csv")
	text := "[corpus]\nprompts = '" + filepath.Join(dir, "prompts") + "'\n[[benchmark]]\nid = \"own\"\ntasks = '" + path + "'\n"
	file := filepath.Join(dir, "e.toml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := sample(t, file, "out", "benchmarks", "check", path)
	if code != exitDone || !strings.Contains(stdout, "mine.csv: 4 tasks of own: ") || !strings.Contains(stdout, "\nOwn: Which one") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}
