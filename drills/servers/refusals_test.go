package servers_test

import (
	"net/http"
	"strings"
)

// ofRefusals are of the errors for requests that are wrong, alike with and without stream.
func (v *observed) ofRefusals() (all []behaviour) {
	long := []fields{{"role": "user", "content": strings.Repeat("x ", 2*v.context)}}
	for _, w := range []struct {
		name, about string
		set         fields
	}{
		{"model", "another model", fields{"model": "no-such-model"}},
		{"temperature", "a negative temperature", fields{"temperature": -1}},
		{"top_p", "top_p of 0", fields{"top_p": 0}},
		{"top_k", "top_k below -1", fields{"top_k": -5}},
		{"prompt", "a prompt longer than the context", fields{"messages": long}},
		{"max_tokens", "an answer longer than the context", fields{"max_tokens": v.context + 904}},
		{"max_tokens 0", "no answer", fields{"max_tokens": 0}},
		{"sum", "prompt and answer longer than the context", fields{"max_tokens": v.context - 1}},
		{"messages", "no message", fields{"messages": []fields{}}},
		{"no messages", "no messages field", fields{"messages": nil}},
		{"budget", "a negative budget of thinking", fields{"thinking_token_budget": -5}},
		{"budget type", "a budget of thinking that is no integer", fields{"thinking_token_budget": 1.5}},
		{"seed", "a seed that is no integer", fields{"seed": "x"}},
	} {
		all = append(all, behaviour{"refused/" + w.name, w.about, func(s *session) {
			got := s.post(chatPath, s.chat(w.set))
			if got.status < 400 || got.status > 499 {
				s.Fatalf("answers %d: %s", got.status, got.body)
			}
			s.saw("%s", refusal(got))
			if streamed := s.refusedStream(w.set); streamed != refusal(got) {
				s.saw("streamed: %s", streamed)
			}
		}})
	}
	return append(all,
		behaviour{"refused/stream_options", "stream_options without stream", func(s *session) {
			s.saw("%s", refusal(s.post(chatPath, s.chat(fields{"stream_options": withUsage}))))
		}},
		behaviour{"refused/content type", "a body that is not said to be JSON", func(s *session) {
			s.saw("%s", refusal(s.send(http.MethodPost, chatPath, s.chat(nil), "Content-Type", "text/plain")))
		}},
		behaviour{"refused/malformed", "a body that is no JSON", func(s *session) {
			s.saw("%s", refusal(s.post(chatPath, `{"model": "m",`)))
		}},
		behaviour{"refused/key", "no key, and a wrong one", func(s *session) {
			for _, path := range []string{"/v1/models", "/health", "/version", "/metrics", "/tokenize"} {
				for _, key := range []string{"", "Bearer wrong", s.key, "Bearer " + s.key} {
					got, denial := s.send(http.MethodGet, path, nil, "Authorization", key), ""
					if got.status == http.StatusUnauthorized { // other bodies do not matter here
						denial = got.kind + " " + string(got.body)
					}
					s.saw("%s with %q: %d %s", path, strings.ReplaceAll(key, s.key, "KEY"), got.status, denial)
				}
			}
		}})
}
