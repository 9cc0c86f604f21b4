package imitation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"speceval/internal/fleet/imitation"
)

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
			stream := events(t, post(r, chats, body(`,"stream":true,"stream_options":{"include_usage":true}`)).Body)
			content, reasoning, ids := "", "", []int32(nil)
			for _, event := range stream[:len(stream)-1] {
				for _, c := range parse(t, []byte(event)).Choices {
					ids = append(ids, c.IDs...)
					content += strings.TrimPrefix(value(c.Delta.Content), "<null>")
					reasoning += strings.TrimPrefix(value(c.Delta.Reasoning), "<null>")
				}
			}
			c := whole.Choices[0]
			if content != value(c.Message.Content) || reasoning != value(c.Message.Reasoning) || !slices.Equal(ids, c.IDs) || len(stream) != whole.Usage.Completion+3 {
				t.Errorf("budget %d: in %d chunks %q after %q, whole %q after %q", budget, len(stream), content, reasoning, value(c.Message.Content), value(c.Message.Reasoning))
			}
		}
	})
}
