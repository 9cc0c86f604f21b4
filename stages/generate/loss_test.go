package generate_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/stages/generate"
)

// losing are servers that lose one answer, of which they have told a part.
type losing struct {
	*lab
	lost  string // id of its request
	times int    // that it is lost
}

func (l *losing) servers(ctx context.Context, model string, _ <-chan struct{}) (generate.Servers, error) {
	_, err := l.lab.servers(ctx, model, nil)
	return l, err
}

// lose loses the answer, unless that is enough.
func (l *losing) lose(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != l.lost || l.times == 0 {
		return false
	}
	l.times--
	return true
}

func (l *losing) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	var begun vllm.Prefix
	if r.Prefix != nil {
		begun = *r.Prefix
	}
	c, url, err := l.lab.Stream(ctx, r, nil)
	switch {
	case err != nil:
		return c, url, err
	case seen == nil && l.lose(r.ID):
		return vllm.Completion{}, url, errOutage
	case seen == nil:
		return c, url, nil
	}
	next := int32(len(begun.IDs))
	piece := vllm.Piece{PromptIDs: []int32{1, 2}, IDs: []int32{100 + next, 101 + next}, Text: " more"}
	if l.lose(r.ID) {
		seen(piece)
		return vllm.Completion{}, url, errOutage
	}
	piece.Finish = "stop"
	seen(piece)
	begun.Add(piece)
	return vllm.Completion{
		Text: begun.Text, Finish: "stop", TokenIDs: begun.IDs, PromptIDs: begun.PromptIDs,
		Usage: vllm.Usage{Prompt: 2, Completion: len(begun.IDs), Reasoning: -1},
	}, url, nil
}

// notes are those of the unit's manifest.
func (l *losing) notes() string {
	l.t.Helper()
	text := must(os.ReadFile(l.file("manifests/generate/quiz/m.json")))
	return string(text)
}

func TestLostAnswersGoOn(t *testing.T) {
	l := &losing{lab: newLab(t, 2, 10), lost: "quiz/m/t1/3", times: 2}
	l.continues, l.settings.Servers = true, l.servers
	for range 2 {
		l.fails(false)
	}
	l.run()
	again := l.asked[slices.IndexFunc(l.asked, func(r vllm.Request) bool { return r.ID == l.lost })]
	if again.Prefix == nil || !slices.Equal(again.Prefix.IDs, []int32{100, 101, 102, 103}) || !slices.Equal(again.Prefix.PromptIDs, []int32{1, 2}) || !again.TokenIDs {
		t.Errorf("asked with %+v", again)
	}
	rows := l.wantWhole()
	at := slices.IndexFunc(rows, func(r rollout.Rollout) bool { return r.TaskIndex == 1 && r.Rollout == 3 })
	if r := rows[at]; r.Text != " more more more" || r.CompletionTokens != 6 || rows[0].CompletionTokens != 2 {
		t.Errorf("%+v", r)
	}
	if strings.Contains(l.notes(), "asked for again") {
		t.Errorf("the manifest says %s", l.notes())
	}
}

func TestAnswersThatAreAskedForAgainAreCounted(t *testing.T) {
	for _, rule := range []vllm.OnLoss{vllm.Continue, vllm.AskAgain} {
		l := &losing{lab: newLab(t, 2, 10), lost: "quiz/m/t1/3", times: 2}
		l.continues, l.settings.Servers, l.settings.OnLoss = rule == vllm.AskAgain, l.servers, rule
		for range 2 {
			l.fails(false)
		}
		l.run()
		if l.wantWhole(); !strings.Contains(l.notes(), "of 20 rollouts were lost under way and asked for again") {
			t.Errorf("%v: the manifest says %s", rule, l.notes())
		}
	}
}

func TestLossesThatAreRefusedEndTheUnit(t *testing.T) {
	l := &losing{lab: newLab(t, 2, 10), lost: "quiz/m/t1/3", times: 1}
	l.settings.Servers, l.settings.OnLoss = l.servers, vllm.Refuse
	l.fails(false)
	// Others that were under way may be lost with it.
	if n, err := l.try(false); err == nil || !strings.Contains(err.Error(), " failed") || !strings.Contains(err.Error(), "serving.on_loss") {
		t.Errorf("%d requests, error %v", n, err)
	}
	if slices.ContainsFunc(l.asked, func(r vllm.Request) bool { return r.ID == l.lost }) {
		t.Error("it is asked for again")
	}
	l.settings.OnLoss = vllm.Continue
	l.run()
	l.wantWhole()
}
