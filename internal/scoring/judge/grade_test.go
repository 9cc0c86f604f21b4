package judge_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/judge"
)

func TestGrades(t *testing.T) {
	none := math.NaN()
	for _, test := range []struct {
		reply string
		want  float64
	}{
		{"reasoning: half of it\ngrade: 5", 0.5},
		{"grade: 0", 0},
		{"grade: 10", 1},
		{"**Grade:** 7", 0.7},
		{"2. grade: 7.5", 0.75},
		{"grade: 7/10", 0.7},
		{"grade: 3 out of 10", 0.3},
		{"grade: 6, for the second part is missing", 0.6},
		{"grade: 6 because the second part is missing", 0.6},
		{"> `grade`: \"8\"", 0.8},
		{"[grade]: [8]", 0.8},
		{"grade: 3\nWait, that was harsh.\ngrade: 4", 0.4},
		{"<think>grade: 10</think>grade: 2", 0.2},
		{`{"reasoning": "x", "grade": 7}`, 0.7},
		{"```json\n{\"reasoning\": \"{\",\n \"grade\": 2.5}\n```", 0.25},
		{`{"grade": "9/10"}`, 0.9},
		{`{"grade": 1e1}`, 1},
		{"grade: 7\n{\"grade\": 3}", 0.3},

		{"", none},
		{"correct: yes", none},
		{"grade: 11", none},
		{"grade: 10.5", none},
		{"grade: -1", none},
		{"grade: 7%", none},
		{"grade: NaN", none},
		{"grade: 1e1", none},
		{"grade: 7-8", none},
		{"grade: 7 or 8", none},
		{"grade: 7,5", none},
		{"grade: 3½", none},
		{"grade: ７", none},
		{"grade: seven", none},
		{"grade: a whole number from 0 to 10", none},
		{"grade:", none},
		{"upgrade: 7", none},
		{"grade: 7\ngrade: 12", none}, // which of the two is meant?
		{"grade: 7\ngrade: about eight", none},
		{`{"grade": 11}`, none},
		{`{"grade": 1e999}`, none},
		{`{"grade": true}`, none},
		{`{"grade": [7, 8]}`, none},
		{`{"correct": 7}`, none},
	} {
		servers := &script{replies: []string{test.reply}, finish: "stop"}
		v, err := judge.NewGraded(settings(t, servers), "q", "g").Score(t.Context(), scoring.Response{Text: "grade: 10"})
		got := none
		if err == nil {
			got = v.Reward
		} else if !errors.Is(err, judge.ErrUnparsable) {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%q: %v, %+v, want %v", test.reply, got, v, test.want)
		}
		if asked := len(servers.asked); asked != 1 && err == nil || asked != 2 && err != nil {
			t.Errorf("%q: asked %d times", test.reply, asked)
		}
	}
}

// Graded answers have a prompt and a reminder of their own.
func TestGradesAreAskedForByTheirOwnPrompt(t *testing.T) {
	servers := &script{replies: []string{"correct: yes", "grade: 4"}, finish: "stop"}
	v, err := judge.NewGraded(settings(t, servers), "q", "full").Score(t.Context(), scoring.Response{Text: "r"})
	if err != nil || v.Reward != 0.4 || len(servers.asked) != 2 {
		t.Fatalf("%+v, %v after %d questions", v, err, len(servers.asked))
	}
	first, second := servers.asked[0].Messages[0].Content, servers.asked[1].Messages[0].Content
	if first != "Q q\nR r\nF full" || !strings.HasPrefix(second, first+"\n\nYour reply must have one line \"grade: N\"") {
		t.Errorf("asked %q and %q", first, second)
	}
}

// FuzzGrade gives a judge any reply: a grade is a number from 0 to 10 that the reply
// holds, or there is none.
func FuzzGrade(f *testing.F) {
	for _, reply := range []string{"grade: 7", "grade: 7/10", `{"grade": 7.25}`, "grade: 10.000001", "{\"grade\": \"\ngrade: 3", "grade: 0x3"} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		servers := &script{replies: []string{reply}, finish: "stop"}
		v, err := judge.NewGraded(settings(t, servers), "q", "g").Score(t.Context(), scoring.Response{Text: "grade: 10"})
		if err != nil {
			if !errors.Is(err, judge.ErrUnparsable) || v != (scoring.Verdict{}) {
				t.Errorf("%q: %+v, %v", reply, v, err)
			}
			return
		}
		if !(v.Reward >= 0 && v.Reward <= 1) || !strings.Contains(strings.ToLower(reply), "grade") || !strings.ContainsAny(reply, "0123456789") {
			t.Errorf("%q is a grade: %+v", reply, v)
		}
	})
}
