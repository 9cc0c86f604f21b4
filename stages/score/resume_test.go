package score_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/servers/vllm"
)

// more gives the open question so many rollouts, of which every second one is
// right.
func (l *lab) more(rollouts int) {
	l.settings.Rollouts = rollouts
	texts := [][]string{}
	for i := 0; i < len(l.rollouts); i += 2 {
		texts = append(texts, []string{l.rollouts[i].Text, l.rollouts[i+1].Text})
	}
	first := l.rollouts
	l.rollouts = nil
	for task, both := range texts {
		for k := range rollouts {
			r := first[2*task]
			r.Rollout, r.Text = int32(k), fmt.Sprintf("%d. %s", k, both[k%2])
			l.rollouts = append(l.rollouts, r)
		}
	}
}

// TestAJudgeThatGoesDown comes back, and is asked for the missing verdicts
// alone; the scores are those of one that was always there.
func TestAJudgeThatGoesDown(t *testing.T) {
	steady := newLab(t)
	steady.more(40)
	steady.succeed()

	l := newLab(t)
	l.more(40)
	answer := l.judge
	l.judge = func(n int, question string) (string, error) {
		if n > 25 {
			return "", &vllm.Error{Kind: vllm.Unreachable, URL: "http://judge", Message: "connection refused"}
		}
		return answer(n, question)
	}
	l.fail("score rollout", "of task 2 (river)", "http://judge")
	if left, _ := filepath.Glob(filepath.Join(l.dir, "score", "*", "*", "*")); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	l.judge, l.asked = answer, 0
	l.succeed()
	if l.asked != 40-25 {
		t.Errorf("the judge was asked %d times again, want %d", l.asked, 40-25)
	}
	for _, file := range []string{scoresFile, profileFile} {
		a, err := os.ReadFile(filepath.Join(l.dir, file))
		b, err2 := os.ReadFile(filepath.Join(steady.dir, file))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not what a judge without faults leads to, %v", file, err)
		}
	}
}

func TestAJudgeThatAnswersNonsense(t *testing.T) {
	l := newLab(t)
	l.more(200)
	answer := l.judge
	nonsense := func(upTo int) func(int, string) (string, error) {
		return func(n int, question string) (string, error) {
			for k := range upTo {
				if strings.Contains(question, fmt.Sprintf(" %d. ", 2*k)) {
					return "Let me think about it.", nil
				}
			}
			return answer(n, question)
		}
	}
	l.judge = nonsense(3)
	l.fail("on more than 1% of 200 responses", "the judge gave no verdict", "judge.prompt")
	l.judge = nonsense(2)
	l.succeed()
	if m := l.manifest(); !strings.Contains(m, "the judge gave no verdict on 2 responses, which count as wrong") {
		t.Errorf("manifest %s", m)
	}
	unread := 0
	for _, s := range l.scores() {
		if s.Note == "the judge gave no verdict" && !s.Correct {
			unread++
		}
	}
	if unread != 2 {
		t.Errorf("%d responses without a verdict, want 2", unread)
	}
}

// TestAnInterruptKeepsVerdicts ends in the middle of many questions, after those that are
// under way and at once.
func TestAnInterruptKeepsVerdicts(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		l := newLab(t)
		l.more(500)
		answer := l.judge
		ctx, cancel := context.WithCancel(t.Context())
		l.judge = func(n int, question string) (string, error) {
			if n == 10 && atOnce {
				cancel()
			} else if n == 10 {
				close(l.drain)
			}
			return answer(n, question)
		}
		if err := l.attemptUnder(ctx); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Fatalf("error %v, want an interruption", err)
		}
		if left, _ := filepath.Glob(filepath.Join(l.dir, "score", "*", "*", "*")); len(left) != 0 {
			t.Errorf("%v are left", left)
		}
		before := l.asked
		l.drain, l.judge = make(chan struct{}), answer
		l.succeed()
		if before >= 500 || !atOnce && l.asked != 500 {
			t.Errorf("the judge was asked %d times before the end and %d in all, want 500 in all", before, l.asked)
		}
		cancel()
	}
}
