package vllm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

const good = `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`

const done = "data: [DONE]\n\n"

// dataOf is an event of JSON.
func dataOf(json string) string { return "data: " + json + "\n\n" }

// delta is an event with a field of a delta.
func delta(field string) string { return dataOf(`{"choices":[{"index":0,"delta":{` + field + `}}]}`) }

// chunk is an event with a text, a finish reason or null, and a usage.
func chunk(text, finish string, tokens int) string {
	return dataOf(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}],"usage":{"prompt_tokens":1,"completion_tokens":%d}}`, text, finish, tokens))
}

// withUsage is a stream of one text that tells its usage at its end.
func withUsage(usage string) string {
	return a + dataOf(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":`+usage+`}`) + done
}

var (
	a       = delta(`"content":"a"`)
	stopped = dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}`) + done
)

// dialects are streams and answers as other servers send them, of a request for the model m.
var dialects = []struct {
	name, body      string
	text, reasoning string
	finish          string
	usage           Usage // the zero value: any
}{
	{"transformers serve: no [DONE], the end in a chunk of its own", // as recorded, with transformers 5.23
		dataOf(`{"id":"abc","choices":[{"index":0,"delta":{"role":"assistant"},"index":0}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":""}`) +
			dataOf(`{"id":"abc","choices":[{"index":0,"delta":{"content":"3"},"index":0}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":""}`) +
			dataOf(`{"id":"abc","choices":[{"index":0,"delta":{"content":"+4"},"index":0}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":""}`) +
			dataOf(`{"id":"abc","choices":[{"index":0,"delta":{},"index":0,"finish_reason":"length"}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":"","usage":{"completion_tokens":6,"prompt_tokens":31,"total_tokens":37}}`),
		"3+4", "", "length", Usage{31, 6, -1, 0}},
	{"llama.cpp: a null text first, usage in a chunk without choices", // as recorded, build 11434
		dataOf(`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"}`) +
			dataOf(`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"3"}}],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"}`) +
			dataOf(`{"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"}`) +
			dataOf(`{"choices":[],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk","usage":{"completion_tokens":6,"prompt_tokens":31,"total_tokens":37,"prompt_tokens_details":{"cached_tokens":30}},"timings":{"cache_n":30}}`) + done,
		"3", "", "length", Usage{31, 6, -1, 0}},
	{"comments, an empty last text, usage in a chunk without choices",
		": PROCESSING\n\n" + dataOf(`{"model":"p/m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`) +
			": PROCESSING\n\n" + dataOf(`{"model":"p/m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`) +
			dataOf(`{"model":"p/m","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`) +
			dataOf(`{"model":"p/m","choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":0}}}`) + done,
		"a", "", "stop", Usage{2, 1, 0, 0}},
	{"no usage", dataOf(`{"model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}`) + dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + done,
		"a", "", "stop", notCounted},
	{"null everywhere", dataOf(`{"model":null,"choices":null,"usage":null}`) + dataOf(`{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"r"},"finish_reason":null}],"usage":null}`) +
		dataOf(`{"choices":[{"index":0,"delta":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":null,"completion_tokens":null}}`) + done,
		"", "r", "stop", notCounted},
	{"reasoning by both names", dataOf(`{"choices":[{"index":0,"delta":{"reasoning":"r","reasoning_content":""}}]}`) + dataOf(`{"choices":[{"index":0,"delta":{"reasoning":"s","reasoning_content":"s"}}]}`) + chunk("a", `"stop"`, 3) + done,
		"a", "rs", "stop", Usage{1, 3, -1, 0}},
	{"zeros until the end", chunk("a", "null", 0) + strings.Replace(chunk("b", `"stop"`, 0), `"prompt_tokens":1`, `"prompt_tokens":0`, 1) + dataOf(`{"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}`),
		"ab", "", "stop", Usage{4, 2, -1, 0}},
	{"zeros for a text", chunk("a", `"stop"`, 0) + done, "a", "", "stop", notCounted},
	{"thinking that is no part of the answer's tokens", chunk("a", "null", 1) + dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":9}}}`) + done,
		"a", "", "stop", Usage{1, 1, -1, 0}},
	{"thinking in the total alone", withUsage(`{"prompt_tokens":2,"completion_tokens":3,"total_tokens":14}`), "a", "", "stop", Usage{2, 12, -1, 0}},
	{"thinking beside the answer's tokens", withUsage(`{"prompt_tokens":2,"completion_tokens":3,"total_tokens":14,"completion_tokens_details":{"reasoning_tokens":9}}`), "a", "", "stop", Usage{2, 12, 9, 0}},
	{"a total of more than was asked for", withUsage(`{"prompt_tokens":2,"completion_tokens":3,"total_tokens":2000000000}`), "a", "", "stop", Usage{2, 4 + plainExcess, -1, 0}},
	{"a byte order mark, CRLF, comments, bare data and other events",
		"\ufeff" + strings.ReplaceAll(chunk("a", "null", 1)+": hi\n\ndata:\n\ndata: \n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"+
			"data: {\"object\":\"x\"}\n\ndata\n\n:\n\n"+chunk("b", `"stop"`, 2)+"data: [DONE] \n\n", "\n", "\r\n"),
		"ab", "", "stop", Usage{1, 2, -1, 0}},
	{"a text, and an empty one by another name", dataOf(`{"choices":[{"index":0,"delta":{"content":"a","reasoning_content":"r","reasoning":null},"message":{"role":"assistant","content":"","reasoning":""}}]}`) +
		dataOf(`{"choices":[{"index":0,"message":{"content":null},"delta":{"content":"b","content":null},"text":""}]}`) +
		dataOf(`{"choices":[{"index":0,"delta":{"content":"c"},"message":{"content":"abc"},"finish_reason":"null"}]}`) + chunk("", `"stop"`, 3) + done,
		"abc", "r", "stop", Usage{1, 3, -1, 0}},
	{"a message that repeats the deltas at their end", delta(`"reasoning_content":"r"`) + dataOf(`{"choices":[{"index":0,"delta":{"content":"a"},"message":{"content":"a"}}]}`) + delta(`"content":"b"`) +
		dataOf(`{"choices":[{"index":0,"delta":{"content":""},"message":{"content":"ab","reasoning_content":"r"},"finish_reason":"stop"}]}`) + // Perplexity
		dataOf(`{"object":"chat.completion","choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"stop"}]}`) + done, // MiniMax
		"ab", "r", "stop", notCounted},
	{"messages in place of deltas", strings.ReplaceAll(a+a+stopped, `"delta":{"content"`, `"message":{"content"`), "aa", "", "stop", Usage{}},
	{"a refusal in place of a text", dataOf(`{"choices":[{"index":0,"delta":{"content":null,"refusal":"No"}}]}`) + dataOf(`{"choices":[{"index":0,"delta":{"refusal":"."},"finish_reason":"stop"}]}`) + done,
		"No.", "", "refusal", notCounted},
	{"an end in other words, kept as it came", chunk("a", `"MAX_TOKENS"`, 1) + done, "a", "", "MAX_TOKENS", Usage{1, 1, -1, 0}},
	{"the end without its blank line", chunk("a", `"stop"`, 1) + "data: [DONE]", "a", "", "stop", Usage{1, 1, -1, 0}},
	{"counts as floats", withUsage(`{"prompt_tokens":20.0,"completion_tokens":8.0,"total_tokens":28.0}`), "a", "", "stop", Usage{20, 8, -1, 0}},
	{"counts as strings", withUsage(`{"prompt_tokens":"20","completion_tokens":"8"}`), "a", "", "stop", Usage{20, 8, -1, 0}},
	{"counts of parts of tokens", withUsage(`{"prompt_tokens":20.5,"completion_tokens":8.25}`), "a", "", "stop", notCounted},
	{"reasoning counted as a float", withUsage(`{"prompt_tokens":20,"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":3.0}}`), "a", "", "stop", Usage{20, 8, 3, 0}},
	{"a cost", withUsage(`{"prompt_tokens":20,"completion_tokens":8,"cost":0.0125}`), "a", "", "stop", Usage{20, 8, -1, 0.0125}},
	{"a cost that is none", withUsage(`{"prompt_tokens":20,"completion_tokens":8,"cost":{"usd":1}}`), "a", "", "stop", Usage{20, 8, -1, 0}},
	{"Kimi: usage in the choice", a + dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":19,"completion_tokens":2,"total_tokens":21}}],"usage":null}`) + done,
		"a", "", "stop", Usage{19, 2, -1, 0}},
	{"Groq: usage below x_groq", dataOf(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}],"x_groq":{"id":"req_1"}}`) +
		dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":19,"completion_tokens":2}}}`) + done,
		"a", "", "stop", Usage{19, 2, -1, 0}},
	{"usage in two places", a + dataOf(`{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":7}}],"usage":{"prompt_tokens":19,"completion_tokens":2}}`) + done,
		"a", "", "stop", Usage{19, 2, -1, 0}},
	{"Azure: a first chunk without choices", dataOf(`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`) +
		dataOf(`{"choices":[{"content_filter_results":{},"delta":{"content":"a"},"finish_reason":null,"index":0,"logprobs":null}],"id":"c","model":"m-2024-08-06"}`) +
		dataOf(`{"choices":[{"delta":{},"finish_reason":"content_filter","index":0}],"id":"c","model":"m-2024-08-06"}`) + done,
		"a", "", "content_filter", notCounted},
	{"a usage that is a list", withUsage(`[]`), "a", "", "stop", notCounted},
	{"details that are a list", withUsage(`{"prompt_tokens":20,"completion_tokens":8,"completion_tokens_details":[]}`), "a", "", "stop", Usage{20, 8, -1, 0}},
	{"numeric ids", dataOf(`{"id":7,"system_fingerprint":1.5,"choices":[{"index":0,"delta":{"content":"a"}}]}`) + stopped, "a", "", "stop", Usage{}},
	{"no numbers", dataOf(`{"choices":[{"index":0,"delta":{"content":"a\"NaN: -Infinity"},"logprobs":{"content":[{"logprob":-Infinity},{"logprob": NaN}]}}]}`) + stopped, `a"NaN: -Infinity`, "", "stop", Usage{}},
	{"index null", strings.ReplaceAll(a+stopped, `"index":0`, `"index":null`), "a", "", "stop", Usage{}},
	{"index string", strings.ReplaceAll(a+stopped, `"index":0`, `"index":"0"`), "a", "", "stop", Usage{}},
	{"a text and its end side by side", dataOf(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{},"finish_reason":"stop"}]}`) + done, "a", "", "stop", Usage{}},
	{"parts with thinking", delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]`) + stopped, "a", "r", "stop", Usage{}},
	{"parts of other names", delta(`"content":[{"type":"reasoning","text":"r"},{"type":"thinking","thinking":"s"},{"type":"output_text","text":"a"},{"type":"reference","ids":[1]}]`) + stopped, "a", "rs", "stop", Usage{}},
	{"Databricks: a summary of thinking", delta(`"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"r","signature":""}]}]`) + delta(`"content":[{"type":"text","text":"a"}]`) + stopped,
		"a", "r", "stop", Usage{}},
	{"Together: one text by two names", dataOf(`{"choices":[{"index":0,"text":"a","delta":{"token_id":5,"role":"assistant","content":"a"},"finish_reason":null}],"usage":null}`) + stopped, "a", "", "stop", Usage{}},
	{"TGI: no blank behind data, an end of its own", strings.ReplaceAll(a+dataOf(`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"eos_token"}],"usage":null}`)+
		dataOf(`{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}`)+done, "data: ", "data:"),
		"a", "", "eos_token", Usage{4, 2, -1, 0}},
	{"a part alone, and texts", delta(`"content":{"type":"text","text":"a"}`) + delta(`"content":["b","c"]`) + delta(`"content":[]`) + stopped, "abc", "", "stop", Usage{}},
	{"thinking in parts", delta(`"reasoning_content":[{"type":"text","text":"r"}]`) + a + stopped, "a", "r", "stop", Usage{}},
	{"a pair in two chunks", delta(`"content":"x \ud83d"`) + delta(`"content":"\ude00 y"`) + stopped, "x 😀 y", "", "stop", Usage{}},
	{"a pair around an empty chunk", delta(`"content":"\\\uD83D"`) + delta(`"content":""`) + delta(`"role":"assistant"`) + delta(`"content":"\uDE00"`) + stopped, "\\😀", "", "stop", Usage{}},
	{"pairs of thinking and text", delta(`"reasoning":"\ud83d"`) + delta(`"reasoning":"\ude00"`) + delta(`"content":"\ud83d"`) + delta(`"content":"\ude01"`) + stopped, "😁", "😀", "stop", Usage{}},
	{"a first half alone", delta(`"content":"x \ud83d"`) + delta(`"content":"y"`) + stopped, "x \ufffdy", "", "stop", Usage{}},
	{"a second half alone", delta(`"content":"x \udcaf"`) + stopped, "x \ufffd", "", "stop", Usage{}},
	{"a first half at the end", delta(`"content":"x \ud83d"`) + stopped, "x \ufffd", "", "stop", Usage{}},
	{"halves, and a character like them", delta(`"content":"\ufffd\ud83d\ud83d�\\ud83d"`) + stopped, "\ufffd\ufffd\ufffd\ufffd\\ud83d", "", "stop", Usage{}},
	{"a whole answer", strings.Replace(good, `"a"`, `"a\u2028\ud83d\ude00"`, 1), "a\u2028😀", "", "stop", Usage{1, 1, -1, 0}},
	{"a whole answer in lines", "\ufeff\r\n \r\n" + strings.ReplaceAll(good, ",", ",\r\n\r\n  "), "a", "", "stop", Usage{1, 1, -1, 0}},
	{"a whole answer in an event", dataOf(good), "a", "", "stop", Usage{1, 1, -1, 0}},
	{"chunks in lines, not events", strings.NewReplacer("data: [DONE]\n\n", "", "data: ", "", "\n\n", "\n").Replace(a + a + stopped), "aa", "", "stop", Usage{}},
	{"events with single line ends", strings.ReplaceAll(a+a+stopped, "\n\n", "\n"), "aa", "", "stop", Usage{}},
	{"errors of nothing", dataOf(`{"error":{},"choices":[{"index":0,"delta":{"content":"a"}}]}`) + dataOf(`{"error":"","choices":[{"index":0,"delta":{"content":"b"}}]}`) +
		dataOf(`{"error":false,"choices":[{"index":0,"delta":{"content":"c"}}]}`) + stopped, "abc", "", "stop", Usage{}},
	{"an answer that a filter withheld", `{"choices":[{"index":0,"finish_reason":"content_filter: PROHIBITED_CONTENT"}],"usage":{"prompt_tokens":9,"completion_tokens":0}}`,
		"", "", "content_filter: PROHIBITED_CONTENT", Usage{9, 0, -1, 0}},
}

// TestDialects has streams and answers of which every honest server may send one, packed or not.
func TestDialects(t *testing.T) {
	for _, d := range dialects {
		for _, packed := range []bool{false, true} {
			c := client(t, Options{Plain: true}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if !packed {
					io.WriteString(w, d.body)
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				packer := gzip.NewWriter(w)
				io.WriteString(packer, d.body)
				packer.Close()
			})
			text, reasoning := "", ""
			got, err := c.Stream(t.Context(), plainRequest(), func(p Piece) {
				text, reasoning = text+p.Text, reasoning+p.Reasoning
				if u := p.Usage; u.Counted() && u.check() != nil {
					t.Errorf("%s: heard of the usage %+v", d.name, u)
				}
			})
			if err != nil || got.Text != d.text || got.Reasoning != d.reasoning || got.Finish != d.finish || d.usage != (Usage{}) && got.Usage != d.usage {
				t.Errorf("%s, packed %t: %+v, %v", d.name, packed, got, err)
			}
			if text != got.Text || reasoning != got.Reasoning {
				t.Errorf("%s, packed %t: the pieces are %q and %q", d.name, packed, text, reasoning)
			}
		}
	}
}

// plainRequest is a good one that any server may get.
func plainRequest() Request {
	r := request()
	r.TokenIDs = false
	return r
}

// notAnswers are bodies with status 200 that are none to vLLM, and perhaps none to others.
func notAnswers() []notAnswer {
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			panic("the good answer has no " + old)
		}
		return strings.Replace(good, old, new, 1)
	}
	a, end := chunk("a", "null", 1), chunk("b", `"stop"`, 2)
	one := `"completion_tokens":1`
	return []notAnswer{
		{"empty", ``, Garbage, Garbage, 0},
		{"page", `<html>busy</html>`, Garbage, Garbage, 0},
		{"half", good[:len(good)/2], Cut, Cut, 0},
		{"more", good + good, Garbage, Garbage, 0},
		{"more in lines", good + "\n" + good, Garbage, Garbage, 0},
		{"more than JSON", good + `x`, Garbage, Garbage, 0},
		{"null", `null`, Garbage, Garbage, 0},
		{"a list", `[]`, Garbage, Garbage, 0},
		{"a text", `"a"`, Garbage, Garbage, 0},
		{"no choices", `{"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Garbage, Garbage, 0},
		{"empty choices", `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Garbage, Garbage, 0},
		{"null choice", `{"choices":[null],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Garbage, Garbage, 0},
		{"choices of another kind", `{"choices":{}}`, Garbage, Garbage, 0},
		{"a choice of another kind", swap(`}],`, `},5],`), Garbage, Garbage, 0},
		{"a second choice", swap(`}],`, `},{"index":1,"message":{"content":"b"}}],`), Garbage, Garbage, 0},
		{"the same choice twice", swap(`}],`, `},{"index":0,"message":{"content":"b"}}],`), Garbage, Garbage, 0},
		{"another index", swap(`"index":0`, `"index":7`), Garbage, Garbage, 0},
		{"a negative index", swap(`"index":0`, `"index":-1`), Garbage, Garbage, 0},
		{"no message", swap(`"message":{"content":"a"},`, ``), Garbage, Garbage, 0},
		{"a message of another kind", swap(`{"content":"a"}`, `"a"`), Garbage, Garbage, 0},
		{"text of another kind", swap(`"a"`, `5`), Garbage, Garbage, 0},
		{"parts without a text", swap(`"a"`, `[{"a":"b"}]`), Garbage, Garbage, 0},
		{"a finish of another kind", swap(`"stop"`, `{}`), Garbage, Garbage, 0},
		{"ids of another kind", swap(`"finish_reason"`, `"token_ids":{},"finish_reason"`), Garbage, Garbage, 0},
		{"ids that are texts", swap(`"finish_reason"`, `"token_ids":["1"],"finish_reason"`), Garbage, Garbage, 0},
		{"half an id", swap(`"finish_reason"`, `"token_ids":[1.5],"finish_reason"`), Garbage, Garbage, 0},
		{"token beyond 32 bits", swap(`"finish_reason"`, `"token_ids":[4294967296],"finish_reason"`), Garbage, Garbage, 0},
		{"no usage", swap(`"usage"`, `"used"`), Garbage, 0, 0},
		{"a usage that is a list", swap(`{"prompt_tokens":1,"completion_tokens":1}`, `[]`), Garbage, 0, 0},
		{"empty usage", swap(`"prompt_tokens":1,"completion_tokens":1`, ``), Garbage, 0, 0},
		{"NaN usage", swap(one, `"completion_tokens":NaN`), Garbage, 0, 0},
		{"negative usage", swap(one, `"completion_tokens":-1`), Garbage, 0, 0},
		{"broken usage", swap(one, `"completion_tokens":1.5`), Garbage, 0, 0},
		{"huge usage", swap(one, `"completion_tokens":1e99`), Garbage, Garbage, 0},
		{"no prompt", swap(`"prompt_tokens":1`, `"prompt_tokens":0`), Garbage, 0, 0},
		{"text of no tokens", swap(one, `"completion_tokens":0`), Garbage, 0, 0},
		{"negative reasoning", swap(one, one+`,"completion_tokens_details":{"reasoning_tokens":-1}`), Garbage, 0, 0},
		{"too much reasoning", swap(one, one+`,"completion_tokens_details":{"reasoning_tokens":2}`), Garbage, 0, 0},
		{"not UTF-8", swap(`"a"`, "\"a\xff\""), Garbage, Garbage, 0},
		{"half a character", swap(`"a"`, "\"\xe2\x82\""), Garbage, Garbage, 0},
		{"unfinished", swap(`"stop"`, `null`), Garbage, Garbage, 0},
		{"unfinished by a word", swap(`"stop"`, `"null"`), Garbage, Garbage, 0},
		{"ended by the server", swap(`"stop"`, `"insufficient_system_resource"`), Cut, Cut, 0},
		{"an unknown end", swap(`"stop"`, `"novel_end"`), UnknownEnd, UnknownEnd, 0},
		{"error object", `{"error":{"message":"m","type":"BadRequestError","code":400}}`, Rejected, Rejected, 400},
		{"deep", strings.Repeat(`{"choices":[`, 20000), Garbage, Garbage, 0},
		{"an empty stream", ": nothing\n\n", Cut, Cut, 0},
		{"no end of a stream", a, Cut, Cut, 0},
		{"finish, no [DONE]", a + end, Cut, 0, 0},
		{"[DONE] half sent", a + end + "data: [DON", Cut, Cut, 0},
		{"[DONE], no finish", a + done, Cut, Cut, 0},
		{"half a chunk", a + end[:20], Cut, Cut, 0},
		{"a stream ended by the server", a + chunk("", `"abort"`, 1) + done, Cut, Cut, 0},
		{"no usage of nothing", dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + done, Garbage, 0, 0},
		{"negative usage on the way", a + chunk("b", "null", -1) + end + done, Garbage, 0, 0},
		{"empty usage at the end", a + dataOf(`{"choices":[],"usage":{}}`) + end + done, Garbage, 0, 0},
		{"no JSON", a + "data: <html>\n\n" + end + done, Garbage, Garbage, 0},
		{"a stream not of UTF-8", a + delta("\"content\":\"\xff\"") + end + done, Garbage, Garbage, 0},
		{"another model", a + dataOf(`{"model":"m-mini","choices":[]}`) + end + done, OtherModel, OtherModel, 0},
		{"rejected late", dataOf(`{"error": {"message": "m", "type": "BadRequestError"}}`) + done, Rejected, Rejected, 400},
		{"rejected late by another server", dataOf(`{"error": {"message": "m", "type": "invalid_request_error", "code": null}}`) + done, Rejected, Rejected, 400},
		{"fault late", a + dataOf(`{"error": {"message": "m", "type": "InternalServerError", "code": 500}}`) + done, ServerFault, ServerFault, 500},
		{"fault with a word for a code", a + dataOf(`{"error": {"message": "m", "code": "overloaded"}}`) + done, ServerFault, ServerFault, 0},
		{"engine dies", a + dataOf(`{"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}}`) + done, EngineDead, EngineDead, 500},
	}
}

type notAnswer struct {
	name, body string
	want       Kind
	plain      Kind // of a server that may leave out much; 0: an answer
	status     int
}

func TestNotAnswers(t *testing.T) {
	for _, tt := range notAnswers() {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %t", tt.name, plain), func(t *testing.T) {
				ask := client(t, Options{Plain: plain}, says(200, tt.body)).whole
				if strings.HasPrefix(tt.body, "data:") || strings.HasPrefix(tt.body, ":") {
					ask = func(ctx context.Context, r Request) (Completion, error) {
						return client(t, Options{Plain: plain}, says(200, tt.body)).Stream(ctx, r, nil)
					}
				}
				got, err := ask(t.Context(), plainRequest())
				want := tt.want
				if plain {
					want = tt.plain
				}
				if want == 0 && err == nil {
					return
				}
				if e := fails(t, err, want); e.Status != tt.status || want == UnknownEnd && !strings.Contains(e.Error(), `"novel_end"`) {
					t.Errorf("%v, want status %d", err, tt.status)
				}
				if strings.HasPrefix(tt.body, a) && !strings.HasPrefix(got.Text, "a") {
					t.Errorf("what was seen is lost: %+v", got)
				}
				if got.Usage != (Usage{Reasoning: -1}) && got.Usage != notCounted && got.Usage.check() != nil {
					t.Errorf("usage %+v", got.Usage)
				}
			})
		}
	}
}

// TestRecorded reads an answer and a stream that vLLM 0.23.0 gave, with every change that
// server-sent events allow.
func TestRecorded(t *testing.T) {
	whole, err := os.ReadFile("testdata/answer.json")
	stream, errOfStream := os.ReadFile("testdata/stream.txt")
	if err := errors.Join(err, errOfStream); err != nil {
		t.Fatal(err)
	}
	text := string(stream)
	for name, text := range map[string]string{
		"whole":         string(whole),
		"as recorded":   text,
		"CRLF":          strings.ReplaceAll(text, "\n", "\r\n"),
		"CR":            strings.ReplaceAll(text, "\n", "\r"),
		"comments":      ": hello\n\n" + strings.ReplaceAll(text, "data:", ":ping\nid: 1\nevent: message\nretry: 5\ndata:"),
		"several lines": strings.ReplaceAll(text, `,"object"`, ",\ndata:\"object\""),
		"no space":      strings.ReplaceAll(text, "data: ", "data:"),
	} {
		t.Run(name, func(t *testing.T) {
			var sent string
			c := client(t, Options{Key: "secret"}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent = fmt.Sprint(r.URL.Path, r.Header["X-Request-Id"], r.Header["Authorization"], r.Header["Content-Type"], strings.Contains(string(body), `"seed":7`))
				io.WriteString(w, text)
			})
			r := request()
			r.ID, r.Model = "trace", "tiny-dense"
			var counts []int
			var pieces Completion
			ask := func(ctx context.Context, r Request) (Completion, error) {
				return c.Stream(ctx, r, func(p Piece) {
					counts = append(counts, p.Usage.Completion)
					pieces.PromptIDs, pieces.TokenIDs = append(pieces.PromptIDs, p.PromptIDs...), append(pieces.TokenIDs, p.IDs...)
					pieces.Text += p.Text
				})
			}
			if name == "whole" {
				ask = c.whole
			}
			got, err := ask(t.Context(), r)
			want := Completion{
				ID: "chatcmpl-trace", Model: "tiny-dense", Text: "���H", Finish: "length", Usage: Usage{Prompt: 21, Completion: 4, Reasoning: -1},
				TokenIDs: []int32{132, 131, 169, 72}, PromptIDs: []int32{257, 117, 115, 101, 114, 10, 104, 105, 258, 10, 257, 97, 115, 115, 105, 115, 116, 97, 110, 116, 10},
				Fingerprint: "vllm-0.23.0-564dff19", Sent: got.Sent, Finished: got.Finished,
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("completion %+v, %v\nwant %+v", got, err, want)
			}
			if sent != "/v1/chat/completions[trace] [Bearer secret] [application/json] true" {
				t.Errorf("sent %s", sent)
			}
			if got.Sent.IsZero() || got.Finished.Before(got.Sent) {
				t.Errorf("times %v, %v", got.Sent, got.Finished)
			}
			if name == "whole" {
				return
			}
			if want := []int{0, 1, 2, 3, 4, 4}; !slices.Equal(counts, want) {
				t.Errorf("usage seen %v, want %v", counts, want)
			}
			if pieces.Text != got.Text || !slices.Equal(pieces.TokenIDs, got.TokenIDs) || !slices.Equal(pieces.PromptIDs, got.PromptIDs) {
				t.Errorf("pieces %+v of %+v", pieces, got)
			}
		})
	}
}

// FuzzLines compares with a plain reading of the whole text, and one by single bytes.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\n\n", "a\r\n\r\n:c\rb\r\r", "\n\nx\n\r\n\ry", "\r", "a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
		if last := len(want) - 1; want[last] == "" { // after the last end is no line
			want = want[:last]
		}
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			var got []string
			lines := bufio.NewScanner(r)
			for lines.Split(splitLine); lines.Scan(); {
				got = append(got, lines.Text())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", text, got, want)
			}
		}
	})
}

// replaced matches escapes that may stand for U+FFFD, or become one.
var replaced = regexp.MustCompile(`(?i)\\u(fffd|d[89a-f])`)

// FuzzAnswer feeds the decoder anything: it must not panic, and what it lets through must be
// sound and, apart from what it drops, the text that was sent.
func FuzzAnswer(f *testing.F) {
	for _, d := range dialects {
		f.Add([]byte(d.body))
	}
	for _, tt := range notAnswers() {
		f.Add([]byte(tt.body))
	}
	f.Add([]byte(`{"choices":[{"index":0,"message":{"content":"\ud83d\ude00\\u00ff","reasoning":"r"},"finish_reason":"stop","token_ids":[1]}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`))
	f.Add([]byte(`{"error":[],"detail":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		failure(400, data)
		for _, plain := range []bool{false, true} {
			c := dial(t, "http://h", Options{Plain: plain})
			r, text := request(), ""
			a := c.assembly(&r, func(p Piece) {
				if p.Usage.Counted() && p.Usage != (Usage{Reasoning: -1}) && p.Usage.check() != nil {
					t.Fatalf("%q: usage %+v was told", data, p.Usage)
				}
				text += p.Text
			}, false)
			a.most = r.limits(1000, manner{plain: plain})
			err, got := a.read(bytes.NewReader(data)), a.Completion
			if err == nil && text != got.Text || !utf8.ValidString(got.Text+got.Reasoning) {
				t.Fatalf("%q: pieces are %q, whole %+v", data, text, got)
			}
			if err != nil {
				if e := (*Error)(nil); !errors.As(err, &e) || e.Kind == 0 || !utf8.ValidString(e.Message) {
					t.Fatalf("error %#v", err)
				}
				continue
			}
			if u := got.Usage; got.Finish == "" || u.check() != nil && (!plain || u != notCounted) {
				t.Fatalf("let through as %+v", got)
			}
			if !bytes.ContainsRune(data, utf8.RuneError) && !replaced.Match(data) && strings.ContainsRune(got.Text, utf8.RuneError) {
				t.Fatalf("%q: text mended to %q", data, got.Text)
			}
		}
	})
}
