package vllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Message is one turn of a chat.
type Message struct {
	Role    string `json:"role"` // "system" or "user"
	Content string `json:"content"`
}

// Request is a chat completion to ask for. Every sampling parameter is always
// sent, so that no default of a server or a model counts; of a plain server,
// its own top_k, min_p and penalties count.
type Request struct {
	ID       string // X-Request-Id, for the server's log; "" sends none
	Model    string // as served
	Messages []Message
	Seed     int64 // of this request's sampling, not negative

	Temperature float64
	TopP        float64
	TopK        int // 0: off
	MaxTokens   int // of the answer, thinking included; at least 1
	// IgnoreEOS has the model write on when it would end its answer, so that the
	// answer has exactly MaxTokens tokens; a vLLM feature.
	IgnoreEOS bool

	// TemplateArguments are the chat_template_kwargs, such as
	// {"enable_thinking": true}; none are sent when it is empty.
	TemplateArguments map[string]any
	// ThinkingBudget is the thinking_token_budget; 0 sends none. Servers that do
	// not know it ignore it in silence: see the pool's check.
	ThinkingBudget int
	// TokenIDs asks for the ids of the prompt's and the answer's tokens, a vLLM
	// feature.
	TokenIDs bool
	// Prefix is what there is of the answer: the rest of it is asked for, and not
	// another. nil: nothing.
	Prefix *Prefix
	// OnLoss is what a pool does when the answer is lost while it comes in.
	OnLoss OnLoss
}

// Sampling is how a model is asked: all of a request but the question, its seed
// and its id.
type Sampling struct {
	Model             string // as served
	Temperature       float64
	TopP              float64
	TopK              int // 0: off
	MaxTokens         int // of the answer, thinking included
	TemplateArguments map[string]any
	ThinkingBudget    int // 0: none
}

// Request asks a question, after a system prompt unless that is empty.
func (s Sampling) Request(system, user string) Request {
	r := Request{
		Model: s.Model, Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MaxTokens: s.MaxTokens,
		TemplateArguments: s.TemplateArguments, ThinkingBudget: s.ThinkingBudget,
	}
	if system != "" {
		r.Messages = append(r.Messages, Message{Role: "system", Content: system})
	}
	r.Messages = append(r.Messages, Message{Role: "user", Content: user})
	return r
}

// fault says what is wrong with the request before a server sees it; nil if
// nothing is.
func (r *Request) fault() error {
	switch {
	case r.Model == "":
		return errors.New("no model is named")
	case len(r.Messages) == 0:
		return errors.New("no messages")
	case r.Seed < 0:
		return fmt.Errorf("seed %d is negative, which servers take for none", r.Seed)
	case r.MaxTokens < 1:
		return fmt.Errorf("max tokens is %d, want at least 1", r.MaxTokens)
	case strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c > '~' }):
		return fmt.Errorf("id %q is not fit for a header, want printable ASCII", r.ID)
	}
	for i, m := range r.Messages {
		if !utf8.ValidString(m.Content) {
			return fmt.Errorf("message %d is not valid UTF-8", i)
		}
	}
	return nil
}

// standard are the fields that every OpenAI-compatible server knows.
type standard struct {
	Model       string         `json:"model"`
	Messages    []Message      `json:"messages"`
	Seed        *int64         `json:"seed,omitempty"`
	Temperature float64        `json:"temperature"`
	TopP        float64        `json:"top_p"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	Longest     int            `json:"max_completion_tokens,omitempty"` // MaxTokens, by its other name
	Stream      bool           `json:"stream,omitempty"`
	StreamWith  *streamOptions `json:"stream_options,omitempty"`
}

// extended are the fields of vLLM besides. What is always sent is neutral: it
// stands there to overrule the defaults of a model or a server.
type extended struct {
	standard
	TopK              int            `json:"top_k"`
	MinP              float64        `json:"min_p"`
	RepetitionPenalty float64        `json:"repetition_penalty"`
	TemplateArguments map[string]any `json:"chat_template_kwargs,omitempty"`
	ThinkingBudget    int            `json:"thinking_token_budget,omitempty"`
	IgnoreEOS         bool           `json:"ignore_eos,omitempty"`
	TokenIDs          bool           `json:"return_token_ids,omitempty"`
}

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats,omitempty"`
}

// rest are the fields of a request for the rest of an answer, to a prompt of ids.
type rest struct {
	extended
	Prompt   []int32   `json:"prompt"`
	Budget   *int      `json:"thinking_token_budget,omitempty"` // may be 0: none is left
	Messages *struct{} `json:"messages,omitempty"`              // in place of the chat's
	Template *struct{} `json:"chat_template_kwargs,omitempty"`
}

// body is the request as JSON, in the manner of a server.
func (r *Request) body(stream bool, m manner) ([]byte, error) {
	if err := r.fault(); err != nil {
		return nil, err
	}
	s := standard{
		Model: r.Model, Messages: r.Messages, Seed: &r.Seed, Temperature: r.Temperature, TopP: r.TopP,
		MaxTokens: r.MaxTokens, Stream: stream,
	}
	if stream && !m.uncounted {
		s.StreamWith = &streamOptions{IncludeUsage: true, ContinuousUsage: !m.plain}
	}
	if m.plain {
		return r.plainBody(s, m)
	}
	e := extended{
		standard: s, TopK: r.TopK, RepetitionPenalty: 1,
		TemplateArguments: r.TemplateArguments, ThinkingBudget: r.ThinkingBudget, IgnoreEOS: r.IgnoreEOS, TokenIDs: r.TokenIDs,
	}
	if p := r.Prefix; p != nil {
		seed := ContinuationSeed(r.Seed, len(p.IDs))
		e.Seed, e.MaxTokens = &seed, r.MaxTokens-len(p.IDs)
		return json.Marshal(rest{extended: e, Prompt: p.all(), Budget: p.left})
	}
	return json.Marshal(e)
}

// plainBody is the request with standard fields alone. Of the seed it has the
// last 31 bits: servers keep it in a float64 or in 32 bits, of which all ones
// may stand for none.
func (r *Request) plainBody(s standard, m manner) ([]byte, error) {
	if err := r.beyondStandard(); err != nil {
		return nil, err
	}
	seed := r.Seed & (1<<31 - 1)
	s.Seed = &seed
	if m.seedless {
		s.Seed = nil
	}
	if m.renamed {
		s.MaxTokens, s.Longest = 0, r.MaxTokens
	}
	return json.Marshal(s)
}

// beyondStandard says what of the request only vLLM is known to take; nil if
// nothing.
func (r *Request) beyondStandard() error {
	switch {
	case r.TopK != 0:
		return fmt.Errorf("top_k %d is a field of vLLM, which this server may ignore: set top_k to 0, which leaves it to the server, or serve the model by vLLM", r.TopK)
	case len(r.TemplateArguments) > 0:
		return errors.New("chat_template_kwargs are a field of vLLM, which this server may ignore, and so whether the model is told to think: serve it by vLLM, or configure a model that is not told")
	case r.ThinkingBudget > 0:
		return errors.New("a thinking budget needs vLLM: set thinking_budget to 0, or serve the model by vLLM")
	case r.IgnoreEOS:
		return errors.New("ignore_eos needs vLLM")
	case r.TokenIDs:
		return errors.New("ids of tokens need vLLM")
	}
	return nil
}
