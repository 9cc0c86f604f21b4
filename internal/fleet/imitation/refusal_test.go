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

// TestRefusals compares errors with those of vLLM 0.23.0, as recorded; of
// messages that quote the request, the beginning.
func TestRefusals(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	long := strings.Repeat("x", 5000)
	const form = "1 validation error:\n  "
	tests := []struct {
		more    string // of a chat
		kind    string
		param   string
		message string
	}{
		{`,"temperature":-1`, "BadRequestError", "temperature", "temperature must be non-negative, got -1.0. (parameter=temperature, value=-1.0)"},
		{`,"top_p":0`, "BadRequestError", "top_p", "top_p must be in (0, 1], got 0.0. (parameter=top_p, value=0.0)"},
		{`,"top_p":1.5`, "BadRequestError", "top_p", "top_p must be in (0, 1], got 1.5. (parameter=top_p, value=1.5)"},
		{`,"top_k":-5`, "BadRequestError", "", "top_k must be 0 (disable), or at least 1, got -5."},
		{`,"min_p":2`, "BadRequestError", "", "min_p must be in [0, 1], got 2.0."},
		{`,"max_tokens":0`, "BadRequestError", "max_tokens", "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"},
		{`,"max_tokens":-3`, "BadRequestError", "max_tokens", "max_tokens must be at least 1, got -3. (parameter=max_tokens, value=-3)"},
		{`,"max_tokens":5000`, "BadRequestError", "max_tokens", "max_tokens=5000 cannot be greater than max_model_len=max_total_tokens=4096. Please request fewer output tokens. (parameter=max_tokens, value=5000)"},
		{`,"max_completion_tokens":5000`, "BadRequestError", "max_completion_tokens", "max_completion_tokens=5000 cannot be greater than max_model_len=max_total_tokens=4096. Please request fewer output tokens. (parameter=max_completion_tokens, value=5000)"},
		{`,"max_completion_tokens":4090`, "BadRequestError", "input_tokens", "This model's maximum context length is 4096 tokens. However, you requested 4090 output tokens and your prompt contains at least 7 input tokens, for a total of at least 4097 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=7)"},
		{`,"max_tokens":4096`, "BadRequestError", "input_text", "This model's maximum context length is 4096 tokens. However, you requested 4096 output tokens and your prompt contains 64 characters (more than 0 characters, which is the upper bound for 0 input tokens). Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_text, value=64)"},
		{`,"messages":[{"role":"user","content":"` + long + `"}],"max_tokens":10`, "BadRequestError", "input_tokens", "This model's maximum context length is 4096 tokens. However, you requested 10 output tokens and your prompt contains at least 4087 input tokens, for a total of at least 4097 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=4087)"},
		{`,"n":0`, "BadRequestError", "", "n must be at least 1, got 0."},
		{`,"n":2,"temperature":0`, "BadRequestError", "", "n must be 1 when using greedy sampling, got 2."},
		{`,"min_tokens":50,"max_tokens":40`, "BadRequestError", "", "min_tokens must be less than or equal to max_tokens=40, got 50."},
		{`,"repetition_penalty":0`, "BadRequestError", "", "repetition_penalty must be greater than zero, got 0.0."},
		{`,"presence_penalty":3`, "BadRequestError", "", "presence_penalty must be in [-2, 2], got 3.0."},
		{`,"stop":[""]`, "BadRequestError", "", "stop cannot contain an empty string."},
		{`,"messages":[]`, "BadRequestError", "", "Cannot apply chat template to an empty conversation. Provide at least one message."},
		{`,"model":"zz"`, "NotFoundError", "model", "The model `zz` does not exist."},
		{`,"thinking_token_budget":8`, "BadRequestError", "", "thinking_token_budget is set but reasoning_config is not configured. Please set --reasoning-parser and/or --reasoning-config to use thinking_token_budget."},
		{`,"thinking_token_budget":-5`, "Bad Request", "thinking_token_budget", form + "{'type': 'value_error', 'loc': ('body', 'thinking_token_budget'), 'msg': 'Value error, `thinking_token_budget` must be a non-negative integer or -1 for unlimited. (parameter=thinking_token_budget, value=-5)', 'input': -5, 'ctx': {'error': VLLMValidationError('`thinking_token_budget` must be a non-negative integer or -1 for unlimited.')}}\n\n  File "},
		{`,"thinking_token_budget":true`, "Bad Request", "thinking_token_budget", form + "{'type': 'value_error', 'loc': ('body', 'thinking_token_budget'), 'msg': 'Value error, `thinking_token_budget` must be a non-negative integer or -1 for unlimited. (parameter=thinking_token_budget, value=True)', 'input': True,"},
		{`,"stream_options":{"include_usage":true}`, "Bad Request", "stream_options", form + "{'type': 'value_error', 'loc': ('body',), 'msg': 'Value error, Stream options can only be defined when `stream=True`. (parameter=stream_options)', 'input': {'model': 'm', 'messages': [{'role': 'user', 'content': 'What is 17+25?'}], 'seed': 4, 'stream_options': {'include_usage': True}}, 'ctx': {"},
		{`,"stream":"x"`, "Bad Request", "", form + "{'type': 'bool_parsing', 'loc': ('body', 'stream'), 'msg': 'Input should be a valid boolean, unable to interpret input', 'input': 'x'}\n\n  File "},
		{`,"seed":"abc"`, "Bad Request", "", form + "{'type': 'int_parsing', 'loc': ('body', 'seed'), 'msg': 'Input should be a valid integer, unable to parse string as an integer', 'input': 'abc'}\n\n  File "},
		{`,"seed":1.5`, "Bad Request", "", form + "{'type': 'int_from_float', 'loc': ('body', 'seed'), 'msg': 'Input should be a valid integer, got a number with a fractional part', 'input': 1.5}\n\n  File "},
		{`,"seed":1180591620717411303424`, "Bad Request", "", form + "{'type': 'less_than_equal', 'loc': ('body', 'seed'), 'msg': 'Input should be less than or equal to 9223372036854775807', 'input': 1180591620717411303424, 'ctx': {'le': 9223372036854775807}}\n\n  File "},
		{`,"temperature":"hot"`, "Bad Request", "", form + "{'type': 'float_parsing', 'loc': ('body', 'temperature'), 'msg': 'Input should be a valid number, unable to parse string as a number', 'input': 'hot'}"},
		{`,"seed":"x","max_tokens":"y"`, "Bad Request", "", "2 validation errors:\n  {'type': 'int_parsing', 'loc': ('body', 'max_tokens'), 'msg': 'Input should be a valid integer, unable to parse string as an integer', 'input': 'y'}\n  {'type': 'int_parsing', 'loc': ('body', 'seed'),"},
		{`,"messages":"x"`, "Bad Request", "", form + "{'type': 'list_type', 'loc': ('body', 'messages'), 'msg': 'Input should be a valid list', 'input': 'x'}"},
		{`,"chat_template_kwargs":5`, "Bad Request", "", form + "{'type': 'dict_type', 'loc': ('body', 'chat_template_kwargs'), 'msg': 'Input should be a valid dictionary', 'input': 5}"},
		{`,"stop":5`, "Bad Request", "", "2 validation errors:\n  {'type': 'string_type', 'loc': ('body', 'stop', 'str'), 'msg': 'Input should be a valid string', 'input': 5}\n  {'type': 'list_type', 'loc': ('body', 'stop', 'list[str]'), 'msg': 'Input should be a valid list', 'input': 5}"},
		{`,"stop_token_ids":["a"]`, "Bad Request", "", form + "{'type': 'int_parsing', 'loc': ('body', 'stop_token_ids', 0), 'msg': "},
		{`,"model":5`, "Bad Request", "", form + "{'type': 'string_type', 'loc': ('body', 'model'), 'msg': 'Input should be a valid string', 'input': 5}"},
		{`,"tools":[]`, "Bad Request", "", form + "{'type': 'value_error', 'loc': ('body',), 'msg': 'Value error, `tools` must not be an empty array. Either"},
		{`,"n":2`, "BadRequestError", "", "This server is simulated and has no n > 1."},
		{`,"logprobs":true`, "BadRequestError", "", "This server is simulated and has no logprobs."},
	}
	for _, test := range tests {
		w := post(r, chats, chat(test.more))
		a := parse(t, w.Body.Bytes())
		if a.Error == nil {
			t.Errorf("%s: %d %s", test.more[:min(60, len(test.more))], w.Code, w.Body)
			continue
		}
		param := strings.TrimPrefix(value(a.Error.Param), "<null>")
		if w.Code != a.Error.Code || a.Error.Type != test.kind || param != test.param || !strings.HasPrefix(a.Error.Message, test.message) {
			t.Errorf("%.60s: %d %s (%s) %q,\nwant %s (%s) %q", test.more, w.Code, a.Error.Type, param, a.Error.Message, test.kind, test.param, test.message)
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
		{"text/plain", chat(""), 400, `{"error":{"message":"1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed [\"Unsupported Media Type: Only 'application/json' is allowed\"]","type":"Bad Request","param":null,"code":400}}`},
		{"application/json", "{bad", 400, "'type': 'json_invalid', 'loc': ('body', 1), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': 'Expecting property name enclosed in double quotes'}}"},
		{"application/json", `{"model":"m"} x`, 400, "'loc': ('body', 14), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': 'Extra data'}}"},
		{"application/json", "", 400, "{'type': 'missing', 'loc': ('body',), 'msg': 'Field required', 'input': None}"},
		{"application/json", `{"model":"m"}`, 400, "{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'model': 'm'}}"},
		{"application/json", "[1]", 500, `{"error":{"message":"'list' object has no attribute 'get'","type":"InternalServerError","param":null,"code":500}}`},
		{"application/json", "null", 500, "'NoneType' object has no attribute 'get'"},
		{"application/json", "{\"model\":\"a\xff\"}", 400, `{"detail":"There was an error parsing the body"}`},
		{"Application/JSON; charset=utf-8", chat(`,"typo":1,"max_tokens":"5","stream":"no"`), 200, `"completion_tokens":5`},
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

func TestHugeBodiesAreRefused(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	request := httptest.NewRequest(http.MethodPost, chats, strings.NewReader(""))
	request.ContentLength = 1 << 40
	w := httptest.NewRecorder()
	r.ServeHTTP(w, request)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of a terabyte: %d %s", w.Code, w.Body)
	}
}

func TestCompletionsRefuse(t *testing.T) {
	r := imitation.New(dense())
	defer r.Close()
	for body, want := range map[string]string{
		`{"model":"m"}`:                             "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)",
		`{"model":"m","prompt":""}`:                 "Either prompt or prompt_embeds must be provided and non-empty.",
		`{"model":"m","prompt":[300]}`:              "Token id 300 is out of vocabulary",
		`{"model":"m","prompt":[]}`:                 "You must pass at least one prompt",
		`{"model":"m","prompt":5}`:                  "4 validation errors",
		`{"model":"m","prompt":["a","b"]}`:          "has no lists of prompts",
		`{"model":"m","prompt":"a","max_tokens":0}`: "max_tokens must be at least 1, got 0.",
	} {
		if w := post(r, "/v1/completions", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
	a := parse(t, post(r, "/v1/completions", `{"model":"m","prompt":"a"}`).Body.Bytes())
	if a.Usage.Completion != 16 {
		t.Errorf("%d tokens by default, want 16", a.Usage.Completion)
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
		{"GET", "/load", "", 200, `{"server_load":0}`},
		{"GET", "/v1/models", "", 200, `"owned_by":"vllm","root":"org/model","parent":null,"max_model_len":4096,"permission":[`},
		{"GET", chats, "", 405, `{"detail":"Method Not Allowed"}`},
		{"POST", "/reset_prefix_cache", "", 404, `{"detail":"Not Found"}`},
		{"POST", "/tokenize", `{"model":"m","prompt":"é<think>","return_token_strs":true}`, 200, `{"count":3,"max_model_len":4096,"tokens":[195,169,259],"token_strs":["Ã","©","<think>"]}`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, 200, `,259,10],"token_strs":null}`},
		{"POST", "/tokenize", `{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"enable_thinking":false}}`, 200, `,259,10,10,260,10,10],"token_strs":null}`},
		{"POST", "/tokenize", `{"prompt":5}`, 400, "2 validation errors"},
		{"POST", "/tokenize", `{"model":"other","prompt":"a"}`, 404, "The model `other` does not exist."},
		{"POST", "/detokenize", `{"tokens":[257,104,260,195]}`, 200, `{"prompt":"<|im_start|>h</think>` + "\uFFFD" + `"}`},
		{"POST", "/detokenize", `{"tokens":["a"]}`, 400, "('body', 'tokens', 0)"},
		{"POST", "/ping", "", 200, ""},
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
	s.Development = true
	d := imitation.New(s)
	defer d.Close()
	if w := post(d, "/reset_prefix_cache", ""); w.Code != 200 {
		t.Errorf("in development mode the cache cannot be reset: %d", w.Code)
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
