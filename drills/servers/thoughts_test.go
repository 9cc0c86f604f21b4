package servers_test

import "slices"

// ofThinking are of thinking and its budget.
var ofThinking = []behaviour{
	{"thinking/budget", "a budget ends the thinking at an exact place", thinker(func(s *session, end int) {
		for _, budget := range []int{1, 8, 20} {
			c := s.ask(fields{"thinking_token_budget": budget, "max_tokens": 32, "return_token_ids": true}).Choices[0]
			s.saw("budget %d: </think> is token %d; reasoning %t, content %t", budget,
				slices.Index(c.Tokens, end)+1, c.Message.Reasoning != nil, c.Message.Content != nil)
		}
	})},
	{"thinking/budget streamed", "in a stream as well", thinker(func(s *session, end int) {
		var ids []int
		reasoning, content, late := false, false, false
		set := fields{"thinking_token_budget": 8, "max_tokens": 32, "return_token_ids": true, "stream_options": everyUsage}
		for _, e := range s.chunks(set) {
			for _, c := range e.Choices {
				ids = append(ids, c.Tokens...)
				late = late || content && c.Delta.Reasoning != nil
				reasoning = reasoning || valueOf(c.Delta.Reasoning) != ""
				content = content || valueOf(c.Delta.Content) != ""
			}
		}
		s.saw("budget 8: </think> is token %d of %d; reasoning %t, then content %t, then reasoning again %t",
			slices.Index(ids, end)+1, len(ids), reasoning, content, late)
	})},
	{"thinking/cut", "an answer cut inside the thinking is reasoning alone", thinker(func(s *session, _ int) {
		c := s.ask(fields{"thinking_token_budget": 20, "max_tokens": 8}).Choices[0]
		if c.Message.Content != nil || valueOf(c.Message.Reasoning) == "" {
			s.Fatalf("content %q and reasoning %q", valueOf(c.Message.Content), valueOf(c.Message.Reasoning))
		}
		s.saw("content null, some reasoning, finish_reason %s", c.Finish)
	})},
	{"thinking/off", "enable_thinking: false leaves no reasoning", func(s *session) {
		m := s.ask(fields{"chat_template_kwargs": fields{"enable_thinking": false}}).Choices[0].Message
		if m.Reasoning != nil || m.Content == nil {
			s.Fatalf("content %q and reasoning %q", valueOf(m.Content), valueOf(m.Reasoning))
		}
		s.saw("content, no reasoning")
	}},
	{"thinking/budget without parser", "a budget that cannot be kept is refused", func(s *session) {
		if s.thinking {
			s.saw("skipped: the server has a reasoning parser")
			return
		}
		set := fields{"thinking_token_budget": 8}
		s.saw("whole: %s", refusal(s.post(chatPath, s.chat(set))))
		s.saw("streamed: %s", s.refusedStream(set))
	}},
}

// thinker looks at a server whose thinking a parser takes apart; end is the id of </think>.
func thinker(see func(s *session, end int)) func(*session) {
	return func(s *session) {
		if !s.thinking {
			s.saw("skipped: the server has no reasoning parser")
			return
		}
		ids, _ := s.tokens(fields{"prompt": "</think>"})
		if len(ids) != 1 {
			s.Fatalf("</think> is %d tokens", len(ids))
		}
		see(s, ids[0])
	}
}

// tooLong is more tokens than models without weights write by themselves: they end
// an answer after a hundred and thirty on average.
const tooLong = 800

// ofLengths are of answers whose length the client chooses.
var ofLengths = []behaviour{
	{"length/ignore_eos", "with ignore_eos an answer has exactly max_tokens tokens", func(s *session) {
		for _, tokens := range []int{1, 2, tooLong} {
			a := s.ask(fields{"max_tokens": tokens})
			if a.Usage.Completion != tokens {
				s.Fatalf("%d tokens asked for, %d came", tokens, a.Usage.Completion)
			}
			s.saw("%d tokens asked for, as many came, finish_reason %s", tokens, a.Choices[0].Finish)
		}
		events := s.chunks(fields{"max_tokens": tooLong, "stream_options": everyUsage})
		if u := events[len(events)-1].Usage; u == nil || u.Completion != tooLong {
			s.Fatalf("%d tokens asked for in a stream, usage %+v", tooLong, u)
		}
		s.saw("as many in a stream")
	}},
}
