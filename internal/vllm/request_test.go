package vllm

import (
	"math"
	"strings"
	"testing"
)

func TestBody(t *testing.T) {
	full := request()
	full.TopK, full.ThinkingBudget = 20, 8192
	full.IgnoreEOS = true
	full.TemplateArguments = map[string]any{"enable_thinking": true}
	bare := request()
	bare.TokenIDs, bare.Temperature = false, 0
	standard := request()
	standard.TokenIDs = false
	large := standard
	large.Seed = math.MaxInt64
	plain := manner{plain: true}
	const (
		start = `{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":7,`
		usual = start + `"temperature":0.6,"top_p":0.95,"max_tokens":4`
	)
	tests := []struct {
		name    string
		request Request
		stream  bool
		manner  manner
		want    string
	}{
		{"whole", full, false, manner{}, usual +
			`,"top_k":20,"min_p":0,"repetition_penalty":1,"chat_template_kwargs":{"enable_thinking":true},"thinking_token_budget":8192,"ignore_eos":true,"return_token_ids":true}`},
		{"zeros are sent", bare, false, manner{}, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"stream", bare, true, manner{}, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"stream":true,` +
			`"stream_options":{"include_usage":true,"continuous_usage_stats":true},"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"plain", standard, false, plain, usual + `}`},
		{"plain stream", standard, true, plain, usual + `,"stream":true,"stream_options":{"include_usage":true}}`},
		{"plain, of what was refused nothing", standard, true, manner{plain: true, renamed: true, seedless: true, uncounted: true},
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.6,"top_p":0.95,"max_completion_tokens":4,"stream":true}`},
		{"plain seed of 31 bits", large, false, plain, strings.Replace(usual, `"seed":7`, `"seed":2147483647`, 1) + `}`},
	}
	for _, tt := range tests {
		body, err := tt.request.body(tt.stream, tt.manner)
		if err != nil || string(body) != tt.want {
			t.Errorf("%s: %s, %v\nwant %s", tt.name, body, err, tt.want)
		}
	}
}

// TestPlainServersGetNoVLLMFields: what only vLLM knows is an error that says
// so, and nothing is sent.
func TestPlainServersGetNoVLLMFields(t *testing.T) {
	c := dial(t, "http://127.0.0.1:1", Options{Plain: true}) // nothing listens there
	tests := []struct {
		want  string
		spoil func(*Request)
	}{
		{"top_k", func(r *Request) { r.TopK = 20 }},
		{"top_k", func(r *Request) { r.TopK = -1 }},
		{"chat_template_kwargs", func(r *Request) { r.TemplateArguments = map[string]any{"enable_thinking": false} }},
		{"thinking budget", func(r *Request) { r.ThinkingBudget = 1 }},
		{"ignore_eos", func(r *Request) { r.IgnoreEOS = true }},
		{"ids of tokens", func(r *Request) { r.TokenIDs = true }},
	}
	for _, tt := range tests {
		r := request()
		r.TokenIDs = false
		tt.spoil(&r)
		_, err := c.Complete(t.Context(), r)
		_, streamed := c.Stream(t.Context(), r, nil)
		for _, err := range []error{err, streamed} {
			if e := fails(t, err, Rejected); !e.Unsent || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		}
	}
}

func TestUnfitRequestsAreNotSent(t *testing.T) {
	c := dial(t, "http://127.0.0.1:1", Options{}) // nothing listens there
	tests := []struct {
		want  string
		spoil func(*Request)
	}{
		{"no model", func(r *Request) { r.Model = "" }},
		{"no messages", func(r *Request) { r.Messages = nil }},
		{"seed -1", func(r *Request) { r.Seed = -1 }},
		{"max tokens is 0", func(r *Request) { r.MaxTokens = 0 }},
		{"id", func(r *Request) { r.ID = "a\r\nb" }},
		{"message 0", func(r *Request) { r.Messages[0].Content = "a\xff" }},
		{"NaN", func(r *Request) { r.Temperature = math.NaN() }},
	}
	for _, tt := range tests {
		r := request()
		tt.spoil(&r)
		_, err := c.Complete(t.Context(), r)
		_, streamed := c.Stream(t.Context(), r, nil)
		for _, err := range []error{err, streamed} {
			if fails(t, err, Rejected); !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		}
	}
}
