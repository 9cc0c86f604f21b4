package benchmark_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/scoring"
)

// own is a benchmark of a user's own, as JSONL and as CSV with the line ends of
// a spreadsheet.
const (
	ownLines = `{"id":"a","prompt":"1+1,\r\nor \"two\"?","answer":"2","scorer":"math"}
{"id":"b","prompt":"Which?","answer":"B","scorer":"choice","options":["ä","x, y"]}
{"id":"c","prompt":"Which? A) 1 B) 2","user_prompt":"Which? A) 1 B) 2","answer":"A","scorer":"choice","options":2}
{"id":"d","prompt":"Add.","scorer":"code","tests":[{"kind":"function","function":"add","input":"1\n2","output":"3"}]}
{"id":"e","prompt":"Why?","answer":"So","scorer":"judge","system_prompt":"Be long."}
{"id":"f","prompt":"1+1,\r\nor \"two\"?","answer":"2","scorer":"math"}
`
	ownRows = "\ufeffscorer,id,prompt,answer,options,tests,user_prompt,system_prompt\r\n" +
		"math,a,\"1+1,\r\nor \"\"two\"\"?\",2,,,,\r\n" +
		"choice,b,Which?,B,\"[\"\"ä\"\", \"\"x, y\"\"]\",,,\r\n" +
		"choice,c,Which? A) 1 B) 2,A,2,,Which? A) 1 B) 2,\r\n" +
		"code,d,Add.,,,\"[{\"\"kind\"\":\"\"function\"\",\"\"function\"\":\"\"add\"\",\"\"input\"\":\"\"1\\n2\"\",\"\"output\"\":\"\"3\"\"}]\",,\r\n" +
		"judge,e,Why?,So,,,,Be long.\r\n" +
		"math,f,\"1+1,\r\nor \"\"two\"\"?\",2,,,,\r\n"
)

func TestABenchmarkOfOnesOwn(t *testing.T) {
	const sum = "1+1,\r\nor \"two\"?"
	want := []benchmark.Task{
		{Benchmark: "mine", ID: "a", Prompt: sum, UserPrompt: "P: " + sum + "\n", Answer: "2", Scorer: "math"},
		{Benchmark: "mine", ID: "b", Index: 1, Prompt: "Which?", UserPrompt: "A-B|Which?|A) ä, B) x, y",
			Answer: "B", Scorer: "choice", Options: 2, OptionTexts: []string{"ä", "x, y"}},
		{Benchmark: "mine", ID: "c", Index: 2, Prompt: "Which? A) 1 B) 2", UserPrompt: "Which? A) 1 B) 2",
			Answer: "A", Scorer: "choice", Options: 2},
		{Benchmark: "mine", ID: "d", Index: 3, Prompt: "Add.", UserPrompt: "call add: Add.", Scorer: "code",
			Tests: []benchmark.Test{{Kind: "function", Function: "add", Input: "1\n2", Output: "3"}}},
		{Benchmark: "mine", ID: "e", Index: 4, Prompt: "Why?", UserPrompt: "Why?", SystemPrompt: "Be long.", Answer: "So", Scorer: "judge"},
		{Benchmark: "mine", ID: "f", Index: 5, Prompt: sum, UserPrompt: "P: " + sum + "\n", Answer: "2", Scorer: "math"},
	}
	for name, text := range map[string]string{"a/mine.jsonl": ownLines, "mine.csv": ownRows, "MINE.CSV": strings.ReplaceAll(ownRows, "\ufeff", "")} {
		r := reader(t)
		if name == "MINE.CSV" {
			r.Benchmark = "mine"
		}
		got, err := r.Parse([]byte(text), name)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		// What is asked is a task file like any other.
		if again, err := (benchmark.Reader{}).Parse([]byte(written(t, got)), "other.jsonl"); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s: read back as %+v, %v", name, again, err)
		}
	}
}

func TestSystemTurnsOfTemplatesAndOfTasks(t *testing.T) {
	judge := func(more string) string {
		return `{"id":"x","prompt":"Why?","answer":"So","scorer":"judge"` + more + "}"
	}
	for more, want := range map[string]string{
		"": "Brief.", `,"system_prompt":null`: "Brief.", `,"system_prompt":""`: "", `,"system_prompt":"Long."`: "Long.",
		`,"user_prompt":"u"`: "", `,"user_prompt":"u","system_prompt":"s"`: "s",
	} {
		tasks, err := reader(t).Parse([]byte(judge(more)), "b.jsonl")
		if err != nil || tasks[0].SystemPrompt != want {
			t.Errorf("%s: %+v, %v; want %q", more, tasks, err, want)
		}
	}
}

// What spreadsheets, editors and scripts write is read as it is meant.
func TestTaskFilesAsPeopleHaveThem(t *testing.T) {
	want := []benchmark.Task{
		{Benchmark: "b", ID: "1", Prompt: "1+1?", UserPrompt: "P: 1+1?\n", Answer: "2.50", Scorer: "math"},
		{Benchmark: "b", ID: "2", Index: 1, Prompt: "2+2?", UserPrompt: "P: 2+2?\n", Answer: "4", Scorer: "math"},
	}
	one := `{"id":"1","prompt":"1+1?","answer":"2.50","scorer":"math"}`
	two := `{"id":"2","prompt":"2+2?","answer":"4","scorer":"math"}`
	const head, first, second = "id,prompt,answer,scorer", "1,1+1?,2.50,math", "2,2+2?,4,math"
	for what, text := range map[string]string{
		"a byte order mark":    "\ufeff" + one + "\n" + two,
		"lines of Windows":     one + "\r\n" + two + "\r\n",
		"blank lines":          "\n" + one + "\n\n  \n" + two + "\n\n",
		"numbers":              `{"id":1,"prompt":"1+1?","answer":2.50,"scorer":"math"}` + "\n" + `{"id":2,"prompt":"2+2?","answer":4,"scorer":"math"}`,
		"other cases of keys":  strings.NewReplacer(`"id"`, `"ID"`, `"answer"`, `"Answer"`).Replace(one + "\n" + two),
		"nulls":                strings.ReplaceAll(one+"\n"+two, "}", `,"tolerance":null,"options":null,"tests":null,"metadata":null,"messages":null,"user_prompt":null}`),
		"rows of Windows":      head + "\r\n" + first + "\r\n" + second + "\r\n",
		"blank rows":           "\ufeff" + head + "\n\n" + first + "\n,,,\n" + second + "\n,,,\n\n",
		"columns without name": head + ",,\n" + first + ",,\n" + second + ",,\n",
		"cells behind the row": head + "\n" + first + ",,\n" + second + "\n",
		"a header with spaces": strings.ReplaceAll(head, ",", " , ") + "\n" + first + "\n" + second,
		"camels for keys":      strings.ReplaceAll(strings.ReplaceAll(one+"\n"+two, `"id"`, `"taskId"`), "}", `,"systemPrompt":null}`),
		"a header in capitals": strings.ToUpper(head) + "\n" + first + "\n" + second,
		"solutions of GSM8K":   strings.NewReplacer("2.50", `1+1.5 is\n#### 2.50`, `"4"`, `"#### 4"`).Replace(one + "\n" + two),
		"empty cells":          head + ",options,user_prompt,level\n" + first + ",,,\n" + second + ",,,\n",
	} {
		name := "b.jsonl"
		if strings.Contains(strings.ReplaceAll(strings.ToLower(text), " ", ""), head) {
			name = "b.csv"
		}
		if got, err := reader(t).Parse([]byte(text), name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	const record = `{"id":"a","prompt":"p","answer":"2","scorer":"math"`
	for text, want := range map[string]string{
		record + "}":               ``,
		record + `,"metadata":{}}`: ``,
		record + `,"level": 3, "source":["x", {"y":null}]}`:                `{"level":3,"source":["x",{"y":null}]}`,
		record + `,"metadata":{"b":1,"a":"é"},"level":3}`:                  `{"a":"é","b":1,"level":3}`,
		record + `,"metadata":"x"}`:                                        `{"metadata":"x"}`,
		"id,prompt,answer,scorer,level,metadata\na,p,2,math,3,\n":          `{"level":"3"}`,
		"id,prompt,answer,scorer,metadata\na,p,2,math,{\"a\":1}\n":         "",
		"id,prompt,answer,scorer,metadata\na,p,2,math,\"{\"\"a\"\":1}\"\n": `{"a":1}`,
	} {
		name := "b.jsonl"
		if text[0] != '{' {
			name = "b.csv"
		}
		got, err := reader(t).Parse([]byte(text), name)
		if strings.Contains(text, `,{"a"`) {
			if err == nil {
				t.Errorf("%s: was read as %+v", text, got)
			}
			continue
		}
		if err != nil || got[0].Metadata != want {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		if again, err := (benchmark.Reader{}).Parse([]byte(written(t, got)), "b.jsonl"); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: read back as %+v, %v", text, again, err)
		}
		bare, _ := reader(t).Parse([]byte(record+"}"), "b.jsonl")
		if benchmark.PromptDigest(bare) != benchmark.PromptDigest(got) || (benchmark.Digest(bare) == benchmark.Digest(got)) != (want == "") {
			t.Errorf("%s: metadata are part of a task, and not of what is asked", text)
		}
	}
}

func TestMessages(t *testing.T) {
	const end = `,"answer":"2","scorer":"math"}`
	turn := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	history := []scoring.Turn{{Role: "user", Content: "1+1?"}, {Role: "assistant", Content: "2"}}
	for text, want := range map[string]benchmark.Task{
		`{"id":"a","messages":[` + turn("user", "u") + "]" + end:                                          {Prompt: "u", UserPrompt: "u"},
		`{"id":"a","prompt":"p","messages":[` + turn("system", "s") + "," + turn("user", "u") + "]" + end: {Prompt: "p", UserPrompt: "u", SystemPrompt: "s"},
		`{"id":"a","messages":[` + turn("developer", "s") + "," + turn("user", "1+1?") + "," + turn("assistant", "2") + "," + turn("user", "u") + "]" + end: {
			Prompt: "u", UserPrompt: "u", SystemPrompt: "s", History: history},
		`{"id":"a","messages":[` + turn("user", "1+1?") + "," + turn("assistant", "2") + `,{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"v"}]}]` + end: {
			Prompt: "uv", UserPrompt: "uv", History: history},
	} {
		want.Benchmark, want.ID, want.Answer, want.Scorer = "b", "a", "2", "math"
		got, err := reader(t).Parse([]byte(text), "b.jsonl")
		if err != nil || !reflect.DeepEqual(got, []benchmark.Task{want}) {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		if again, err := (benchmark.Reader{}).Parse([]byte(written(t, got)), "b.jsonl"); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: read back as %+v, %v", text, again, err)
		}
		row := "id,messages,answer,scorer\na,\"" + strings.ReplaceAll(text[len(`{"id":"a",`)+strings.Index(text, `"messages":`)-len(`{"id":"a",`)+len(`"messages":`):len(text)-len(end)], `"`, `""`) + "\",2,math\n"
		if rows, err := reader(t).Parse([]byte(row), "b.csv"); err != nil || rows[0].UserPrompt != want.UserPrompt || !reflect.DeepEqual(rows[0].History, want.History) {
			t.Errorf("%s: %+v, %v", row, rows, err)
		}
		other := []benchmark.Task{got[0]}
		other[0].History = append([]scoring.Turn{{Role: "user", Content: "Hello"}}, want.History...)
		if benchmark.PromptDigest(other) == benchmark.PromptDigest(got) {
			t.Errorf("%s: earlier turns are not part of what is asked", text)
		}
	}
}

func TestFaultsOfRows(t *testing.T) {
	const head = "id,prompt,answer,scorer,options,tests\n"
	for _, c := range []struct{ name, text, want string }{
		{"b.csv", "", "b.csv: is empty: it has no task"},
		{"b.csv", "\ufeff", "b.csv: is empty"},
		{"b.csv", head + ",,,,,\n", "b.csv: is empty"},
		{"b.csv", "\xff\xfei\x00d\x00", "b.csv: is UTF-16: save it in UTF-8"},
		{"b.csv", "id;prompt;scorer\n1;p;math\n", "line 2: answer: is missing or empty"},
		{"b.csv", "\nprompt,scorer\n", "line 2: is no header: the column id or task_id is missing"},
		{"b.csv", "id,id\n", `line 1: is no header: the column "id" is there twice`},
		{"b.csv", "id,\"prompt\n", `line 1: is no header: extraneous or missing " in quoted-field`},
		{"b.csv", "id,prompt,answer\nx,p,2\n", `line 1: is no header: the column scorer is missing, there are ["id" "prompt" "answer"]`},
		{"b.csv", "id,prompt,anser,scorer\nx,p,2,math\n", "line 2: anser: is not a key of a task file, did you mean answer?"},
		{"b.csv", "id,prompt,answer,scorer,\nx,p,2,math,9\n", `line 2: has "9" in column 5, which has no name`},
		{"b.csv", "id,prompt,answer,scorer\nx,p,2,math,9\n", `line 2: has "9" in column 5, which has no name`},
		{"b.csv", head + "x,\"a\nb\",2,math,,\nx,q,2,math,,\n", `line 4: id: is "x", as in line 2`},
		{"b.csv", head + "x,p,2,math\n", "line 2: has 4 cells, the header has 6"},
		{"b.csv", head + "x,\xff,2,math,,\n", "line 2: prompt: is not valid UTF-8"},
		{"b.csv", head + "x,say \"p\",2,math,,\n", `line 2: is no record: bare " in non-quoted-field`},
		{"b.csv", head + "x,\"p,2,math,,\n", `line 2: is no record: extraneous or missing " in quoted-field`},
		{"b.csv", head + "x,p,A,choice,\"1, 2\",\n", "line 2: options: must be a list of texts"},
		{"b.csv", head + "x,p,A,choice,4,\n", "line 2: options: is a number, and nothing shows the options"},
		{"b.csv", "id,prompt,scorer,tests_file\nx,p,code,t.json\n", "line 2: user_prompt: is missing: a tests_file does not tell"},
		{"b.csv", head + "x,p,We add two numbers. So it is 7 apples.,math,,\n", "line 2: answer: is \"We add two numbers. So it is 7 apples.\", must be the final answer alone"},
		{"b.jsonl", `{"id":1,"question":"1+1?","answer":2,"scorer":"math"}`, "line 1: question: is not a key of a task file, did you mean prompt?"},
		{"b.jsonl", `{"id":1,"prompt":"1+1?","target":2,"scorer":"math"}`, "line 1: answer: is missing or empty"},
		{"b.txt", head, "b.txt: must be called .jsonl or .csv"},
	} {
		_, err := reader(t).Parse([]byte(c.text), c.name)
		text := fmt.Sprint(err)
		if !strings.Contains(text, c.want) || !strings.HasPrefix(text, c.name+": ") || strings.Contains(text, "\n") {
			t.Errorf("%.120q: error %q, want one fault with %q", c.text, text, c.want)
		}
	}
	_, err := benchmark.Reader{}.Parse([]byte(ownLines), "b.jsonl")
	if !strings.Contains(fmt.Sprint(err), "line 1: user_prompt: is missing or empty") {
		t.Errorf("without templates: %v", err)
	}
}

func TestTemplatesOfAFolderWin(t *testing.T) {
	shipped := must(benchmark.ParsePrompts(templates(nil)))
	folder := func(files ...string) fstest.MapFS {
		all := fstest.MapFS{"README.md": {}, "old.txt/x": {}}
		for i := 0; i < len(files); i += 2 {
			all[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return all
	}
	prompts := must(shipped.With(folder("math.txt", "M {{.Problem}}", "gpqa.txt", "G {{.Problem}} {{.Options}}\n", "mine.txt", "{{.Problem}}?"), "gpqa", "mine", "math"))
	choice := benchmark.Task{ID: "x", Prompt: "p", Scorer: "choice", OptionTexts: []string{"1", "2"}}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, "A-B|p|A) 1, B) 2"}, {[]string{"mmlu"}, "A-B|p|A) 1, B) 2"}, {[]string{"gpqa"}, "G p A) 1, B) 2"},
		{[]string{"mmlu", "gpqa", "mine"}, "G p A) 1, B) 2"},
		{[]string{"math"}, "A-B|p|A) 1, B) 2"}, // a benchmark that is called as a family is
	} {
		if got, err := prompts.Ask(choice, c.names...); err != nil || got.UserPrompt != c.want {
			t.Errorf("%v: %q, %v; want %q", c.names, got.UserPrompt, err, c.want)
		}
	}
	math := benchmark.Task{Prompt: "p", Scorer: "math"}
	if got, err := prompts.Ask(math, "math"); err != nil || got.UserPrompt != "M p" {
		t.Errorf("another template of a family: %+v, %v", got, err)
	}
	if got, err := shipped.Ask(math); err != nil || got.UserPrompt != "P: p\n" {
		t.Errorf("the shipped template is now %+v, %v", got, err)
	}
	if _, err := prompts.Ask(choice, "mine"); !strings.Contains(fmt.Sprint(err), `prompt mine.txt: the user turn lacks "A) 1, B) 2": use {{.Problem}}, and {{.Options}}`) {
		t.Errorf("options that are not shown: %v", err)
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse([]byte(`{"id":"x","prompt":"p","answer":"2","scorer":"math"}`), "mine.jsonl")
	if err != nil || tasks[0].UserPrompt != "p?" {
		t.Errorf("a template by the benchmark's name: %+v, %v", tasks, err)
	}
	for want, bad := range map[string]fstest.MapFS{
		"prompt maths.txt: is for nothing that is asked: call it math.txt, choice.txt, judge.txt, code.txt, ": folder("maths.txt", "{{.Problem}}"),
		".txt, or as one of gpqa":                                     folder("maths.txt", "{{.Problem}}"),
		`prompt gpqa.txt: the user turn lacks "<the problem>"`:        folder("gpqa.txt", "Answer."),
		`prompt choice.txt: the user turn lacks "A) <one>, B) <two>"`: folder("choice.txt", "{{.Problem}}"),
		"prompt code.txt: must be UTF-8":                              folder("code.txt", "\xff{{.Problem}}"),
		"there is no prompt: math.txt, choice.txt, judge.txt":         folder(),
	} {
		if _, err := shipped.With(bad, "gpqa"); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A record of megabytes may have millions of entries, and a template may say the same
// again and again: neither takes memory that is not bounded.
func TestRecordsThatGrow(t *testing.T) {
	const n = 300_000
	list := func(entry string) string { return "[" + strings.Repeat(entry+",", n) + entry + "]" }
	for name, c := range map[string]struct{ record, want string }{
		"options": {`{"id":"a","prompt":"p","scorer":"choice","answer":"A","options":` + list(`""`) + `}`, "options: is missing or not from 2 to 26"},
		"tests":   {`{"id":"a","prompt":"p","user_prompt":"p","scorer":"code","tests":` + list(`{"kind":"stdin","input":"","output":""}`) + `}`, "tests: has more than 65536 tests"},
		"nested":  {`{"id":"a","prompt":"p","user_prompt":"p","scorer":"code","tests":` + strings.Repeat("[", n) + `}`, "exceeded max depth"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := benchmark.Reader{}.Parse([]byte(c.record), "own.jsonl")
		runtime.ReadMemStats(&after)
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %.300v, want %q", name, err, c.want)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 256<<20 {
			t.Errorf("%s: %d MiB were allocated", name, made>>20)
		}
	}
	prompts := must(benchmark.ParsePrompts(data.Prompts()))
	laughs := `{{define "a0"}}{{printf "%100000d" 1}}{{end}}`
	for i := range 20 {
		laughs += fmt.Sprintf(`{{define "a%d"}}{{template "a%d"}}{{template "a%d"}}{{end}}`, i+1, i, i)
	}
	for _, text := range []string{laughs + `{{.Problem}}{{template "a20"}}`, `{{.Problem}}{{range 1000000000}}{{$.Problem}}{{end}}`} {
		_, err := prompts.With(fstest.MapFS{"math.txt": {Data: []byte(text)}})
		if !strings.Contains(fmt.Sprint(err), "it makes a turn of more than 16 MiB") {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
