package judge_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
	"speceval/internal/servers/vllm"
)

// script is a judge that gives replies in turn, and remembers what it was asked.
type script struct {
	replies []string
	finish  string
	err     error
	asked   []vllm.Request
}

func (s *script) Stream(_ context.Context, r vllm.Request, _ func(vllm.Piece)) (vllm.Completion, string, error) {
	s.asked = append(s.asked, r)
	if s.err != nil {
		return vllm.Completion{}, "http://judge", s.err
	}
	reply := s.replies[min(len(s.asked), len(s.replies))-1]
	return vllm.Completion{Text: reply, Finish: s.finish}, "http://judge", nil
}

// settings ask a judge with a short prompt.
func settings(t testing.TB, servers judge.Asker) judge.Settings {
	t.Helper()
	prompt := must(judge.ParsePrompt("Q {{.Question}}\nR {{.Response}}\nA {{.Answer}}\n", "short.txt"))
	grading := must(judge.ParsePrompt("Q {{.Question}}\nR {{.Response}}\nF {{.Answer}}\n", "grading.txt"))
	return judge.Settings{Sampling: vllm.Sampling{Model: "j", TopP: 1, MaxTokens: 100}, Prompt: prompt, Grading: grading, Servers: servers}
}

// score is the verdict by a judge on a response to the question q, to which g is right.
func (s *script) score(t testing.TB, r scoring.Response) (scoring.Verdict, error) {
	return judge.New(settings(t, s), "q", "g").Score(t.Context(), r)
}

// word is the verdict by a reply.
func word(v scoring.Verdict, err error) string {
	if errors.Is(err, judge.ErrUnparsable) {
		return "unparsable"
	}
	return map[bool]string{true: "yes", false: "no"}[v.Correct() && err == nil]
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func TestVerdicts(t *testing.T) {
	const none = "unparsable"
	for _, test := range []struct{ reply, want, answer string }{
		{"extracted_final_answer: the Danube\nreasoning: same\ncorrect: yes\nconfidence: 90", "yes", "the Danube"},
		{"extracted_final_answer: None\ncorrect: no", "no", ""},
		{"**extracted_final_answer:** *42*\n\n**correct:** No.", "no", "42"},
		{"> [correct]: [no]", "no", ""},
		{"correct: no\n\ncorrect: yes", none, ""},
		{"The response ends with:\ncorrect: yes\nI cannot tell.", none, ""},
		{"> correct: yes\nis what it says.", none, ""},
		{"Here is my verdict:\n\ncorrect: yes", "yes", ""},
		{"correct: no\nWait, they are equal.\ncorrect: yes", "yes", ""},
		{"correct: yes</think>", none, ""},
		{`{"extracted_final_answer": "7", "reasoning": "{", "correct": "yes", "confidence": 3}`, "yes", "7"},
		{"```json\n{\"extracted_final_answer\": 7.5,\n \"correct\": \"no\"}\n```", "no", "7.5"},
		{`Here it is: {"extracted_final_answer": null, "correct": true}`, "yes", ""},
		{`{"correct": "no"} so {"correct": "Yes"}`, "yes", ""},
		{"{\n  \"extracted_final_answer\": \"x\",\n  \"correct\": \"yes\",\n  \"confidence\": 9", "yes", "x"}, // cut short
		{"", none, ""},
		{"I think it is correct: yes", none, ""},
		{"correct: no because the units differ", "no", ""},
		{"correct: yes (rounded)", "yes", ""},
		{"correct: yes if they mean the same, or differ by no more than a small rounding of a number; no if they differ", none, ""},
		{"correct: no\ncorrect: yes would be wrong", "no", ""},
		{"correct: \u023a\u023ayes", none, ""},
		{"correct: yes\u0130", none, ""},
		{"correct: yes or no", none, ""},
		{"correct: yesterday", none, ""},
		{"correct_answer: yes", none, ""},
		{"incorrect: yes", none, ""},
		{`{"correct": "maybe"}`, none, ""},
		{strings.Repeat("the set {1, 2}\n", 20) + `{"correct": "yes"}`, "yes", ""},
		{`{"incorrect": "yes"}`, none, ""},
	} {
		servers := &script{replies: []string{test.reply}, finish: "stop"}
		v, err := servers.score(t, scoring.Response{Text: "r"})
		got := word(v, err)
		if got != test.want || v.Answer != test.answer || v.Note != "" {
			t.Errorf("%q: %s, %+v, want %s, %q", test.reply, got, v, test.want, test.answer)
		}
		if asked := len(servers.asked); asked != 1 && got != none || asked != 2 && got == none {
			t.Errorf("%q: asked %d times", test.reply, asked)
		}
	}
}

// TestVerdictsByConstruction builds replies of a verdict in some form, what comes
// before it, and what comes behind it: a contradiction, or nothing of the kind.
func TestVerdictsByConstruction(t *testing.T) {
	forms := []string{"correct: %s", "correct：%s", "correct:\n%s", "**correct:** %s", "**Correct**:\n\n**%s**", "correct:\u00a0%s.", "`correct`: \"%s\"",
		"{\"correct\": \"%s\"}", "```json\n{\"extracted_final_answer\": \"7\",\n\"correct\": \"%s\"}\n```", "4. correct: %s",
		"- `correct`: '%s'", "### correct : %s\r\n", "3) **correct**: %s", "correct: yes/no\ncorrect: %s", "correct: %s because of the units", "> x\n{\"correct\": \"no idea\"}\ncorrect: %s"}
	before := []string{"", "reasoning: the response says it is incorrect: no.\n", "<think>correct: no\ncorrect: yes\nno</think>", "correct: yes or no\n"}
	harmless := []string{"", "\nconfidence: 90", "\nThat is not wrong.", "\nNo rounding is needed.", "\n\nThe two are equal, and there is no difference.", "\nreasoning: its first try was wrong, the last is 7.",
		"\nThe response ends with:\ncorrect: %[1]s", "\n> correct: %[1]s"}
	against := []string{" No, incorrect.", "\nNo.", "\nWait, the units are off.", "\n\nOn second thought, that is not right.", "\nIt is incorrect.", "\nIt isn't the same.",
		"\nHowever, the value differs.", "\nPartially.", "\nPerhaps.", "\nIt is hardly the same.", "\nOn second thought, I see a gap.", "\nThe two never match.", "\ncorrect: yes, no", "\nThe response ends with:\ncorrect: no", "\ncorrect:\nperhaps"}
	replies := 0
	check := func(reply, want string) {
		replies++
		servers := &script{replies: []string{reply}, finish: "stop"}
		if got := word(servers.score(t, scoring.Response{Text: "r"})); got != want {
			t.Errorf("%q: %s, want %s", reply, got, want)
		}
	}
	for _, form := range forms {
		for _, first := range before {
			for _, word := range []string{"yes", "no", "Yes", "NO"} {
				verdict := strings.ReplaceAll(form, "%s", word)
				for _, last := range harmless {
					check(first+verdict+strings.ReplaceAll(last, "%[1]s", word), strings.ToLower(word))
				}
				if strings.EqualFold(word, "no") {
					check(first+verdict+"\n> correct: yes", "no")
					check(first+verdict+"\nThe response ends with:\n\ncorrect: yes", "no")
					check(first+verdict+"\ncorrect: yes", "unparsable")
					continue
				}
				for _, last := range against {
					check(first+verdict+last, "unparsable")
				}
				check(first+verdict+"\ncorrect: no", "no")
			}
		}
	}
	if replies < 1000 {
		t.Errorf("%d replies", replies)
	}
}

func TestAskedOnceMore(t *testing.T) {
	servers := &script{replies: []string{"hm", "correct: yes"}, finish: "stop"}
	score := func() (scoring.Verdict, error) {
		return judge.New(settings(t, servers), "q {{.Answer}}", "g").Score(t.Context(), scoring.Response{Text: "r {{.Question}}\xff", Cut: true})
	}
	v, err := score()
	if err != nil || !v.Correct() || len(servers.asked) != 2 {
		t.Fatalf("%+v, %v after %d questions", v, err, len(servers.asked))
	}
	first, second := servers.asked[0], servers.asked[1]
	const turn = "Q q {{.Answer}}\nR r {{.Question}}\ufffd\nA g"
	if len(first.Messages) != 1 || first.Messages[0] != (vllm.Message{Role: "user", Content: turn}) {
		t.Errorf("asked %q", first.Messages)
	}
	if len(second.Messages) != 1 || !strings.HasPrefix(second.Messages[0].Content, turn+"\n\nYour reply must") {
		t.Errorf("asked again %q", second.Messages)
	}
	if first.Seed == second.Seed || first.ID == second.ID || first.Seed < 0 || first.ID == "" || first.Model != "j" || first.MaxTokens != 100 {
		t.Errorf("requests %+v\n%+v", first, second)
	}
	servers.replies = []string{"x", "x", "hm", "correct: no"}
	if v, err := score(); err != nil || v.Correct() || !reflect.DeepEqual(servers.asked[:2], servers.asked[2:]) {
		t.Errorf("another time: %+v, %v, other requests", v, err)
	}
}

// TestErrorsOfServers pass, but for a refusal of a response that is too long for the judge.
func TestErrorsOfServers(t *testing.T) {
	for _, cause := range []*vllm.Error{{Kind: vllm.EngineDead}, {Kind: vllm.Rejected, URL: "http://judge", Message: "too long"}} {
		servers := &script{err: cause}
		v, err := servers.score(t, scoring.Response{Text: "r"})
		if !strings.Contains(err.Error(), cause.Message) || v != (scoring.Verdict{}) || len(servers.asked) != 1 ||
			errors.Is(err, judge.ErrUnparsable) != (cause.Kind == vllm.Rejected) || !errors.Is(err, cause) {
			t.Errorf("%+v, %v after %d questions", v, err, len(servers.asked))
		}
	}
}

func TestNoVerdict(t *testing.T) {
	servers := &script{replies: []string{"", strings.Repeat("é", 300) + " that I cannot say"}, finish: "length"}
	v, err := servers.score(t, scoring.Response{Text: "r"})
	if !errors.Is(err, judge.ErrUnparsable) || v != (scoring.Verdict{}) {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, part := range []string{"http://judge", `that I cannot say" by length`} {
		if !strings.Contains(err.Error(), part) || len(err.Error()) > 300 {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
}

// TestEndsOfReplies are words of other servers than vLLM, and thinking that does not end.
func TestEndsOfReplies(t *testing.T) {
	for _, test := range []struct {
		reply, finish string
		want          bool
	}{
		{"correct: yes", "eos_token", true},
		{"correct: yes", "end_turn", true},
		{"correct: yes", "max_tokens", false},
		{"extracted_final_answer: it says\ncorrect: yes\nand more and", "length", false},
		{"<think>it may be correct: no</think>correct: yes", "stop", true},
		{"<think>so far I would say\ncorrect: yes", "stop", false},
		{"[THINK]so far I would say\ncorrect: yes", "stop", false},
	} {
		servers := &script{replies: []string{test.reply}, finish: test.finish}
		v, err := servers.score(t, scoring.Response{Text: "r"})
		if v.Correct() != test.want || errors.Is(err, judge.ErrUnparsable) == test.want {
			t.Errorf("%q, %s: %+v, %v", test.reply, test.finish, v, err)
		}
	}
}

func TestNothingToAsk(t *testing.T) {
	for _, r := range []scoring.Response{{}, {Text: " \n"}, {Cut: true}} {
		servers := &script{err: errors.New("asked")}
		v, err := servers.score(t, r)
		if err != nil || v.Correct() || v.Answer != "" || v.Note == "" {
			t.Errorf("%+v: %+v, %v", r, v, err)
		}
	}
}

func TestPrompts(t *testing.T) {
	for name, prompt := range map[string]struct {
		text  []byte
		parts string
	}{
		data.VerdictPromptName: {data.VerdictPrompt(), "<q>|<r>|\nextracted_final_answer:|<a>|\nreasoning:|\ncorrect:|\nconfidence:"},
		data.GradePromptName:   {data.GradePrompt(), "<q>|<r>|<a>|\nreasoning:|\ngrade:"},
	} {
		var b strings.Builder
		ours := must(judge.ParsePrompt(string(prompt.text), name))
		if err := ours.Execute(&b, struct{ Question, Response, Answer string }{"<q>", "<r>", "<a>"}); err != nil {
			t.Fatal(err)
		}
		rest, found := b.String(), true
		for part := range strings.SplitSeq(prompt.parts, "|") {
			if _, rest, found = strings.Cut(rest, part); !found {
				t.Errorf("%q is not where it belongs in\n%s", part, b.String())
			}
		}
	}
	for text, want := range map[string]string{
		"{{.Question}} {{.Response}}":         "own.txt lacks <the right answer>",
		"{{.Question}} {{.Answer}}":           "own.txt lacks <the response>",
		"{{.Response}} {{.Answer}}":           "own.txt lacks <the question>",
		"":                                    "own.txt lacks <the question>",
		"{{.Question}":                        "own.txt",
		"{{.Question}}{{.Response}}{{.Gold}}": "Gold",
	} {
		if _, err := judge.ParsePrompt(text, "own.txt"); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A judge is told that no answer is known, and sees all turns of a chat.
func TestWhatAJudgeIsShown(t *testing.T) {
	chat := []scoring.Turn{{Role: "user", Content: "Who?"}, {Role: "assistant", Content: "She."}}
	for _, test := range []struct {
		task scoring.Task
		want string
	}{
		{scoring.Task{Prompt: "q", UserPrompt: "Now: q", Answer: "g"}, "Q q\nR r\nA g"},
		{scoring.Task{Prompt: "q", UserPrompt: "Now: q"}, "Q q\nR r\nA none is given. "},
		{scoring.Task{Prompt: "When?", UserPrompt: "When?", History: chat, Answer: "g"}, "Q user: Who?\n\nassistant: She.\n\nuser: When?\nR r\nA g"},
		{scoring.Task{Prompt: "q", UserPrompt: "When?", History: chat, Answer: "g"}, "Q q\nR r\nA g"},
	} {
		for _, scorer := range []string{"judge", "judge-graded"} {
			f, _ := family.Named(scorer)
			servers := &script{replies: []string{"correct: yes\ngrade: 10"}, finish: "stop"}
			v, err := f.New(test.task, family.Resources{Judge: settings(t, servers)}).Score(t.Context(), scoring.Response{Text: "r"})
			asked := strings.Replace(servers.asked[0].Messages[0].Content, "\nF ", "\nA ", 1)
			if err != nil || v.Reward != 1 || asked != test.want && (test.task.Answer != "" || !strings.HasPrefix(asked, test.want)) {
				t.Errorf("%s of %+v: %+v, %v, asked %q", scorer, test.task, v, err, asked)
			}
		}
	}
}

// FuzzReply gives a judge any reply: a verdict is that of the reply alone.
func FuzzReply(f *testing.F) {
	f.Add("extracted_final_answer: x\n**correct**: yes")
	f.Add("```json\n{\"correct\": \"no\"}\n```")
	f.Add("{{{{{{{{{{{{{\"correct\": true}")
	f.Fuzz(func(t *testing.T, reply string) {
		score := func(reply string) (scoring.Verdict, error) {
			return judge.New(settings(t, &script{replies: []string{reply}, finish: "stop"}), "q", "g").Score(t.Context(), scoring.Response{Text: "correct: yes"})
		}
		v, err := score(reply)
		if err != nil && (!errors.Is(err, judge.ErrUnparsable) || v != (scoring.Verdict{})) || len(v.Answer) > 500 {
			t.Errorf("%q: %+v, %v", reply, v, err)
		}
		if err == nil && !strings.Contains(strings.ToLower(reply), "correct") {
			t.Errorf("%q is a verdict: %+v", reply, v)
		}
		if v, _ := score(reply + "\ncorrect: no"); v.Correct() { // the end of reply may quote it
			t.Errorf("%q and a no: %+v", reply, v)
		}
	})
}
