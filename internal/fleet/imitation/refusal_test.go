package imitation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"speceval/internal/fleet/imitation"
)

// TestRefusals compares errors with those of vLLM 0.23.0, as recorded: status, type,
// param and code.
func TestRefusals(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	long := strings.Repeat("x", 5000)
	for _, test := range []struct{ more, kind, param string }{ // more: of a chat
		{`,"temperature":-1`, "BadRequestError", "temperature"},
		{`,"top_p":0`, "BadRequestError", "top_p"},
		{`,"top_p":1.5`, "BadRequestError", "top_p"},
		{`,"top_k":-5`, "BadRequestError", ""},
		{`,"max_tokens":0`, "BadRequestError", "max_tokens"},
		{`,"max_tokens":-3`, "BadRequestError", "max_tokens"},
		{`,"max_tokens":5000`, "BadRequestError", "max_tokens"},
		{`,"max_completion_tokens":5000`, "BadRequestError", "max_completion_tokens"},
		{`,"max_completion_tokens":4090`, "BadRequestError", "input_tokens"},
		{`,"max_tokens":4096`, "BadRequestError", "input_text"},
		{`,"messages":[{"role":"user","content":"` + long + `"}],"max_tokens":10`, "BadRequestError", "input_tokens"},
		{`,"messages":[]`, "BadRequestError", ""},
		{`,"model":"zz"`, "NotFoundError", "model"},
		{`,"thinking_token_budget":8`, "BadRequestError", ""},
		{`,"thinking_token_budget":-5`, "Bad Request", "thinking_token_budget"},
		{`,"thinking_token_budget":true`, "Bad Request", "thinking_token_budget"},
		{`,"stream_options":{"include_usage":true}`, "Bad Request", "stream_options"},
		{`,"stream":"x"`, "Bad Request", ""},
		{`,"seed":"abc"`, "Bad Request", ""},
		{`,"seed":1.5`, "Bad Request", ""},
		{`,"seed":1180591620717411303424`, "Bad Request", ""},
		{`,"temperature":"hot"`, "Bad Request", ""},
		{`,"seed":"x","max_tokens":"y"`, "Bad Request", ""},
		{`,"messages":"x"`, "Bad Request", ""},
		{`,"chat_template_kwargs":5`, "Bad Request", ""},
		{`,"model":5`, "Bad Request", ""},
	} {
		w := post(r, chats, chat(test.more))
		a := parse(t, w.Body.Bytes())
		if a.Error == nil {
			t.Errorf("%.60s: %d %s", test.more, w.Code, w.Body)
			continue
		}
		code := 400
		if test.kind == "NotFoundError" {
			code = 404
		}
		param := strings.TrimPrefix(value(a.Error.Param), "<null>")
		if w.Code != code || a.Error.Code != code || a.Error.Type != test.kind || param != test.param || a.Error.Message == "" {
			t.Errorf("%.60s: %d %s (%s) %q, want %d %s (%s)", test.more, w.Code, a.Error.Type, param, a.Error.Message, code, test.kind, test.param)
		}
	}
}

// TestBodies are bodies that are no chat at all.
func TestBodies(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	tests := []struct {
		media, body string
		code        int
		want        string
	}{
		{"text/plain", chat(""), 400, `"type":"Bad Request","param":null,"code":400}}`},
		{"application/json", "{bad", 400, `"type":"Bad Request"`},
		{"application/json", `{"model":"m"} x`, 400, `"type":"Bad Request"`},
		{"application/json", "", 400, `"type":"Bad Request","param":null,"code":400}}`},
		{"application/json", `{"model":"m"}`, 400, `messages is missing","type":"Bad Request"`},
		{"Application/JSON; charset=utf-8", chat(`,"typo":1,"max_tokens":5,"stream":false`), 200, `"completion_tokens":5`},
	}
	for _, test := range tests {
		request := httptest.NewRequest(http.MethodPost, chats, strings.NewReader(test.body))
		request.Header.Set("Content-Type", test.media)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		if w.Code != test.code || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %.40q: %d %s, want %d %s", test.media, test.body, w.Code, w.Body, test.code, test.want)
		}
	}
}

func TestCompletionsRefuse(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	for body, want := range map[string]string{
		`{"model":"m","stream":true}`:                              `"param":"prompt"`,
		`{"model":"m","stream":true,"prompt":"a"}`:                 "prompt is not a list of tokens",
		`{"model":"m","stream":true,"prompt":[]}`:                  "prompt is not a list of tokens",
		`{"model":"m","stream":true,"prompt":[300]}`:               "A token is not in the vocabulary.",
		`{"model":"m","stream":true,"prompt":[97],"max_tokens":0}`: `"param":"max_tokens"`,
		`{"model":"m","prompt":[97]}`:                              "A simulated completion is a stream.",
	} {
		if w := post(r, "/v1/completions", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
}

func TestKey(t *testing.T) {
	s := dense()
	s.Key = "secret"
	r := imitation.New(s)
	defer r.Close()
	for _, test := range []struct {
		path, key string
		code      int
	}{
		{"/v1/models", "", 401}, {"/v1/models", "Bearer wrong", 401}, {"/v1/models", "secret", 401},
		{"/v1/models", "bearer secret", 200}, {"/v1/nothing", "", 401}, {"/health", "", 200}, {"/metrics", "", 200}, {"/nothing", "", 404},
	} {
		request := httptest.NewRequest(http.MethodGet, test.path, nil)
		if test.key != "" {
			request.Header.Set("Authorization", test.key)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		if w.Code != test.code || w.Code == 401 && w.Body.String() != `{"error":"Unauthorized"}` {
			t.Errorf("%s with %q: %d %s, want %d", test.path, test.key, w.Code, w.Body, test.code)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	s := thinking()
	s.Root = "org/model"
	r := imitation.New(s)
	defer r.Close()
	const head = `<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n`
	for _, test := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/version", "", 200, `{"version":"0.23.0+simulated"}`},
		{"GET", "/v1/models", "", 200, `"owned_by":"vllm","root":"org/model","parent":null,"max_model_len":4096,"permission":[`},
		{"GET", chats, "", 405, `{"detail":"Method Not Allowed"}`},
		{"POST", "/reset_prefix_cache", "", 404, `{"detail":"Not Found"}`},
		{"POST", "/tokenize", `{"model":"m","prompt":"é<think>"}`, 200, `{"count":3,"max_model_len":4096,"tokens":[195,169,259],"token_strs":null}`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":"a"}]}`, 200, `,259,10],"token_strs":null}`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"enable_thinking":false}}`, 200, `,259,10,10,260,10,10],"token_strs":null}`},
		{"POST", "/tokenize", `{"prompt":5}`, 400, "prompt is not a text"},
		{"POST", "/tokenize", `{"model":"other","prompt":"a"}`, 404, "The model `other` does not exist."},
		{"POST", "/detokenize", `{"tokens":[257,104,260,195]}`, 200, `{"prompt":"<|im_start|>h</think>` + "\uFFFD" + `"}`},
		{"POST", "/detokenize", `{"tokens":["a"]}`, 400, "Bad Request"},
	} {
		request := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		if w.Code != test.code || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", test.method, test.path, test.body, w.Code, w.Body, test.code, test.want)
		}
	}
	prompt, err := json.Marshal(strings.ReplaceAll(head, `\n`, "\n") + "<think>\n")
	if err != nil {
		t.Fatal(err)
	}
	text := post(r, "/tokenize", fmt.Sprintf(`{"prompt":%s}`, prompt)).Body.String()
	if turns := post(r, "/tokenize", `{"messages":[{"role":"user","content":"a"}]}`).Body.String(); turns != text {
		t.Errorf("a chat's tokens are %s, its prompt's %s", turns, text)
	}
}

func FuzzBody(f *testing.F) {
	for _, body := range []string{
		chat(""), chat(`,"stream":true,"stream_options":{"include_usage":true}`), `{"model":"m","prompt":[1,2]}`, "{", "[]", `{"messages":[{"role":"user","content":[{"type":"image"}]}]}`,
		chat(`,"thinking_token_budget":1e3,"stop":["a"],"min_tokens":"7","max_tokens":2.0`), `{"tokens":[1e9,-1,"x"]}`, `{"prompt":"\ud800"}`,
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
