package evaluation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/store/rollout"
)

// TestEveryAnswerThatCountsHasToBeThere has an answer of two, and then one without a verdict.
func TestEveryAnswerThatCountsHasToBeThere(t *testing.T) {
	s := &Settings{Folder: t.TempDir()}
	file, err := os.Create(filepath.Join(s.Folder, RolloutsFile))
	if err != nil {
		t.Fatal(err)
	}
	answers := func(yield func(*rollout.Rollout, error) bool) {
		yield(&rollout.Rollout{Benchmark: "b", Model: "m", TaskID: "a", CompletionTokens: 1}, nil)
	}
	if err := rollout.WritePart(file, answers, map[string]string{"speceval.schema": rollout.Schema}); err != nil {
		t.Fatal(err)
	}
	verdict := &rollout.Score{Benchmark: "b", Model: "m", TaskID: "a", Correct: true}
	for want, scores := range map[string][]*rollout.Score{"has 1 of the 2 rollouts that count": {verdict}, "rollout 0 of task a has no verdict": nil} {
		r := &Result{Rollouts: 2, Rows: []Task{{ID: "a", Pilots: 2}}}
		if err := s.conclude(r, slices.Clone(scores), nil, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
