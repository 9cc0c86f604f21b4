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
	const (
		start = `{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":7,`
		usual = start + `"temperature":0.6,"top_p":0.95,"max_tokens":4`
	)
	tests := []struct {
		name          string
		request       Request
		stream, plain bool
		want          string
	}{
		{"whole", full, false, false, usual +
			`,"top_k":20,"min_p":0,"repetition_penalty":1,"chat_template_kwargs":{"enable_thinking":true},"thinking_token_budget":8192,"ignore_eos":true,"return_token_ids":true}`},
		{"zeros are sent", bare, false, false, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"stream", bare, true, false, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"stream":true,` +
			`"stream_options":{"include_usage":true,"continuous_usage_stats":true},"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"plain", full, false, true, usual + `}`},
		{"plain stream", full, true, true, usual + `,"stream":true,"stream_options":{"include_usage":true}}`},
	}
	for _, tt := range tests {
		body, err := tt.request.body(tt.stream, tt.plain)
		if err != nil || string(body) != tt.want {
			t.Errorf("%s: %s, %v\nwant %s", tt.name, body, err, tt.want)
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
