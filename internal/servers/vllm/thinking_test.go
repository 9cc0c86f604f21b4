package vllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestBudgetOfTheRest has prompts that end inside the thinking (s for <think>, e
// for </think>), and answers.
func TestBudgetOfTheRest(t *testing.T) {
	m := tags{start: 's', end: 'e'}
	ids := func(text string) []int32 { return []rune(text) }
	const none, refused = -1, -2
	for _, test := range []struct {
		prompt, answer string
		budget, want   int
	}{
		{"us.", "abc", 4, 4},         // used up
		{"us.", "abc", 3, refused},   // more than it: the server ends it otherwise
		{"us.", "abce", 3, none},     // over
		{"us.", "absc", 9, 5},        // opened within: the server counts from there
		{"us.", "asbsc", 9, 4},       // twice
		{"u", "abc", 9, 9},           // an answer that opens its thinking itself, not yet
		{"u", "sabsc", 9, 6},         //
		{"u", "aesb", 9, refused},    // the end came first
		{"usxe.", "abc", 9, 9},       // closed by the template
		{"usxe.", "abc", 0, none},    // no budget
		{"us.", "abcdfghij", 10, 10}, // the last one
	} {
		got, err := (&Prefix{PromptIDs: ids(test.prompt), IDs: ids(test.answer)}).budget(test.budget, m)
		left := none
		if err != nil {
			left = refused
		} else if got != nil {
			left = *got
		}
		if left != test.want {
			t.Errorf("%+v: %d, %v", test, left, err)
		}
	}
	if _, err := (&Prefix{PromptIDs: ids("u"), IDs: ids("a")}).budget(3, tags{-1, 5}); err == nil {
		t.Error("a budget without a tag")
	}
}

func TestWhereAPrefixEnds(t *testing.T) {
	m := tags{start: 1, end: 2}
	for name, test := range map[string]struct {
		Prefix
		tags
		want bool
		err  string
	}{
		"thinking":               {Prefix{IDs: []int32{9}, Reasoning: "a"}, m, true, ""},
		"answer":                 {Prefix{IDs: []int32{9, 2, 8}, Reasoning: "a", Text: "b"}, m, false, ""},
		"the tag itself":         {Prefix{IDs: []int32{9, 2}, Reasoning: "a"}, m, false, ""},
		"no parser":              {Prefix{IDs: []int32{9}, Text: "a"}, m, false, ""},
		"no tags":                {Prefix{IDs: []int32{9}}, tags{-1, -1}, false, ""},
		"tags of several tokens": {Prefix{IDs: []int32{9}, Reasoning: "a"}, tags{-1, -1}, false, "does not end with a token"},
		"ended otherwise":        {Prefix{IDs: []int32{9}, Reasoning: "a", Text: "b"}, m, false, "without </think>"},
		"closed by the template": {Prefix{PromptIDs: []int32{1, 2, 7}, IDs: []int32{9}}, m, false, ""},
		"nothing seen":           {Prefix{PromptIDs: []int32{1, 7}, IDs: []int32{9}}, m, false, errUnseen.Error()},
	} {
		got, err := test.thinking(test.tags)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}

func TestSplit(t *testing.T) {
	s := continuation{tags: tags{start: 1, end: 2}, thinking: true}
	for _, step := range []struct {
		text              string
		ids               []int32
		answer, reasoning string
	}{
		{"ab", []int32{9, 9}, "", "ab"}, {"</think>", []int32{5, 6, 7}, "", "</think>"}, // spelt out
		{"<think>c", []int32{1, 9}, "", "c"}, {"", []int32{9}, "", ""}, {"d</think>e", []int32{9, 2, 9}, "e", "d"},
		{"<think>f</think>", []int32{1, 9, 2}, "<think>f</think>", ""},
	} {
		answer, reasoning, err := s.split(step.text, step.ids)
		if answer != step.answer || reasoning != step.reasoning || err != nil {
			t.Errorf("%+v: %q, %q, %v", step, answer, reasoning, err)
		}
	}
	for _, text := range []string{"and no tag", "a <tool_call> that ends it"} {
		s.thinking = true
		if _, _, err := s.split(text, []int32{9, map[bool]int32{true: 2, false: 9}[text == "and no tag"]}); err == nil {
			t.Errorf("%q is split", text)
		}
	}
}

// TestUnseenSeparation is of a prefix of which nothing is visible yet: a question
// shows how the server separates.
func TestUnseenSeparation(t *testing.T) {
	for part, want := range map[string]bool{"reasoning": true, "content": false} {
		asked := 0
		c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked++
			if r.URL.Path != "/v1/chat/completions" || strings.Contains(string(body), `"prompt"`) || !strings.Contains(string(body), `"max_tokens":16`) {
				t.Errorf("%s %s", r.URL.Path, body)
			}
			io.WriteString(w, strings.Replace(chunk("a", `"length"`, 1), `"content"`, `"`+part+`"`, 1)+done)
		})
		r := request()
		r.Prefix = &Prefix{PromptIDs: []int32{1}, IDs: []int32{228}}
		if got, err := c.separates(t.Context(), r); got != want || err != nil || asked != 1 {
			t.Errorf("%s: %t, %v, %d requests", part, got, err, asked)
		}
	}
	silent := client(t, Options{}, says(200, chunk("", `"length"`, 1)+done))
	if _, err := silent.separates(t.Context(), request()); !errors.Is(err, errUnseen) {
		t.Error(err)
	}
}

// TestHalfCharacter completes one around a special token, which has no text.
func TestHalfCharacter(t *testing.T) {
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Tokens []int32 }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		var written strings.Builder
		for _, id := range q.Tokens {
			if id == 257 {
				written.WriteString("<|im_start|>")
			} else {
				written.WriteByte(byte(id))
			}
		}
		text, err := json.Marshal(strings.ToValidUTF8(written.String(), unfinished))
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"prompt":%s}`, text)
	})
	half := func(ids []int32) *continuation {
		x := &continuation{client: c}
		if err := x.findHalf(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, before := range []int{0, 1, 31, 32, 33, 100} {
		ids := append(slices.Repeat([]int32{'a'}, before), 0xe4, 0xbd)
		if x := half(ids[:before]); x.read != nil && before > 0 {
			t.Errorf("after %d whole characters there is a half: %v", before, x.read)
		}
		x := half(ids)
		if x.read == nil || strings.Trim(x.before, "a") != "" {
			t.Fatalf("after %d characters: %q", before, x.before)
		}
		if text, err := x.complete(t.Context(), Piece{IDs: nil}); text != "" || err != nil {
			t.Errorf("nothing completes it: %q, %v", text, err)
		}
		if text, err := x.complete(t.Context(), Piece{IDs: []int32{0xa0}, Text: "all of it"}); text != "你" || err != nil || x.read != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	// Bytes that are none, longer than what is looked at.
	if x := half(append([]int32{'a'}, slices.Repeat([]int32{0xff}, 70)...)); x.before != "a" || len(x.read) != 71 {
		t.Errorf("%+v", x)
	}
}
