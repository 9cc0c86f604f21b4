package logs_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation/logs"
)

// The logs are of the tools themselves or of their own writers (testdata/by_*.py), but
// for those of NeMo-Skills and of Verifiers 0.1, which are made by their descriptions.
func TestLogsOfOthers(t *testing.T) {
	cases := []struct {
		path, scorer                            string
		format, benchmark, model, by, want, say string
		prompt, completion                      int64 // of the first rollout
	}{
		{"lm-eval", "", "lm-eval", "quiz", "org/dummy", "exact_match/strict", "0 1:1; 1 1:0", "first of 2 repeats", -1, -1},
		{"lm-eval", "exact_match/flexible", "lm-eval", "quiz", "org/dummy", "exact_match/flexible", "0 1:1; 1 1:0", "", -1, -1},
		{"nemo-skills", "", "nemo-skills", "aime24", "", "symbolic_correct", "p0 1:1 2:1; p1 1:0 2:1", "", -1, 11},
		{"verifiers", "", "verifiers", "quiz", "org/model", "reward", "t0 1:1 2:0; t1 1:0.5 2:0.25", "1 left out: the episode ended in an error", 0, 0},
		{"verifiers", "style", "verifiers", "quiz", "org/model", "rewards/style", "t0 1:1 2:0; t1 1:0.5 2:0.25", "", 0, 0},
		{"verifiers-0.1", "", "verifiers", "quiz", "org/model", "reward", "0 1:1 2:0; 1 1:0.25", "1 left out: the rollout ended in an error", -1, -1},
		{"harbor", "", "harbor", "quiz", "org/model+terminus", "reward", "a 1:1 2:0; b 1:0.5", "1 left out: the trial ended in HealthcheckError", 100, 10},
		{"harbor", "speed", "harbor", "quiz", "org/model+terminus", "speed", "a 1:0.1 2:0.1; b 1:0.1", "", 100, 10},
		{"terminal-bench", "", "terminal-bench", "quiz", "org/model+terminus", "is_resolved", "a 1:1 2:0; b 1:1", "1 left out: it is not scored, which Terminal-Bench counts as failed", 100, 10},
		{"terminal-bench/run/results.json", "", "terminal-bench", "quiz", "org/model+terminus", "is_resolved", "a 1:1 2:0; b 1:1", "", 100, 10},
		{"lighteval", "", "lighteval", "quiz", "org/model", "extractive_match", "0 1:1; 1 1:0", "--reward chooses another", -1, -1},
		{"lighteval", "pass@k", "lighteval", "quiz", "org/model", "pass@k", "0 1:0.5; 1 1:0", "", -1, -1},
		{"every-eval-ever/one", "", "every-eval-ever", "org/quiz", "openai/gpt-4o-mini", "graded:mean", "4 1:1; a 1:1", "", 10, 5},
	}
	for _, c := range cases {
		l := one(t, filepath.Join("testdata", c.path), logs.Choice{Reward: c.scorer})
		if l.Format != c.format || l.Benchmark != c.benchmark || l.Model != c.model || l.Scorer != c.by || said(l) != c.want || l.Allocated || len(l.Digest) != 64 {
			t.Errorf("%s %s: %+v", c.path, c.scorer, l)
		}
		if r := l.Tasks[0].Rollouts[0]; r.PromptTokens != c.prompt || r.CompletionTokens != c.completion {
			t.Errorf("%s: tokens %d and %d, want %d and %d", c.path, r.PromptTokens, r.CompletionTokens, c.prompt, c.completion)
		}
		if !strings.Contains(strings.Join(l.Notes, "\n"), c.say) {
			t.Errorf("%s: notes %q, want %q", c.path, l.Notes, c.say)
		}
	}
}

// All epochs of a sample have their mean there.
func TestEpochsThatAConverterAveragedAreRefused(t *testing.T) {
	_, err := read("testdata/every-eval-ever/three", "")
	refuses(t, err, "_samples.jsonl", "import the log of Inspect itself")
}

func TestEverythingIsRecognised(t *testing.T) {
	names := logs.Formats()
	for _, name := range names {
		path := filepath.Join("testdata", name)
		if name == "inspect" {
			path += "/zstd.eval"
		}
		if name == "every-eval-ever" {
			path += "/one"
		}
		all, err := read(path, "")
		if err != nil || len(all) == 0 || all[0].Format != name {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		again, err := read(path, name)
		if err != nil || len(again) != len(all) {
			t.Errorf("%s, asked for: %v", name, err)
		}
	}
	_, err := read("testdata", "absent")
	refuses(t, err, `there is no format "absent": want one of inspect, lm-eval`)
	_, err = read("logs.go", "")
	refuses(t, err, "logs.go: no log of inspect")
	_, err = read("testdata/nowhere", "")
	refuses(t, err, "testdata/nowhere")
}

func TestWhatIsWrongIsToldWithFileAndRow(t *testing.T) {
	lm := func(row string) string {
		return `{"doc_id": 0, "filter": "none", "filtered_resps": ["a"], ` + row + "}\n"
	}
	const good = `"exact_match": 1.0`
	cases := []struct{ name, text, format, want string }{
		{"samples_q_1.jsonl", lm(good) + lm(`"exact_match": 1.5`), "", `row 2: task "0", rollout 1: the reward 1.5 is outside 0 to 1`},
		{"samples_q_1.jsonl", lm(good) + lm(`"exact_match": -1`), "", `row 2: task "0", rollout 1: the reward -1 is outside`},
		{"samples_q_1.jsonl", lm(good) + `{"doc_id": 1, "filter": "no`, "", "the text is cut short"},
		{"samples_q_1.jsonl", lm(good) + lm(`"exact_match": 1e999`), "", "row 2: task \"0\", rollout 1: the score exact_match/none is \"1e999\""},
		{"samples_q_1.jsonl", lm(good) + "]", "", "row 2: "},
		{"samples_q_1.jsonl", lm(good) + "{\"doc_id\": \"\xff\"}", "", `is not UTF-8`},
		{"samples_q_1.jsonl", lm(`"exact_match": NaN`), "", "no rollout in it is scored: 1 left out: it is not scored"},
		{"samples_q_1.jsonl", lm(good) + strings.Repeat("[", 1e6), "", "row 2: byte"},
		{"samples_q_1.jsonl", lm(good) + `{"doc": ` + strings.Repeat(`{"a":`, 1e5), "", "exceeded max depth"},
		{"results.jsonl", `{"prompt":"p","completion":"c","reward":1}`, "", "row 1: it has no example_id"},
		{"output-rs1.jsonl", `{"id":"x","generation":"g","is_correct":"perhaps"}`, "", `row 1: task "x", rollout 2: the score is_correct is "perhaps"`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":"x","epoch":0,"scores":{"s":{"value":1}}}]}`, "",
			`sample 1: task "x": the rollout's number 0 is outside`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":"x","epoch":1,"scores":{"s":{"value":"Q"}}}]}`, "",
			`the score s is "Q": want a number, C, P, I or N`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":"x","epoch":1,"scores":{"s":{"value":[1]}}}]}`, "",
			`the score s is a list or an object`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"results":{"early_stopping":{"metadata":{"speceval":{"protocol":2}}}}}`, "",
			`its allocation is of protocol 2, this speceval reads 1`},
		{"any", "PK\x03\x04 and no more", "inspect", "the zip is cut short or broken"},
		{"any", "", "lm-eval", "no rollout in it is scored"},
		{"any", "PAR1", "lighteval", "truncated Parquet"},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := read(path, c.format)
		refuses(t, err, path, c.want)
	}
}

// A rollout that is there again counts once, as it was last.
func TestTheLastOfARepeatedEpochCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.json")
	text := `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[
		{"id":"x","epoch":2,"scores":{"s":{"value":"I"}}}, {"id":"x","epoch":1,"scores":{"s":{"value":true}}},
		{"id":7,"epoch":1,"scores":{"s":{"value":"N"}}}, {"id":"x","epoch":2,"scores":{"s":{"value":"P"}}}]}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l := one(t, path, logs.Choice{})
	if said(l) != "x 1:1 2:0.5; 7 1:0" || !strings.Contains(strings.Join(l.Notes, ""), "1 of the rollouts are there again") {
		t.Errorf("got %s, %q", said(l), l.Notes)
	}
}

// written is a path of files with these names and texts.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// nemo is a file of NeMo-Skills, with these fields of p0, p1 and so on.
func nemo(fields ...string) map[string]string {
	var b strings.Builder
	for i, more := range fields {
		fmt.Fprintf(&b, "{\"id\":\"p%d\",\"generation\":\"g\",\"generation_finished\":true%s}\n", i, more)
	}
	return map[string]string{"hle/output-rs0.jsonl": b.String()}
}

// unnamed is a file of NeMo-Skills whose rows have no ids, with these problems.
func unnamed(problems ...string) (text string) {
	for _, p := range problems {
		text += fmt.Sprintf("{\"problem\":%q,\"generation\":\"g\",\"is_correct\":true}\n", p)
	}
	return text
}

// logCase is files with the rewards that are wanted of them by a scorer, or the error.
type logCase struct {
	name, reward     string
	files            map[string]string
	by, want, refuse string
}

func holds(t *testing.T, cases []logCase) {
	t.Helper()
	for _, c := range cases {
		all, _, err := logs.Choice{Reward: c.reward}.Read(written(t, c.files))
		if c.refuse != "" {
			t.Run(c.name, func(t *testing.T) { refuses(t, err, c.refuse) })
			continue
		}
		if err != nil || len(all) != 1 || said(all[0]) != c.want || all[0].Scorer != c.by {
			t.Errorf("%s: %v, %+v", c.name, err, all)
		}
	}
}

func TestRewardsOfNeMoSkills(t *testing.T) {
	long := strings.Repeat("step ", 1000)
	cases := []logCase{
		{"a judgement", "", nemo(`,"judgement":"Reasoning: so.\nJudgement: Yes"`, `,"judgement":"Judgement: No"`), "judgement", "p0 1:1; p1 1:0", ""},
		{"bold, and after much text", "", nemo(`,"judgement":"`+long+`**Judgement**: **Yes**"`, `,"judgement":"`+long+`Judgement: No.`+long+`"`), "judgement", "p0 1:1; p1 1:0", ""},
		{"other spellings", "", nemo(`,"judgment-gpt":"yes."`, `,"judgment-gpt":"INCORRECT"`, `,"judgment-gpt":true`), "judgment-gpt", "p0 1:1; p1 1:0; p2 1:1", ""},
		{"neither Yes nor No is wrong there", "", nemo(`,"judgement":"Judgement: Yes"`, `,"judgement":"I cannot tell"`), "judgement", "p0 1:1; p1 1:0", ""},
		{"grades of another judge", "", nemo(`,"judgement":"A"`, `,"judgement":"C"`), "", "", `no judgement says Yes or No: choose another field with --reward, of judgement`},
		{"words of another field", "grade", nemo(`,"is_correct":true,"grade":"**Incorrect**"`, `,"is_correct":false,"grade":"Judgment: yes"`), "grade", "p0 1:0; p1 1:1", ""},
		{"no words of another field", "grade", nemo(`,"grade":"A"`), "", "", `the score grade is "A": want a number`},
		{"truth values of other spellings", "", nemo(`,"is_correct":1`, `,"is_correct":"False"`, `,"is_correct":"true"`), "is_correct", "p0 1:1; p1 1:0; p2 1:1", ""},
		{"two that agree", "", nemo(`,"judgement":"Judgement: Yes","symbolic_correct":true`, `,"judgement":"Judgement: No","symbolic_correct":false`), "symbolic_correct", "p0 1:1; p1 1:0", ""},
		{"two that disagree", "", nemo(`,"judgement":"Judgement: Yes","symbolic_correct":true`, `,"judgement":"Judgement: Yes","symbolic_correct":false`), "", "",
			`row 2: task "p1": symbolic_correct says 0 and judgement says 1: choose one with --reward`},
		{"some have one, some the other", "", nemo(`,"symbolic_correct":true`, `,"symbolic_correct":null,"judgement":"Judgement: No"`), "", "", `symbolic_correct says nothing and judgement says 0`},
		{"the one that is asked for", "judgement", nemo(`,"judgement":"Judgement: Yes","symbolic_correct":false`, `,"judgement":"Judgement: No","symbolic_correct":false`), "judgement", "p0 1:1; p1 1:0", ""},
		{"a field within another", "swe-bench-metrics.resolved", nemo(`,"swe-bench-metrics":{"resolved":true}`, `,"swe-bench-metrics":{"resolved":false}`), "swe-bench-metrics.resolved", "p0 1:1; p1 1:0", ""},
		{"a null is left out", "", nemo(`,"is_correct":null`, `,"is_correct":true`), "is_correct", "p1 1:1", ""},
		{"no known field", "", nemo(`,"truncated":false,"cached":"False"`, `,"truncated":false`), "", "",
			"no rollout in it is scored: 2 left out: no field is known to say that it is correct: choose one with --reward"},
		{"sums by weights", "", nemo(`,"is_correct":0.9999999999999999`, `,"is_correct":1.0000000000000002`, `,"is_correct":5e-17`), "is_correct", "p0 1:1; p1 1:1; p2 1:0", ""},
		{"rows without ids", "", map[string]string{"q/output-rs0.jsonl": unnamed("a", "b"), "q/output-rs1.jsonl": unnamed("a", "b") + " "}, "is_correct", "0 1:1 2:1; 1 1:1 2:1", ""},
		{"rows without ids in another order", "", map[string]string{"q/output-rs0.jsonl": unnamed("a", "b"), "q/output-rs1.jsonl": unnamed("b", "a")}, "", "",
			"output-rs1.jsonl: row 1: it has no id, and asks something else than this row of another file"},
		{"a file and its copy", "", map[string]string{"q/output-rs0.jsonl": unnamed("a", "b"), "q/output-rs1.jsonl": unnamed("a", "b")}, "", "",
			"output-rs0.jsonl: its rollouts would count twice"},
		{"an absent field", "absent", nemo(`,"is_correct":true`), "", "", `it has no scores by "absent", but by is_correct`},
		{"answers that are judgements", "", nemo(`,"judgement":"Judgement: Yes","expected_judgement":"Judgement: No"`), "", "", "no field is known to say that it is correct: choose one with --reward"},
		{"some rows without ids", "", map[string]string{"q/output-rs0.jsonl": `{"generation":"g","is_correct":true}` + "\n" + `{"id":0,"generation":"g","is_correct":false}`}, "", "",
			"row 2: some rows have an id and others have none"},
		{"a task twice", "", map[string]string{"q/output-rs0.jsonl": strings.Repeat(`{"id":"p","generation":"g","is_correct":true}`+"\n", 2)}, "", "", `task "p" has rollout 1 twice`},
		{"chunks of a run", "", map[string]string{"q/output-rs1_chunk_0.jsonl": `{"id":"a","generation":"g","is_correct":true}`, "q/output-rs1_chunk_1.jsonl": `{"id":"b","generation":"g","is_correct":false}`},
			"is_correct", "a 2:1; b 2:0", ""},
		{"chunks beside the whole run", "", map[string]string{"q/output-rs0_chunk_0.jsonl": `{"id":"a","generation":"g","is_correct":true}`, "q/output-rs0.jsonl": `{"id":"a","generation":"g","is_correct":true,"b":1}`}, "", "",
			`task "a" has rollout 1 twice`},
		{"a greedy and a sampled run", "", map[string]string{"q/output.jsonl": `{"id":"p","generation":"g","is_correct":true}`, "q/output-rs0.jsonl": `{"id":"p","generation":"g","is_correct":false}`}, "", "",
			`task "p" has rollout 1 twice`},
	}
	holds(t, cases)
}

func TestRowsOfVerifiers(t *testing.T) {
	holds(t, []logCase{
		{"an error without a word is none", "", map[string]string{"results.jsonl": `{"example_id":0,"prompt":[],"completion":[],"reward":1,"error":""}` + "\n" + `{"example_id":1,"prompt":[],"completion":[],"reward":1,"error":"x"}`}, "reward", "0 1:1", ""},
		{"ids that are numbers", "", map[string]string{"traces.jsonl": `{"id":7,"env":{"id":"q"},"task":{"key":"a"},"ok":true,"traces":[{"rewards":{"r":{"score":1}}}]}`}, "reward", "a 1:1", ""},
	})
}

// lmEvalRows is a file of lm-eval, with this text of resps to metrics of documents 0, 1 and so on.
func lmEvalRows(rows ...string) map[string]string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "{\"doc_id\":%d,%s}\n", i, row)
	}
	return map[string]string{"org__m/samples_q_2025-01-02T03-04-05.6.jsonl": b.String()}
}

func TestMetricsOverRepeats(t *testing.T) {
	const four, first, filter = `"resps":[["a","b","c","d"]],"filtered_resps":[["a","b","c","d"]],"filter":"create_test",`, `"resps":[["a","b","c","d"]],"filtered_resps":["a"],`, `"filter":"none",`
	const one, choices = `"resps":[["a"]],"filtered_resps":[["a"]],"filter":"none",`, `"resps":[[["-1","False"]],[["-2","True"]]],"filtered_resps":[["-1","False"],["-2","True"]],"filter":"none",`
	cases := []logCase{
		{"pass@1 of several", "", lmEvalRows(four+`"pass@1":0.5,"pass@2":0.9`, four+`"pass@1":0.25,"pass@2":0.6`), "pass@1/create_test", "0 1:1 2:1 3:0 4:0; 1 1:1 2:0 3:0 4:0", ""},
		{"pass@1 after others", "", lmEvalRows(four + `"pass@2":0.9,"pass@1":0.75`), "pass@1/create_test", "0 1:1 2:1 3:1 4:0", ""},
		{"pass@1 of one", "", lmEvalRows(one+`"pass@1":1.0`, one+`"pass@1":0`), "pass@1/none", "0 1:1; 1 1:0", ""},
		{"a share of no number", "", lmEvalRows(four + `"pass@1":0.3`), "", "", `pass@1/create_test is 0.3, which no number of passes among 4 responses is`},
		{"pass@k", "", lmEvalRows(four + `"pass@2":0.9,"pass@4":1.0`), "", "", "pass@2/create_test makes one value of several responses, which is no rollout's reward"},
		{"pass@k that is asked for", "pass@2", lmEvalRows(four + `"pass@1":0.5,"pass@2":0.9`), "", "", "pass@2/create_test makes one value"},
		{"pass@64 of one", "", lmEvalRows(one + `"pass_at_64":1.0`), "", "", "pass_at_64/none makes one value"},
		{"a metric of a group", "", lmEvalRows(four + `"exact_match":0.75`), "", "", "exact_match/create_test makes one value"},
		{"avg@4", "", lmEvalRows(four + `"avg@4":0.75`), "avg@4/create_test", "0 1:1 2:1 3:1 4:0", ""},
		{"avg@4 of the first", "", lmEvalRows(first + filter + `"avg@4":0.75`), "", "", "avg@4/none makes one value"},
		{"an average of grades", "", lmEvalRows(four + `"avg@4":0.7`), "", "", "avg@4/create_test is 0.7, which no number of passes among 4 responses is"},
		{"another metric of as many as there are", "", lmEvalRows(first + filter + `"solved@4":1.0`), "", "", "solved@4/none makes one value"},
		{"empty responses", "", lmEvalRows(`"resps":[[[],[]]],"filtered_resps":["a"],"filter":"none","acc":1.0`), "", "", "acc/none makes one value"},
		{"a vote by the filter", "", lmEvalRows(first + `"filter":"maj@4","exact_match":1.0`), "", "", "exact_match/maj@4 makes one value"},
		{"a vote by name", "", lmEvalRows(first + `"filter":"self-consistency","exact_match":1.0`), "", "", "exact_match/self-consistency makes one value"},
		{"the filter of one", "", lmEvalRows(first+`"filter":"maj@4","exact_match":1.0`, first+`"filter":"score-first","exact_match":0.0`), "exact_match/score-first", "1 1:0", ""},
		{"each repeat's own", "", lmEvalRows(four+`"exact_match":[1.0,0.0,null,true]`, four+`"exact_match":[0,0,0,1]`), "exact_match/create_test", "0 1:1 2:0 4:1; 1 1:0 2:0 3:0 4:1", ""},
		{"a list of something else", "", lmEvalRows(one + `"inst_level_acc":[true,false],"prompt_level_acc":1.0`), "prompt_level_acc/none", "0 1:1", ""},
		{"choices are no repeats", "", lmEvalRows(choices+`"acc":1.0,"acc_norm":0.0`, choices+`"acc":0.0,"acc_norm":0.0`), "acc/none", "0 1:1; 1 1:0", ""},
		{"recall@5 of one", "", lmEvalRows(one + `"recall@5":0.5`), "recall@5/none", "0 1:0.5", ""},
		{"no filter", "", lmEvalRows(`"resps":[["a"]],"filtered_resps":["a"],"acc":1.0`, `"resps":[["a"]],"filtered_resps":["a"],"acc":0.0`), "acc", "0 1:1; 1 1:0", ""},
		{"a document twice", "", map[string]string{"m/samples_q_1.jsonl": strings.Repeat(`{"doc_id":0,`+one+`"acc":1.0}`+"\n", 2)}, "", "", `task "0" has rollout 1 twice`},
	}
	holds(t, cases)
}

// TestMarksAndCompressionAreNoReasonToPassOver puts a byte order mark before every JSON file of
// other tools, or compresses it: the counts stay, and no trial or repeat is passed over.
func TestMarksAndCompressionAreNoReasonToPassOver(t *testing.T) {
	for k, folder := range slices.Repeat([]string{"harbor/job", "terminal-bench", "nemo-skills", "lm-eval", "verifiers", "every-eval-ever"}, 2) {
		from, to := filepath.Join("testdata", filepath.FromSlash(folder)), t.TempDir()
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		changed := 0
		err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".json" && ext != ".jsonl" {
				return err
			}
			changed++
			text, err := os.ReadFile(path)
			if k < 6 {
				return cmp.Or(err, os.WriteFile(path, append([]byte("\ufeff"), text...), 0o666))
			}
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, fault := w.Write(text)
			return errors.Join(err, fault, w.Close(), os.Remove(path), os.WriteFile(path+".gz", b.Bytes(), 0o666))
		})
		if err != nil || changed == 0 {
			t.Fatalf("%s: %d files, %v", folder, changed, err)
		}
		want, err := read(from, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(to, "")
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %d logs, want %d: %v", folder, len(got), len(want), err)
			continue
		}
		for i := range want {
			if a, b := fmt.Sprint(got[i].Tasks), fmt.Sprint(want[i].Tasks); a != b {
				t.Errorf("%s: %s, want %s", folder, a, b)
			}
		}
	}
}

// The number 1 and the text "1" are two tasks that profiles cannot tell apart, in every
// format; 1.0 is the number 1, and names that differ by case or spaces are two tasks.
func TestIDsThatAreAlike(t *testing.T) {
	sample := `{"id":%s,"epoch":1,"scores":{"s":{"value":1}}}`
	inspect := func(a, b string) string {
		return `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[` + fmt.Sprintf(sample, a) + "," + fmt.Sprintf(sample, b) + "]}"
	}
	row := func(form string) func(a, b string) string {
		return func(a, b string) string { return fmt.Sprintf(form, a) + "\n" + fmt.Sprintf(form, b) + "\n" }
	}
	cases := []struct {
		name string
		text func(a, b string) string
	}{
		{"x/log.json", inspect},
		{"m/samples_q_1.jsonl", row(`{"doc_id":%s,"filter":"none","filtered_resps":["a"],"acc":1}`)},
		{"q/output-rs0.jsonl", row(`{"id":%s,"generation":"g","is_correct":true}`)},
		{"q--m/results.jsonl", row(`{"example_id":%s,"prompt":"p","completion":"c","reward":1}`)},
		{"q--m/traces.jsonl", row(`{"task":{"key":%s},"traces":[{"rewards":{"r":{"score":1}}}]}`)},
		{"u_samples.jsonl", row(`{"evaluation_id":"e","evaluation_name":"q","model_id":"m","sample_id":%s,"evaluation":{"score":1}}`)},
	}
	for _, c := range cases {
		l := one(t, written(t, map[string]string{c.name: c.text("1.0", "2")}), logs.Choice{})
		if said(l) != "1 1:1; 2 1:1" {
			t.Errorf("%s: %s", c.name, said(l))
		}
		l = one(t, written(t, map[string]string{c.name: c.text(`"a"`, `"A "`)}), logs.Choice{})
		if said(l) != "a 1:1; A  1:1" {
			t.Errorf("%s: %s", c.name, said(l))
		}
		_, err := read(written(t, map[string]string{c.name: c.text("1", `"1"`)}), "")
		refuses(t, err, `the ids 1 and "1" are both in the log`, filepath.Base(c.name))
		_, err = read(written(t, map[string]string{c.name: c.text("1", "null")}), "")
		refuses(t, err, filepath.Base(c.name))
	}
}

// A scorer of ours is given every response to a document, once, whatever the filters.
func TestAnswersOfLMEvalAreScored(t *testing.T) {
	right := func(gold, response string) (float64, error) {
		switch gold {
		case response:
			return 1, nil
		case "1":
			return 0, errors.New("the right answer is none")
		}
		return 0, nil
	}
	row := `"target":"4","resps":[["4","5"],["4"]],"filtered_resps":["4"],"filter":%q,"exact_match":0`
	twice := map[string]string{"m/samples_q_1.jsonl": fmt.Sprintf(`{"doc_id":0,`+row+"}\n"+`{"doc_id":0,`+row+"}\n", "a", "b")}
	by := logs.Choice{Scorer: "exact", Score: right}
	if l := one(t, written(t, twice), by); said(l) != "0 1:1 2:0 3:1" || l.Scorer != "exact" {
		t.Errorf("%s by %s", said(l), l.Scorer)
	}
	number := map[string]string{"m/samples_q_1.jsonl": `{"doc_id":0,"target":4,"resps":[["4"]],"filtered_resps":["4"],"filter":"a"}`}
	if l := one(t, written(t, number), by); said(l) != "0 1:1" {
		t.Error(said(l))
	}
	_, _, err := by.Read("testdata/harbor")
	refuses(t, err, "testdata/harbor", "--scorer reads the answers of logs of lm-eval alone")
	_, _, err = by.Read(written(t, lmEvalRows(`"target":1,"resps":[[["-1","False"]],[["-2","True"]]],"filtered_resps":[["-1","False"]],"filter":"none","acc":1`)))
	refuses(t, err, "row 1: its resps are no texts")
	_, _, err = by.Read(written(t, lmEvalRows(`"target":null,"resps":[["a"]],"filtered_resps":["a"],"filter":"none","acc":1`)))
	refuses(t, err, "row 1: its target is no text")
	_, _, err = by.Read(written(t, lmEvalRows(`"target":1,"resps":[["a"]],"filtered_resps":["a"],"filter":"none","acc":1`)))
	refuses(t, err, "row 1: the right answer is none")
}

// An agent that ran out of time failed; machinery that did is no rollout. Harbor 0.26 says which
// rewards it counts: those of trials that its agent ended by any exception but of the machinery.
func TestTrialsCountByTheirException(t *testing.T) {
	trial := func(id, exception, rewards, more string) string {
		return fmt.Sprintf(`{"id":%q,"task_name":"a","trial_name":%[1]q,"agent_info":{"name":"x"},"source":"q","exception_info":{"exception_type":%[2]q},"verifier_result":%[3]s%[4]s}`, id, exception, rewards, more)
	}
	const valid, invalid = `,"reward_valid":true`, `,"reward_valid":false`
	before := map[string]string{
		"j/1/result.json": trial("1", "AgentTimeoutError", "null", ""), "j/2/result.json": trial("2", "AgentTimeoutError", `{"rewards":{"reward":1}}`, ""),
		"j/3/result.json": trial("3", "EnvironmentStartTimeoutError", "null", ""), "j/4/result.json": trial("4", "AgentTimeoutError", `{"rewards":null}`, ""),
	}
	since := map[string]string{
		"j/1/result.json": trial("1", "RuntimeError", `{"rewards":{"reward":0.5}}`, valid), "j/2/result.json": trial("2", "HealthcheckError", "null", invalid),
		"j/3/result.json": trial("3", "AgentTimeoutError", "null", invalid), "j/4/result.json": trial("4", "AgentTimeoutError", `{"rewards":{"reward":1}}`, invalid),
		"j/5/result.json": trial("5", "", `{"rewards":{"reward":1}}`, invalid), "j/6/result.json": trial("6", "", `{"rewards":{"reward":1}}`, valid),
	}
	for want, files := range map[string]map[string]string{"a 1:0 2:1 3:0": before, "a 1:0.5 2:0 3:1": since} {
		l := one(t, written(t, files), logs.Choice{})
		if said(l) != want || l.Left != len(files)-3 || !strings.Contains(strings.Join(l.Notes, ""), "AgentTimeoutError without a reward count as failed") {
			t.Errorf("%s, %d left out, %q", said(l), l.Left, l.Notes)
		}
	}
}

func TestAReplacementCharacterIsACharacter(t *testing.T) {
	l := one(t, written(t, map[string]string{"q/output-rs0.jsonl": "{\"id\":\"\ufffd\",\"generation\":\"g\",\"is_correct\":true}"}), logs.Choice{})
	if said(l) != "\ufffd 1:1" {
		t.Error(said(l))
	}
}

// Trials whose folders were copied are the same by their ids.
func TestCopiesCountOnce(t *testing.T) {
	trial := func(name, id, reward string) string {
		return fmt.Sprintf(`{"id":%q,"task_name":"a","trial_name":%q,"agent_info":{"name":"x"},"source":"q","verifier_result":{"rewards":{"reward":%s}}}`, id, name, reward)
	}
	l := one(t, written(t, map[string]string{"job/a/result.json": trial("a", "A", "1"), "job/b/result.json": trial("a", "A", "1"), "job/c/result.json": trial("c", "C", "0")}), logs.Choice{})
	if said(l) != "a 1:1 3:0" || !strings.Contains(strings.Join(l.Notes, ""), "1 of the rollouts are copies") {
		t.Errorf("%s, %q", said(l), l.Notes)
	}
}

// said is a log in one text: "a 1:1 2:0.5; b 1:0" is two tasks with the rewards of
// their rollouts.
func said(l logs.Log) string {
	var tasks []string
	for _, t := range l.Tasks {
		text := t.ID
		for _, r := range t.Rollouts {
			text += fmt.Sprintf(" %d:%v", r.Number, r.Reward)
		}
		tasks = append(tasks, text)
	}
	return strings.Join(tasks, "; ")
}

// read reads what is at a path.
func read(path, format string) ([]logs.Log, error) {
	all, _, err := logs.Choice{Format: format}.Read(path)
	return all, err
}

// one reads a path that must hold one log.
func one(t *testing.T, path string, c logs.Choice) logs.Log {
	t.Helper()
	all, _, err := c.Read(path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d logs, %v", path, len(all), err)
	}
	return all[0]
}

// refuses checks that an error holds all of the texts.
func refuses(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want one with %q", fmt.Sprint(err), text)
		}
	}
}

// The logs of testdata/inspect are inspect_ai's own. Of b the second epoch is not a
// number, and the third of 4 ended in an error.
func TestLogsOfInspect(t *testing.T) {
	const all = "a 1:1 2:0 3:0.5; b 1:1 3:0.5; 4 1:1 2:0"
	cases := []struct {
		file, want string
		allocated  bool
		notes      []string
	}{
		{"zstd.eval", all, false, []string{"1 left out: the sample ended in an error", "1 left out: it is not scored"}},
		{"deflate.eval", all, false, []string{"1 left out: the sample ended in an error", "1 left out: it is not scored"}},
		{"crashed.eval", "a 1:1 2:0; b 1:1; 4 1:1 2:0", false, []string{"did not come to its end"}},
		{"crashed_allocated.eval", "a 1:1 2:0; b 1:1; 4 1:1 2:0", true, []string{"does not say which rollouts were selected"}},
		{"allocated.eval", "a 1:1 2:0 3:0.5; b 1:1; 4 1:1", true, []string{"1 left out: the allocation did not select them"}},
		{"stopped.eval", "a 1:1 2:0 3:0.5; b 1:1; 4 1:1 2:0", false, []string{`"other" stopped 3 of its epochs early`}},
		{"whole.json", "4 1:1; a 1:1", false, []string{"the rewards are by graded, of graded, parts/right, parts/style"}},
	}
	for _, c := range cases {
		l := one(t, "testdata/inspect/"+c.file, logs.Choice{})
		if got := said(l); got != c.want || l.Allocated != c.allocated {
			t.Errorf("%s: %s, allocated %t, want %s, %t", c.file, got, l.Allocated, c.want, c.allocated)
		}
		if l.Format != "inspect" || l.Benchmark != "org/quiz" || l.Model != "mockllm/model" || l.Scorer != "graded" {
			t.Errorf("%s: %+v", c.file, l)
		}
		if r := l.Tasks[0].Rollouts[0]; r.PromptTokens != 12 || r.CompletionTokens != 5 {
			t.Errorf("%s: tokens %+v", c.file, r)
		}
		for _, note := range c.notes {
			if !strings.Contains(strings.Join(l.Notes, "\n"), note) {
				t.Errorf("%s: notes %q, want %q", c.file, l.Notes, note)
			}
		}
	}
}

func TestAScoreIsChosenByName(t *testing.T) {
	for scorer, want := range map[string]string{"parts/right": "4 1:1; a 1:1", "style": "4 1:0.5; a 1:0.5", "graded": "4 1:1; a 1:1"} {
		if got := said(one(t, "testdata/inspect/whole.json", logs.Choice{Reward: scorer})); got != want {
			t.Errorf("%s: %s", scorer, got)
		}
	}
	_, _, err := logs.Choice{Reward: "parts"}.Read("testdata/inspect/whole.json")
	refuses(t, err, "testdata/inspect/whole.json", "--reward parts is several: choose one of parts/right, parts/style")
	_, _, err = logs.Choice{Reward: "absent"}.Read("testdata/inspect/whole.json")
	refuses(t, err, `no scores by "absent", but by graded, parts/right, parts/style`)
	_, err = read("testdata/inspect/parts.eval", "")
	refuses(t, err, "the score parts has several parts: choose one with --reward, of parts/right, parts/style")
}

func TestAFolderOfLogs(t *testing.T) {
	all, unusable, err := logs.Choice{Reward: "graded"}.Read("testdata/inspect")
	if err != nil || len(all) != 7 || len(unusable) != 1 {
		t.Errorf("%d logs, %v, %v", len(all), unusable, err)
	}
	refuses(t, errors.Join(unusable...), "parts.eval", "no scores by")
	all, _, err = logs.Choice{Reward: "graded", Strict: true}.Read("testdata/inspect")
	refuses(t, err, "parts.eval", "no scores by")
	if all != nil {
		t.Error("logs beside an error")
	}
	_, _, err = logs.Choice{Reward: "absent"}.Read("testdata/inspect")
	refuses(t, err, "testdata/inspect/", `no scores by "absent"`)
	if all, err = read("testdata/verifiers", ""); err != nil || len(all) != 1 {
		t.Errorf("%d logs, %v", len(all), err)
	}
	all, err = read("testdata/terminal-bench", "") // the run's own file repeats its trials
	if err != nil || len(all) != 1 || len(all[0].Tasks) != 2 {
		t.Errorf("%d logs, %v", len(all), err)
	}
}

// An allocation of Inspect selects the first epochs of a task, or lists them.
func TestSelectedEpochsMayBeListed(t *testing.T) {
	log := `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"results":{"early_stopping":{"manager":"speceval","metadata":{"speceval":{"protocol":1,"selected":{"a":[3,1,7],"b":1}}}}},
		"samples":[%s]}`
	var samples []string
	for _, id := range []string{"a", "b"} {
		for epoch := 1; epoch <= 3; epoch++ {
			samples = append(samples, fmt.Sprintf(`{"id":%q,"epoch":%d,"scores":{"s":{"value":%d}},"model_usage":{"m":{"input_tokens":1,"output_tokens":2},"judge":{"input_tokens":100,"output_tokens":200}}}`, id, epoch, epoch%2))
		}
	}
	l := one(t, written(t, map[string]string{"x.json": fmt.Sprintf(log, strings.Join(samples, ","))}), logs.Choice{})
	if said(l) != "a 1:1 3:1; b 1:1" || l.Left != 3 || !strings.Contains(strings.Join(l.Notes, "\n"), "1 that the allocation selected are not scored") {
		t.Errorf("%s, %d left out, %q", said(l), l.Left, l.Notes)
	}
	if r := l.Tasks[0].Rollouts[0]; r.PromptTokens != 1 || r.CompletionTokens != 2 {
		t.Errorf("tokens of a judge count: %+v", r)
	}
}

// Rows of several results of one evaluation are scores by several scorers.
func TestResultsOfEveryEvalEverAreScorers(t *testing.T) {
	row := `{"evaluation_id":"e","evaluation_name":"q","model_id":"m","evaluation_result_id":%q,"sample_id":%q,"evaluation":{"score":%d}}` + "\n"
	file := written(t, map[string]string{"u_samples.jsonl": fmt.Sprintf(row, "first", "a", 1) + fmt.Sprintf(row, "second", "a", 0) + fmt.Sprintf(row, "first", "b", 0)})
	if l := one(t, file, logs.Choice{}); said(l) != "a 1:1; b 1:0" || l.Scorer != "first" || l.Left != 0 {
		t.Errorf("%s by %s", said(l), l.Scorer)
	}
	if l := one(t, file, logs.Choice{Reward: "second"}); said(l) != "a 1:0" || l.Scorer != "second" {
		t.Errorf("%s by %s", said(l), l.Scorer)
	}
}

func TestTokensThatWereNotCountedAreUnknown(t *testing.T) {
	log := `{"schema":"speceval-export/1","result":{"benchmark":"q","model":"m"},"rollouts":[{"task_id":"a","rollout":0,"reward":0.5,"prompt_tokens":0,"completion_tokens":0}]}`
	l := one(t, written(t, map[string]string{"x.json": log}), logs.Choice{})
	if r := l.Tasks[0].Rollouts[0]; said(l) != "a 1:0.5" || r.PromptTokens != -1 || r.CompletionTokens != -1 {
		t.Errorf("%s, %+v", said(l), r)
	}
}

// A document has a row for each filter: the rows of other filters are no rollouts that are
// left out.
func TestRowsOfOtherFiltersAreNotLeftOut(t *testing.T) {
	row := `{"doc_id":%d,"resps":[["a"]],"filtered_resps":["a"],"filter":%q,"acc":%d}` + "\n"
	file := written(t, map[string]string{"m/samples_q_1.jsonl": fmt.Sprintf(row, 0, "strict", 1) + fmt.Sprintf(row, 0, "flexible", 0) + fmt.Sprintf(row, 1, "strict", 0) + fmt.Sprintf(row, 1, "flexible", 1)})
	if l := one(t, file, logs.Choice{}); said(l) != "0 1:1; 1 1:0" || l.Scorer != "acc/strict" || l.Left != 0 {
		t.Errorf("%s by %s, %d left out", said(l), l.Scorer, l.Left)
	}
	if l := one(t, file, logs.Choice{Reward: "flexible"}); said(l) != "0 1:0; 1 1:1" || l.Left != 0 {
		t.Errorf("%s by %s, %d left out", said(l), l.Scorer, l.Left)
	}
}
