package vllm

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Message is one turn of a chat.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// Sampling is how a model is asked: all of a request but the question, its seed and its id.
// Every parameter is sent that is not left out, so that no default of a server or a model counts;
// of a plain server, its own min_p and penalties count, and its top_k unless there is one here.
type Sampling struct {
	Model       string // as served
	Temperature float64
	TopP        float64
	TopK        int // 0: off
	MaxTokens   int // of the answer, thinking included; at least 1
	LeaveOut    Fields

	// Fields of vLLM. Servers that do not know a budget ignore it in silence: see the pool's check.
	TemplateArguments map[string]any // chat_template_kwargs, such as {"enable_thinking": true}
	ThinkingBudget    int            // thinking_token_budget; 0: none
}

// Request is a chat completion to ask for.
type Request struct {
	Sampling
	ID       string // X-Request-Id, for the server's log; "" sends none
	Messages []Message
	Seed     int64 // of this request's sampling, not negative

	IgnoreEOS bool    // write on where the answer would end, up to MaxTokens
	TokenIDs  bool    // ask for the ids of the prompt's and the answer's tokens
	Prefix    *Prefix // what there is of the answer: the rest of it is asked for; nil: nothing
	OnLoss    OnLoss  // what a pool does when the answer is lost while it comes in

	left *int // the thinking budget to ask for with a prefix; nil for none
	fill bool // the answer is to fill the context of the server, which is too short for MaxTokens
}

// Request asks a question, after a system prompt unless that is empty.
func (s Sampling) Request(system, user string) Request {
	r := Request{Sampling: s}
	if system != "" {
		r.Messages = append(r.Messages, Message{Role: "system", Content: system})
	}
	r.Messages = append(r.Messages, Message{Role: "user", Content: user})
	return r
}

// wire is a request as it is sent: the fields that every OpenAI-compatible server knows, and
// those of vLLM, some neutral, to overrule the defaults of a model or a server. Nil is not sent.
type wire struct {
	Model         string         `json:"model"`
	Messages      []Message      `json:"messages,omitzero"`
	Seed          *int64         `json:"seed,omitzero"`
	Temperature   *float64       `json:"temperature,omitzero"`
	TopP          *float64       `json:"top_p,omitzero"`
	MaxTokens     int            `json:"max_tokens,omitzero"`
	Longest       int            `json:"max_completion_tokens,omitzero"` // MaxTokens, by its other name
	Stream        bool           `json:"stream,omitzero"`
	StreamOptions jsontext.Value `json:"stream_options,omitzero"`

	TopK              *int           `json:"top_k,omitzero"`
	MinP              *int           `json:"min_p,omitzero"`
	RepetitionPenalty int            `json:"repetition_penalty,omitzero"`
	TemplateArguments map[string]any `json:"chat_template_kwargs,omitempty"`
	ThinkingBudget    *int           `json:"thinking_token_budget,omitzero"` // may be 0 for the rest of an answer: none is left
	IgnoreEOS         bool           `json:"ignore_eos,omitzero"`
	TokenIDs          bool           `json:"return_token_ids,omitzero"`
	Prompt            []int32        `json:"prompt,omitzero"` // of the rest of an answer, in place of messages
}

// body is the request as JSON, in the manner of a server.
func (r *Request) body(stream bool, m manner) ([]byte, error) {
	switch {
	case m.plain && len(r.TemplateArguments) > 0:
		return nil, errors.New("chat_template_kwargs are a field of vLLM, which this server may ignore, and with it the switch for thinking: serve the model by vLLM, or configure a model without that switch")
	case m.plain && (r.ThinkingBudget > 0 || r.IgnoreEOS || r.TokenIDs):
		return nil, errors.New("a thinking budget, ignore_eos and ids of tokens need vLLM: set thinking_budget to 0, or serve the model by vLLM")
	case r.Seed < 0 || r.MaxTokens < 1:
		return nil, fmt.Errorf("seed %d, and max_tokens %d: servers take these for none", r.Seed, r.MaxTokens)
	}
	w := wire{Model: r.Model, Messages: r.Messages, MaxTokens: m.room(r), Stream: stream, IgnoreEOS: r.IgnoreEOS, TokenIDs: r.TokenIDs}
	seed, left := r.Seed, m.refused|r.LeaveOut
	if m.plain {
		seed &= 1<<31 - 1 // servers keep it in a float64 or in 32 bits, where all ones may mean no seed
		w.StreamOptions = jsontext.Value(`{"include_usage":true}`)
	} else {
		w.MinP, w.RepetitionPenalty, w.TemplateArguments = new(int), 1, r.TemplateArguments
		w.StreamOptions = jsontext.Value(`{"include_usage":true,"continuous_usage_stats":true}`)
	}
	if p := r.Prefix; p != nil {
		seed, w.MaxTokens = ContinuationSeed(r.Seed, len(p.IDs)), r.MaxTokens-len(p.IDs)
		w.Prompt, w.ThinkingBudget, w.Messages, w.TemplateArguments = p.all(), r.left, nil, nil
		if m.context > 0 {
			w.MaxTokens = max(1, min(w.MaxTokens, m.context-len(w.Prompt)))
		}
	} else if r.ThinkingBudget > 0 {
		w.ThinkingBudget = &r.ThinkingBudget
	}
	w.Seed, w.Temperature, w.TopP = unless(left&LeaveSeed, &seed), unless(left&LeaveTemperature, &r.Temperature), unless(left&LeaveTopP, &r.TopP)
	if !m.plain || r.TopK > 0 {
		w.TopK = unless(left&LeaveTopK, &r.TopK)
	}
	if left&lengthField != 0 {
		w.MaxTokens, w.Longest = 0, w.MaxTokens
	}
	if left&usageOfStreams != 0 || !stream {
		w.StreamOptions = nil
	}
	return json.Marshal(w, json.Deterministic(true))
}

// unless is a value to send, nil if it is left out.
func unless[T any](left Fields, value *T) *T {
	if left != 0 {
		return nil
	}
	return value
}

// Completion is an answer, whole or, with an error, as far as it was received.
type Completion struct {
	ID          string // of the response
	Model       string // that answered, in the server's words; "" if it does not tell
	Text        string // the answer proper, without reasoning
	Reasoning   string // text of the thinking, where the server separates it
	Finish      string // "stop", "length", "repetition", …; "" if it was not finished
	Usage       Usage
	TokenIDs    []int32 // of reasoning and answer; nil unless asked for
	PromptIDs   []int32 // of the prompt as the server rendered it; nil unless TokenIDs are asked for
	Fingerprint string  // system_fingerprint: version and configuration of the server
	Software    string  // the Server header; "" if there is none
	Continued   int     // how often a pool went on with it after a loss; see OnLoss
	Again       int     // how often a pool began it anew, though a part may have been seen

	Sent     time.Time // when the request was handed to the network
	Finished time.Time // when the last byte, or the error, arrived
}

// Piece is the part of an answer in one chunk of a stream.
type Piece struct {
	Usage     Usage   // of the answer so far, as the last chunk told that did
	PromptIDs []int32 // of the rendered prompt, on the first piece that tells them
	IDs       []int32 // of the tokens that are new; nil unless the request asks for TokenIDs
	Text      string  // of the answer proper, what is new
	Reasoning string  // of the thinking, what is new
	Finish    string  // why the answer ended, on the piece that ends it
	Anew      bool    // the answer begins again from nothing; set by code that retries, not by a client
}

// Usage counts tokens as the server does; of an aborted stream those of the last report. vLLM
// always tells Prompt and Completion; of a plain server that does not, all three are -1.
type Usage struct {
	Prompt     int
	Completion int // reasoning included
	Reasoning  int // -1 where the server does not tell, as vLLM 0.23 does not

	Cost float64 // in dollars, prompt included; 0 where the server does not tell
}

// notCounted is the usage of an answer without counts.
var notCounted = Usage{Prompt: -1, Completion: -1, Reasoning: -1}

// Counted reports whether the server has counted: only then are Prompt and Completion numbers
// of tokens.
func (u Usage) Counted() bool { return u.Completion >= 0 }

// OnLoss is the rule for an answer that is lost while it comes in: its replica dies, its
// connection is cut, the process that asked is killed.
type OnLoss string

// The rules, as configurations write them; "" is Continue. Under each, an answer is asked
// for again if a server has reported nothing of it, though it would have.
const (
	Continue OnLoss = "continue" // goes on from what has been seen, and asks again where no server can
	AskAgain OnLoss = "again"    // never goes on: for servers that repeat an answer by its seed
	Refuse   OnLoss = "refuse"   // goes on, and fails where no server can
)

// ErrLost: an answer was lost while it came in, no server continues it, and the rule is Refuse.
var ErrLost = errors.New("an answer was lost under way after its first token, or perhaps after it, and cannot be continued")

// ErrStopped: waiting has been ended, and the request had no server.
var ErrStopped = errors.New("waiting for a server was given up")
