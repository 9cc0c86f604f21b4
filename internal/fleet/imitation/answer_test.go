package imitation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
)

func compare(t *testing.T, what string, whole answer, stream []string) {
	t.Helper()
	if len(stream) < 3 || stream[len(stream)-1] != "[DONE]" {
		t.Fatalf("%s: a stream of %q", what, stream)
	}
	var content, reasoning, finish string
	var ids []int32
	before := -1
	for i, event := range stream[:len(stream)-1] {
		a := parse(t, []byte(event))
		if a.Usage == nil || a.Usage.Completion < before || i == 0 && a.Usage.Completion != 0 || a.Usage.Total != a.Usage.Prompt+a.Usage.Completion {
			t.Fatalf("%s: usage after %d tokens: %s", what, before, event)
		}
		before = a.Usage.Completion
		for _, c := range a.Choices {
			ids = append(ids, c.IDs...)
			if len(ids) != a.Usage.Completion {
				t.Fatalf("%s: %d ids, usage %d", what, len(ids), a.Usage.Completion)
			}
			content += strings.TrimPrefix(value(c.Delta.Content), "<null>")
			reasoning += strings.TrimPrefix(value(c.Delta.Reasoning), "<null>")
			finish += strings.TrimPrefix(value(c.Finish), "<null>")
		}
		if i == 0 && !slices.Equal(a.PromptIDs, whole.PromptIDs) {
			t.Errorf("%s: the prompt is %v, want %v", what, a.PromptIDs, whole.PromptIDs)
		}
	}
	c := whole.Choices[0]
	if content != value(c.Message.Content) || reasoning != strings.TrimPrefix(value(c.Message.Reasoning), "<null>") || finish != *c.Finish || !slices.Equal(ids, c.IDs) {
		t.Errorf("%s: in chunks %q after %q (%s), whole %q after %q (%s)", what,
			content, reasoning, finish, value(c.Message.Content), value(c.Message.Reasoning), *c.Finish)
	}
	if len(ids) != whole.Usage.Completion || before != len(ids) || fleet.Detokenize(whole.PromptIDs) == "" {
		t.Errorf("%s: %d ids, usage %+v", what, len(ids), whole.Usage)
	}
}

// TestChunksOfOneToken compares streams of one token a chunk with whole answers
// where a budget ends the thinking at every place of a character of several
// bytes.
func TestChunksOfOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := thinking()
		s.Timing, s.Speed = even, 1
		r := imitation.New(s)
		defer r.Close()
		seeded := func(seed int, more string) string {
			return strings.Replace(chat(more), `"seed":4`, fmt.Sprintf(`"seed":%d`, seed), 1)
		}
		seed, place := 0, -1
		for ; place < 0; seed++ {
			natural := *parse(t, post(r, chats, seeded(seed+1, "")).Body.Bytes()).Choices[0].Message.Reasoning
			place = strings.IndexFunc(natural, func(r rune) bool { return r > 127 })
		}
		for budget := place - 1; budget < place+6; budget++ {
			body := func(more string) string {
				return seeded(seed, fmt.Sprintf(`,"return_token_ids":true,"max_tokens":400,"thinking_token_budget":%d%s`, budget, more))
			}
			whole := parse(t, post(r, chats, body("")).Body.Bytes())
			stream := events(t, post(r, chats, body(`,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`)).Body)
			compare(t, fmt.Sprintf("budget %d", budget), whole, stream)
			if len(stream) != whole.Usage.Completion+3 {
				t.Errorf("budget %d: %d events of %d tokens", budget, len(stream), whole.Usage.Completion)
			}
		}
	})
}
