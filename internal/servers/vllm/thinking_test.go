package vllm

import (
	"errors"
	"io"
	"net/http"
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
