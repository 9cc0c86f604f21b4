package imitation

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/fleet"
)

// form has the bodies and events of an answer, key by key as vLLM 0.23.0 sends them.
type form struct {
	q      *request
	prefix string // of all of them, before the choices
}

// fingerprint of the system; clients only store it.
const fingerprint = `"system_fingerprint":"vllm-` + Version + `"`

func newForm(model, id string, q *request) form {
	object := "text_completion"
	switch id = "cmpl-" + id; {
	case q.chat && q.Stream:
		id, object = "chat"+id, "chat.completion.chunk"
	case q.chat:
		id, object = "chat"+id, "chat.completion"
	}
	return form{q, fmt.Sprintf(`{"id":%s,"object":"%s","created":%d,"model":%s,"choices":[`, quote(id), object, wall.Now().Unix(), quote(model))}
}

// wholeChat is the body of a chat; content and reasoning are JSON.
func (f *form) wholeChat(content, reasoning string, a fleet.Answer) []byte {
	return fmt.Appendf(nil, `%s{"index":0,"message":{"role":"assistant","content":%s,"refusal":null,"annotations":null,"audio":null,"function_call":null,`+
		`"tool_calls":[],"reasoning":%s},"logprobs":null,%s,"token_ids":%s,"routed_experts":null}],"service_tier":null,%s,%s,`+
		`"prompt_logprobs":null,"prompt_token_ids":%s,"prompt_text":null,"kv_transfer_params":null}`,
		f.prefix, content, reasoning, reason(a.Finish), f.ids(a.IDs()), fingerprint, f.usage(a.Tokens(), `,"prompt_tokens_details":null`), f.ids(f.q.tokens))
}

// first is the chunk of a chat that comes before any text.
func (f *form) first() string {
	return f.prefix + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]` +
		f.soFar(0) + `,"prompt_token_ids":` + f.ids(f.q.tokens) + `,"prompt_text":null}`
}

// chatChunk is the chunk of a part of a chat's answer, which has the given tokens with it;
// delta is JSON.
func (f *form) chatChunk(delta string, part fleet.Answer, tokens int) string {
	finish := `"finish_reason":null`
	if part.Finish != "" {
		finish = reason(part.Finish)
	}
	return f.prefix + `{"index":0,"delta":` + delta + `,"logprobs":null,` + finish + `,"token_ids":` + f.ids(part.IDs()) + `}]` + f.tail(part, tokens)
}

// completionChunk is a chunk of a completion. The first has the prompt's ids.
func (f *form) completionChunk(text string, part fleet.Answer, from, tokens int) string {
	prompt := "null"
	if from == 0 {
		prompt = f.ids(f.q.tokens)
	}
	return f.prefix + `{"index":0,"text":` + quote(text) + `,"logprobs":null,` + reason(part.Finish) +
		`,"prompt_token_ids":` + prompt + `,"token_ids":` + f.ids(part.IDs()) + `}]` + f.tail(part, tokens)
}

// total is the chunk without choices that has the usage of all.
func (f *form) total(tokens int) string {
	return f.prefix + `],` + f.usage(tokens, "") + `,` + fingerprint + `}`
}

// tail ends a chunk.
func (f *form) tail(part fleet.Answer, tokens int) string {
	if part.Finish != "" && !f.q.Options.Usage {
		return f.soFar(tokens) + `,` + fingerprint + `}`
	}
	return f.soFar(tokens) + `}`
}

// reason is why an answer ends; "" is not yet.
func reason(finish string) string {
	return `"finish_reason":` + optional(finish != "", finish) + `,"stop_reason":null`
}

// soFar is the usage within a stream, if the client wants it.
func (f *form) soFar(tokens int) string {
	if !f.q.Options.Usage || !f.q.Options.Continuous {
		return ""
	}
	return `,` + f.usage(tokens, "")
}

// usage counts the tokens of the prompt and of the answer.
func (f *form) usage(tokens int, more string) string {
	prompt := len(f.q.tokens)
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d%s}`, prompt, prompt+tokens, tokens, more)
}

// ids is a list of ids, or null if they were not asked for.
func (f *form) ids(ids []int32) string {
	if !f.q.TokenIDs {
		return "null"
	}
	return list(ids)
}

// list is a JSON list of ids.
func list(ids []int32) string {
	b, _ := json.Marshal(ids) // there is no error of numbers
	return string(b)
}

// quote is a JSON string; bytes that are no UTF-8 become U+FFFD.
func quote(text string) string {
	b, _ := jsontext.AppendQuote(nil, text) // errors report bytes that are no UTF-8
	return string(b)
}

// optional is a JSON string, or null if there is none.
func optional(there bool, text string) string {
	if !there {
		return "null"
	}
	return quote(text)
}
