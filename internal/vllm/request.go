package vllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
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
		return errors.New("chat_template_kwargs are a field of vLLM, which this server may ignore, and with it the switch for thinking: serve the model by vLLM, or configure a model without that switch")
	case r.ThinkingBudget > 0:
		return errors.New("a thinking budget needs vLLM: set thinking_budget to 0, or serve the model by vLLM")
	case r.IgnoreEOS:
		return errors.New("ignore_eos needs vLLM")
	case r.TokenIDs:
		return errors.New("ids of tokens need vLLM")
	}
	return nil
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
	First    time.Time // when the first token arrived; zero if not streamed
	Finished time.Time // when the last byte, or the error, arrived
}

// Piece is what one chunk of a stream has brought.
type Piece struct {
	Usage     Usage   // of the answer so far, as the last chunk told that did
	PromptIDs []int32 // of the rendered prompt, on the first piece that tells them
	IDs       []int32 // of the tokens that are new; nil unless the request asks for TokenIDs
	Text      string  // of the answer proper, what is new
	Reasoning string  // of the thinking, what is new
	Finish    string  // why the answer ended, on the piece that ends it
	// Anew says that this piece begins an answer again from nothing: what was
	// heard of it before is void. A client never sets it; code that retries a lost
	// request may.
	Anew bool
}

// Usage counts tokens as the server does. Of an aborted stream it is the last
// that was reported, a lower bound. vLLM always tells Prompt and Completion; of
// a plain server that does not, all three are -1.
type Usage struct {
	Prompt     int
	Completion int // reasoning included
	Reasoning  int // -1 where the server does not tell, as vLLM 0.23 does not
}

// untold is the usage of an answer without counts.
var untold = Usage{Prompt: -1, Completion: -1, Reasoning: -1}

// Told tells whether the server has counted: only then are Prompt and
// Completion numbers of tokens.
func (u Usage) Told() bool { return u.Completion >= 0 }

// manner is how a server is spoken to. One is replaced as a whole, never
// changed.
type manner struct {
	plain bool          // the server is none of vLLM
	idle  time.Duration // longest silence of a stream; 0: none

	// What a plain server has refused, and is not sent again.
	renamed   bool // max_tokens, in favour of max_completion_tokens
	seedless  bool // seed
	uncounted bool // stream_options, by which streams tell their usage
}

// TreatAsPlain speaks to the server as to one that may be none of vLLM. It gets
// standard fields alone; a request that needs another is an error. What many
// servers leave out of an answer may be missing: counts of tokens, and the
// [DONE] of a stream. A stream that has begun may be silent for idle; one that
// has not, while the server says nothing to others either. 0 is no limit.
func (c *Client) TreatAsPlain(idle time.Duration) {
	if m := c.manner.Load(); !m.plain || m.idle != idle {
		c.manner.Store(&manner{plain: true, idle: idle})
	}
}

// TreatAsVLLM speaks to the server as New's client does without Options.Plain.
func (c *Client) TreatAsVLLM() {
	if c.manner.Load().plain {
		c.manner.Store(&manner{idle: c.options.Idle})
	}
}

// Plain tells whether the server is treated as one that may be none of vLLM.
func (c *Client) Plain() bool { return c.manner.Load().plain }

// Refused says what of a request the server has turned out not to take, so that
// it is not sent: a line each.
func (c *Client) Refused() []string {
	var lines []string
	m := c.manner.Load()
	if m.seedless {
		lines = append(lines, "takes no seed, so the same answers cannot be asked for again")
	}
	if m.uncounted {
		lines = append(lines, "takes no stream_options, so it may not tell tokens")
	}
	return lines
}

// fields are the names of fields, in what a server says of a request, that a
// plain server may do without.
var fields = map[string]*regexp.Regexp{
	"max_completion_tokens": regexp.MustCompile(`\bmax_completion_tokens\b`),
	"stream_options":        regexp.MustCompile(`\bstream_options\b`),
	"seed":                  regexp.MustCompile(`\bseed\b`),
}

// learn is how to speak to a server after a refusal; ok is false if that
// teaches nothing.
func (m manner) learn(err error) (after manner, ok bool) {
	var e *Error
	if !m.plain || !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return m, false
	}
	after = m
	switch said := e.Param + " " + e.Message; {
	case !m.renamed && fields["max_completion_tokens"].MatchString(said):
		after.renamed = true
	case !m.uncounted && fields["stream_options"].MatchString(said):
		after.uncounted = true
	case !m.seedless && fields["seed"].MatchString(said):
		after.seedless = true
	}
	return after, after != m
}

// SameModel tells whether a server that names a model means the one that was
// asked for. vLLM names it as it was asked; others may add a publisher in front
// ("publisher/m"), and a version, tag or revision behind ("m-2024-08-06",
// "m:latest", "m@main"). What follows a dash must be digits: m-mini is another.
func SameModel(asked, named string) bool {
	for name := named; ; {
		if rest, found := strings.CutPrefix(name, asked); found && asked != "" && isRevision(rest) {
			return true
		}
		var found bool
		if _, name, found = strings.Cut(name, "/"); !found {
			return false
		}
	}
}

// isRevision tells whether what follows a model's name leaves it the same model.
func isRevision(rest string) bool {
	if rest == "" || rest[0] == ':' || rest[0] == '@' {
		return true
	}
	number, _, _ := strings.Cut(rest[1:], "-")
	return rest[0] == '-' && len(number) >= 3 && strings.Trim(rest, "0123456789-") == ""
}

// answeredBy checks the model that an answer names; "" if it names none.
func (r *Request) answeredBy(named string, plain bool) error {
	if named == "" || named == r.Model || plain && SameModel(r.Model, named) {
		return nil
	}
	return &Error{Kind: OtherModel, Message: fmt.Sprintf("asked for the model %q, and %q answered: ask for that one, or serve the other under its name", r.Model, named)}
}
