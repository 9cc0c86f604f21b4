package evaluate_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/pipeline/evaluate"
)

// TestLossesAreTold holds the words of a result and of a comparison to their numbers.
func TestLossesAreTold(t *testing.T) {
	l := newLab(t)
	r := l.evaluate(request(6, 1))
	shown := func() string {
		var b bytes.Buffer
		if err := evaluate.WriteResult(&b, r, "folder", false); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := shown(); strings.Contains(text, "  lost ") {
		t.Errorf("nothing is lost of %s", text)
	}
	r.Losses = evaluation.Losses{Continued: 2, AskedAgain: 1, TooHigh: 0.0125, TooLow: 0.0375, WorstCase: 0.05}
	const want = "1 rollout asked again, for which the mean may be too high by 0.0125 at most, or too low by 0.0375"
	if text := shown(); !strings.Contains(text, "lost         2 rollouts continued from what was seen; "+want) {
		t.Errorf("%q is not in %s", want, text)
	}
	c := evaluate.Comparison{}
	c.Losses.Add(r.Losses, 1)
	c.Losses.Add(evaluation.Losses{AskedAgain: 3, TooHigh: 0.1, TooLow: 0.2, WorstCase: 0.3}, -0.5)
	var b bytes.Buffer
	if err := c.Text(&b); err != nil || !strings.Contains(b.String(), "4 rollouts asked again, for which the difference may be too high by 0.1125 at most, or too low by 0.0875") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// TestRulesForLossesAreChecked refuses one that there is not, before anything is asked.
func TestRulesForLossesAreChecked(t *testing.T) {
	l := newLab(t)
	r := request(6, 1)
	r.OnLoss = "maybe"
	var fault *evaluate.RequestError
	if _, _, err := l.try(r); !errors.As(err, &fault) || !strings.Contains(err.Error(), `--on-loss "maybe": want one of continue, again, refuse`) {
		t.Errorf("error %v", err)
	}
	r.OnLoss = "refuse"
	if result, _, err := l.try(r); err != nil || result.Losses != (evaluation.Losses{}) {
		t.Errorf("%+v, %v", result, err)
	}
}
