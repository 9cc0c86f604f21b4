package imitation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"speceval/internal/fleet/imitation"
)

// TestRefusals has what the record of the real server leaves out; internal/conformance
// compares the rest.
func TestRefusals(t *testing.T) {
	r := imitation.New(thinking())
	defer r.Close()
	const completions = "/v1/completions"
	for _, test := range []struct{ path, body, want string }{
		{chats, chat(`,"max_completion_tokens":5000`), `"param":"max_completion_tokens"`},
		{chats, chat(`,"stream":"x"`), `"type":"Bad Request","param":null`},
		{chats, chat(`,"seed":1180591620717411303424`), `"type":"Bad Request","param":null`},
		{chats, chat("") + " x", `"type":"Bad Request","param":null`},
		{chats, "", `"type":"Bad Request","param":null`},
		{completions, `{"model":"m","stream":true}`, `"param":"prompt"`},
		{completions, `{"model":"m","stream":true,"prompt":"a"}`, "prompt is not a list of tokens"},
		{completions, `{"model":"m","stream":true,"prompt":[300]}`, "A token is not in the vocabulary."},
		{completions, `{"model":"m","prompt":[97]}`, "A simulated completion is a stream."},
		{"/tokenize", `{"prompt":5}`, "prompt is not a text"},
		{"/detokenize", `{"tokens":["a"]}`, "Bad Request"},
	} {
		if w := post(r, test.path, test.body); w.Code != 400 || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d %s, want %s", test.body, w.Code, w.Body, test.want)
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, body := range []string{
		chat(""), chat(`,"stream":true,"stream_options":{"include_usage":true}`), `{"model":"m","prompt":[1,2]}`, "{", "[]", `{"messages":[{"role":"user","content":[{"type":"image"}]}]}`,
		chat(`,"thinking_token_budget":1e3,"max_tokens":2.0`), `{"tokens":[1e9,-1,"x"]}`, `{"prompt":"\ud800"}`,
	} {
		f.Add(body)
	}
	s := thinking()
	s.MaxModelLen = 512
	r := imitation.New(s)
	f.Cleanup(r.Close)
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{chats, "/v1/completions", "/tokenize", "/detokenize"} {
			w := post(r, path, body)
			if media := w.Header().Get("Content-Type"); media == "application/json" && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s answers %q with %q", path, body, w.Body)
			} else if media != "application/json" && !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
				t.Errorf("%s answers %q with a stream %q", path, body, w.Body)
			}
		}
	})
}
