package benchmark_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/scoring/family"
)

const hexDigest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// wide is a task file that uses every key.
const wide = `{"benchmark_id":"b","task_id":"m/1","task_index":0,"prompt":"1+1?","user_prompt":"Problem: 1+1?","system_prompt":null,"answer":"2","scorer":"math"}
{"benchmark_id":"b","task_id":"c","task_index":1,"prompt":"Which?","user_prompt":"Which? A) ä, B) <b>","system_prompt":"Be short.","answer":"B","scorer":"choice","options":2,"option_texts":["ä","<b>"]}
{"benchmark_id":"b","task_id":"s","task_index":2,"prompt":"Echo","user_prompt":"Echo","system_prompt":null,"scorer":"code","tests":[{"kind":"stdin","input":"","output":""},{"kind":"stdin","input":"a\n","output":"a\n"}]}
{"benchmark_id":"b","task_id":"f","task_index":3,"prompt":"Add","user_prompt":"Add","system_prompt":null,"scorer":"code","tests":[{"kind":"function","function":"add","input":"1\n[2]","output":"3"}]}
{"benchmark_id":"b","task_id":"l","task_index":4,"prompt":"Long","user_prompt":"Long","system_prompt":null,"scorer":"code","tests_file":"tests/l.json"}
{"benchmark_id":"b","task_id":"z","task_index":5,"prompt":"Longer","user_prompt":"Longer","system_prompt":null,"scorer":"code","tests_file":"tests/z.json.gz","tests_sha256":"` + hexDigest + `"}
{"benchmark_id":"b","task_id":"j","task_index":6,"prompt":"Why?","user_prompt":"Why?","system_prompt":null,"answer":"So","scorer":"judge"}
{"benchmark_id":"b","task_id":"n","task_index":7,"prompt":"pi?","user_prompt":"pi?","system_prompt":null,"answer":"3.14","tolerance":"0.01","scorer":"number"}
`

func TestEveryKeyIsReadAndWritten(t *testing.T) {
	want := []benchmark.Task{
		{Benchmark: "b", ID: "m/1", Prompt: "1+1?", UserPrompt: "Problem: 1+1?", Answer: "2", Scorer: "math"},
		{Benchmark: "b", ID: "c", Index: 1, Prompt: "Which?", UserPrompt: "Which? A) ä, B) <b>", SystemPrompt: "Be short.",
			Answer: "B", Scorer: "choice", Options: 2, OptionTexts: []string{"ä", "<b>"}},
		{Benchmark: "b", ID: "s", Index: 2, Prompt: "Echo", UserPrompt: "Echo", Scorer: "code",
			Tests: []benchmark.Test{{Kind: "stdin"}, {Kind: "stdin", Input: "a\n", Output: "a\n"}}},
		{Benchmark: "b", ID: "f", Index: 3, Prompt: "Add", UserPrompt: "Add", Scorer: "code",
			Tests: []benchmark.Test{{Kind: "function", Function: "add", Input: "1\n[2]", Output: "3"}}},
		{Benchmark: "b", ID: "l", Index: 4, Prompt: "Long", UserPrompt: "Long", Scorer: "code", TestsFile: "tests/l.json"},
		{Benchmark: "b", ID: "z", Index: 5, Prompt: "Longer", UserPrompt: "Longer", Scorer: "code", TestsFile: "tests/z.json.gz", TestsSHA256: hexDigest},
		{Benchmark: "b", ID: "j", Index: 6, Prompt: "Why?", UserPrompt: "Why?", Answer: "So", Scorer: "judge"},
		{Benchmark: "b", ID: "n", Index: 7, Prompt: "pi?", UserPrompt: "pi?", Answer: "3.14", Tolerance: "0.01", Scorer: "number"},
	}
	got, err := benchmark.Reader{}.Parse([]byte(wide), "b.jsonl")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if text := written(t, got); text != wide {
		t.Errorf("written as\n%swant\n%s", text, wide)
	}
}

func written(t *testing.T, tasks []benchmark.Task) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, benchmark.WriteTasks(&b, tasks))
	return b.String()
}

// The escapes are those of json.dumps with ensure_ascii=False in Python 3.
func TestTextsAreWrittenAsTheyAre(t *testing.T) {
	tasks := []benchmark.Task{{
		Benchmark: "b", ID: "x", Prompt: "<a&b> \u2028\u2029 \x7f é \ufffd 🙂", UserPrompt: "\x00\x01\b\t\n\v\f\r\x1f\"\\/", Answer: "\u00a0", Scorer: "math",
	}}
	want := `{"benchmark_id":"b","task_id":"x","task_index":0,"prompt":"<a&b> ` + "\u2028\u2029 \x7f é \ufffd 🙂" + `","user_prompt":"` +
		`\u0000\u0001\b\t\n\u000b\f\r\u001f\"\\/` + `","system_prompt":null,"answer":"` + "\u00a0" + `","scorer":"math"}` + "\n"
	text := written(t, tasks)
	if text != want {
		t.Errorf("written as %q, want %q", text, want)
	}
	got, err := benchmark.Reader{}.Parse([]byte(text), "b.jsonl")
	if err != nil || !reflect.DeepEqual(got, tasks) {
		t.Errorf("read back as %+v, %v", got, err)
	}
}

func TestFaultsOfTaskFilesNameLineAndKey(t *testing.T) {
	one := func(more string) string {
		return `{"task_id":"x","prompt":"p","answer":"2","scorer":"math"` + more + "}\n"
	}
	choice := func(more string) string {
		return `{"task_id":"x","prompt":"p","user_prompt":"u","scorer":"choice"` + more + "}\n"
	}
	code := func(more string) string {
		return `{"task_id":"x","prompt":"p","user_prompt":"u","scorer":"code"` + more + "}\n"
	}
	test := func(members string) string {
		return code(`,"tests":[{"kind":"stdin","input":"","output":""},{` + members + `}]`)
	}
	cases := []struct{ text, want string }{
		{"", "b.jsonl: is empty"},
		{one(",\"note\":\"\xff\""), "line 1: note: invalid UTF-8"},
		{"null\n", "line 1: is no record: it must be a JSON object"},
		{"{\n", "line 1: is no JSON"},
		{`{"task_id":` + "\n", "line 1: task_id: unexpected EOF"},
		{`{1:2}` + "\n", "line 1: is no JSON"},
		{`{"task_id":"x"]` + "\n", "line 1: is no JSON"},
		{strings.TrimSuffix(one(""), "\n") + "{}\n", "line 1: is no JSON: byte"},
		{one(`,"tolerence":"1"`), "line 1: tolerence: is not a key of a task file, did you mean tolerance?"},
		{one(`,"Answer":"2"`), "line 1: Answer: is there twice"},
		{one(`,"system":"s"`), "line 1: system: is not a key of a task file, did you mean system_prompt?"},
		{one(`,"level":3,"metadata":{"level":4}`), "line 1: metadata.level: is there beside the key level"},
		{one(`,"answer":true`), "line 1: answer: is there twice"},
		{`{"id":"x","prompt":"p","answer":true,"scorer":"math"}`, "line 1: answer: must be a text, is true"},
		{`{"id":"x","task_id":"x","prompt":"p","answer":"2","scorer":"math"}`, "line 1: task_id: is there beside id"},
		{one(`,"user_prompt":"u","messages":[{"role":"user","content":"u"}]`), "line 1: messages: is there beside user_prompt"},
		{one(`,"messages":[]`), "line 1: messages: has no turn"},
		{one(`,"messages":"u"`), "line 1: messages: must be a list, is a text"},
		{one(`,"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]`), `line 1: messages[1].role: is "assistant", the last turn must be the user's`},
		{one(`,"messages":[{"role":"user","content":"u"},{"role":"system","content":"a"},{"role":"user","content":"u"}]`), `line 1: messages[1].role: is "system", must be user or assistant`},
		{one(`,"messages":[{"role":"user","content":[{"type":"image_url"}]}]`), `line 1: messages[0].content: has a part of the type "image_url": only texts are asked`},
		{one(`,"messages":[{"role":"user"}]`), "line 1: messages[0].content: is missing or empty"},
		{`{"id":"x","prompt":"p","answer":"A","scorer":"choice","options":["1","2"],"option_texts":["1","2"]}`, "line 1: option_texts: is there beside another list"},
		{`{"id":"x","prompt":"p","answer":"2","scorer":"math","options":["1","2"]}`, "line 1: options: is there, but the scorer is math"},
		{one(`,"answer":"2"`), "line 1: answer: is there twice"},
		{one(`,"benchmark_id":"a/b"`), `line 1: benchmark_id: is "a/b", must be a name`},
		{one(`,"benchmark_id":null,"task_index":null,"user_prompt":null,"options":null,"tests":null`), ""},
		{one(`,"task_index":1`), "line 1: task_index: is 1, must be 0 here"},
		{one(`,"task_index":"0"`), `line 1: task_index: must be an integer, is a text`},
		{one(`,"task_index":0.5`), "line 1: task_index: must be an integer, is a number"},
		{one(`,"user_prompt":""`), "line 1: user_prompt: is missing or empty"},
		{one(`,"user_prompt":"\ud800"`), "line 1: user_prompt: invalid surrogate pair"},
		{one(`,"options":4`), "line 1: options: is there, but the scorer is math"},
		{one(`,"option_texts":[]`), ""},
		{one(`,"option_texts":["a"]`), "line 1: option_texts: is there, but the scorer is math"},
		{one(`,"tests":[{"kind":"stdin","input":"","output":""}]`), "line 1: tests: is there, but"},
		{one(`,"tests_file":"t.json"`), "line 1: tests_file: is there, but"},
		{`{"prompt":"p","answer":"2","scorer":"math"}`, "line 1: id: is missing or empty"},
		{`{"task_id":"","prompt":"p","answer":"2","scorer":"math"}`, "line 1: id: is missing or empty"},
		{`{"task_id":"x","answer":"2","scorer":"math"}`, "line 1: prompt: is missing or empty"},
		{`{"task_id":"x","prompt":"p","answer":"2"}`, `line 1: scorer: is "", must be one of`},
		{`{"task_id":"x","prompt":"p","answer":"2","scorer":"maths"}`, `line 1: scorer: is "maths", must be one of math, choice, judge, code`},
		{`{"task_id":"x","prompt":"p","scorer":"judge","answer":"a"}
{"task_id":"m","prompt":"p","scorer":"math","answer":"1"}
{"task_id":"y","prompt":"p","scorer":"judge-graded"}
{"task_id":"z","prompt":"p","scorer":"judge"}`, "line 4: answer: is missing, and there in the first record whose scorer is judge"},
		{`{"task_id":"x","prompt":"p","scorer":"judge"}
{"task_id":"y","prompt":"p","scorer":"judge","answer":"a"}`, "line 2: answer: is there, and missing in the first"},
		{`{"task_id":"x","prompt":"p","scorer":"math","answer":null}`, "line 1: answer: is missing or empty"},
		{choice(`,"answer":"A"`), "line 1: options: is missing or not from 2 to 26"},
		{choice(`,"answer":"A","options":1`), "line 1: options: is missing or not"},
		{choice(`,"answer":"E","options":4`), `line 1: answer: is "E", must be a letter from A to D`},
		{choice(`,"answer":"a","options":4`), `line 1: answer: is "a", must be a letter`},
		{choice(`,"answer":"A","options":4,"option_texts":["x"]`), "line 1: option_texts: has 1 texts, options says 4"},
		{choice(`,"answer":"A","options":2,"option_texts":["x",""]`), "line 1: option_texts: has an empty text"},
		{choice(`,"answer":"A","options":2,"option_texts":"xy"`), "line 1: option_texts: must be a list, is a text"},
		{code(""), "line 1: tests: is missing or empty"},
		{code(`,"tests":[]`), "line 1: tests: is missing or empty"},
		{code(`,"tests":{}`), "line 1: tests: must be a list, is an object"},
		{code(`,"tests":[7]`), "line 1: tests: [0]: must be an object"},
		{code(`,"answer":"2","tests_file":"t.json"`), "line 1: answer: is there, but code is scored by its tests"},
		{code(`,"tests":[{"kind":"stdin","input":"","output":""}],"tests_file":"t.json"`), "line 1: tests_file: is there beside tests"},
		{code(`,"tests_file":"../t.json"`), `line 1: tests_file: is "../t.json", must be a path below`},
		{code(`,"tests_file":"/t.json"`), "line 1: tests_file: is"},
		{code(`,"tests_file":"a\\b.json"`), "line 1: tests_file: is"},
		{code(`,"tests":[{"kind":"stdin","input":"","output":""}],"tests_sha256":"` + hexDigest + `"`), "line 1: tests_sha256: is there without a tests_file"},
		{one(`,"tests_sha256":"` + hexDigest + `"`), "line 1: tests_sha256: is there without"},
		{code(`,"tests_file":"t.json","tests_sha256":7`), "line 1: tests_sha256: is \"7\", must be"},
		{code(`,"tests_file":"t.json","tests_sha256":"` + hexDigest[1:] + `"`), "line 1: tests_sha256: is"},
		{code(`,"tests_file":"t.json","tests_sha256":"` + strings.ToUpper(hexDigest) + `"`), "must be a SHA-256"},
		{test(`"kind":"stdin","input":"","output":"","time":3`), `line 1: tests: [1].time: is none of the keys`},
		{test(`"kind":"stdin","kind":"stdin","input":"","output":""`), "line 1: tests[1].kind: is there twice"},
		{test(`"kind":"stdin","input":4,"output":""`), "line 1: tests: [1].input: must be a text, is a number"},
		{test(`"kind":"stdin","input":""`), "line 1: tests[1]: lacks its input or its output"},
		{test(`"kind":"unit","input":"","output":""`), `line 1: tests[1]: kind: is "unit", must be stdin or function`},
		{test(`"kind":"function","function":"f","input":"","output":"1"`), `line 1: tests[1]: kind: is "function", but "stdin" in the first`},
		{test(`"kind":"stdin","function":"f","input":"","output":"1"`), `line 1: tests[1]: function: is "f", but ""`},
		{code(`,"tests":[{"kind":"stdin","function":"f","input":"","output":""}]`), "tests[0]: function: is there, but the kind is stdin"},
		{code(`,"tests":[{"kind":"function","function":"f()","input":"","output":"1"}]`), `tests[0]: function: is "f()", must be the name`},
		{code(`,"tests":[{"kind":"function","function":"f","input":"x","output":"1"}]`), `tests[0]: input: has the line "x", must be a JSON value`},
		{code(`,"tests":[{"kind":"function","function":"f","input":"","output":"x"}]`), `tests[0]: output: is "x", must be a JSON value`},
		{one("") + strings.ReplaceAll(one(""), `"p"`, `"q"`), `line 2: id: is "x", as in line 1`},
		{"{}}\n" + one(`,"cluster":"c"`), "line 1: is no JSON"},
		{one("") + strings.ReplaceAll(one(""), `"x"`, `"y"`), ""}, // asked the same: only the simulated fleet minds
		{one("") + strings.NewReplacer(`"x"`, `"y"`, `"p"`, `"q"`).Replace(one(`,"benchmark_id":"c"`)), `line 2: benchmark_id: is "c", but "b" in the first record`},
	}
	for _, c := range cases {
		_, err := reader(t).Parse([]byte(c.text), "b.jsonl")
		if c.want == "" && err == nil {
			continue
		}
		if text := fmt.Sprint(err); c.want == "" || !strings.Contains(text, c.want) || !strings.HasPrefix(text, "b.jsonl: ") || strings.Contains(text, "\n") {
			t.Errorf("%.120q: error %q, want one fault with %q", c.text, text, c.want)
		}
	}
}

// A judge and a grader of the user's own need no answer.
func TestTasksWithoutAnAnswer(t *testing.T) {
	for _, scorer := range []string{"judge", "judge-graded", "command", "command-graded"} {
		for name, text := range map[string]string{
			"b.jsonl": `{"id":"a","prompt":"p","scorer":"` + scorer + "\"}\n" + `{"id":"b","prompt":"q","scorer":"` + scorer + `"}`,
			"b.csv":   "id,prompt,scorer,answer\na,p," + scorer + ",\nb,q," + scorer + ",\n",
		} {
			tasks, err := reader(t).Parse([]byte(text), name)
			if err != nil || len(tasks) != 2 || tasks[1].Answer != "" || tasks[1].UserPrompt == "" {
				t.Errorf("%s in %s: %+v, %v", scorer, name, tasks, err)
			}
		}
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	const text = `{"task_id":"x","prompt":"p","scorer":"maths","levels":1}` + "\n" + `{"task_id":"x","prompt":{},"task_index":7}` + "\n" + `{"task_id":"x","prompt":4,"answer":"2","scorer":"math","task_index":7}`
	_, err := reader(t).Parse([]byte(text), "b.jsonl")
	want := `b.jsonl: line 1: scorer: is "maths", must be one of ` + strings.Join(family.Names(), ", ") + `
b.jsonl: line 2: prompt: must be a text, is an object
b.jsonl: line 3: id: is "x", as in line 1
b.jsonl: line 3: task_index: is 7, must be 2 here`
	if fmt.Sprint(err) != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = reader(t).Parse([]byte(strings.Repeat("{}\n", 40)), "b.jsonl")
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != 21 || lines[20] != "b.jsonl: and 100 more faults" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestTasksThatBreakTheRulesAreNotWritten(t *testing.T) {
	good := benchmark.Task{Benchmark: "b", ID: "x", Prompt: "p", UserPrompt: "p", Answer: "2", Scorer: "math"}
	wrong, garbled := good, good
	wrong.Index = 3
	garbled.Answer = "\xff"
	for want, tasks := range map[string][]benchmark.Task{
		"tasks: there are none":                           nil,
		"tasks: task 0: task_index: is 3, must be 0":      {wrong},
		"tasks: task 0: is not valid UTF-8":               {garbled},
		`tasks: task 1: id: is "x", as in task 0`:         {good, good},
		"tasks: task 1: task_index: is 0, must be 1 here": {good, good},
	} {
		var b bytes.Buffer
		if err := benchmark.WriteTasks(&b, tasks); !strings.Contains(fmt.Sprint(err), want) || b.Len() > 0 {
			t.Errorf("error %q and %d bytes, want %q", fmt.Sprint(err), b.Len(), want)
		}
	}
}

func TestDigestsCoverWhatTheySay(t *testing.T) {
	digests := func(text string) [2]string {
		tasks := must(benchmark.Reader{}.Parse([]byte(text), "b.jsonl"))
		return [2]string{benchmark.Digest(tasks), benchmark.PromptDigest(tasks)}
	}
	base := digests(wide)
	if base[0] != sha256hex(wide) {
		t.Error("Digest is not that of the written file")
	}
	for _, change := range []struct {
		old, new string
		asked    bool // whether what is asked changes
	}{
		{`"benchmark_id":"b"`, `"benchmark_id":"c"`, true}, {"m/1", "m/2", true}, {"Problem: 1", "Task: 1", true},
		{"Be short.", "Be long.", true}, {`"answer":"2"`, `"answer":"3"`, false}, {"a\\n", "b\\n", false},
		{`"0.01"`, `"1%"`, false}, {`"ä"`, `"ö"`, false}, {"tests/l.json", "l.json", false},
		{hexDigest, strings.Repeat("0", 64), false},
	} {
		got := digests(strings.ReplaceAll(wide, change.old, change.new))
		if got[0] == base[0] || got[1] != base[1] != change.asked {
			t.Errorf("%q for %q: digests %v after %v", change.new, change.old, got, base)
		}
	}
}
