package imitation

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/fleet"
)

// wire is the body of a request: the fields that this program sends. Others are
// ignored, as by vLLM. Pointers are nil where nothing was sent.
type wire struct {
	Model    string         `json:"model"`
	Messages []message      `json:"messages"`
	Prompt   jsontext.Value `json:"prompt"` // text or ids
	Seed     *int64         `json:"seed"`
	Stream   bool           `json:"stream"`
	Options  struct {
		Usage      bool `json:"include_usage"`
		Continuous bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	TokenIDs    bool           `json:"return_token_ids"`
	MaxTokens   *int64         `json:"max_tokens"`
	Longest     *int64         `json:"max_completion_tokens"`
	Temperature *float64       `json:"temperature"`
	TopP        *float64       `json:"top_p"`
	TopK        int64          `json:"top_k"`
	IgnoreEOS   bool           `json:"ignore_eos"`
	Budget      jsontext.Value `json:"thinking_token_budget"`
	Template    struct {
		Thinking *bool `json:"enable_thinking"`
	} `json:"chat_template_kwargs"`
}

// message is one turn of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// request is a chat or a completion.
type request struct {
	wire
	chat     bool
	maxParam string  // the name under which the length of the answer came
	budget   int64   // tokens of thinking; -1: no limit
	prompt   string  // rendered; its last bytes may be part of a character
	tokens   []int32 // of the prompt
	text     int     // characters of a prompt that came as text
}

// parse reads a body and checks its form.
func parse(body []byte, chat bool) (*request, *problem) {
	q := &request{chat: chat, maxParam: "max_tokens", budget: -1}
	if err := json.Unmarshal(body, &q.wire, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, malformed("", err.Error())
	}
	if q.Longest != nil {
		q.MaxTokens, q.maxParam = q.Longest, "max_completion_tokens"
	}
	if q.Options.Usage && !q.Stream {
		return nil, malformed("stream_options", "stream_options needs stream")
	}
	if text := string(q.Budget); text != "" && text != "null" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < -1 {
			return nil, malformed("thinking_token_budget", "thinking_token_budget is not a number of tokens, or -1")
		}
		q.budget = n
	}
	return q, nil
}

// readChat reads and checks a chat.
func (s *Settings) readChat(body []byte) (*request, *problem) {
	q, p := parse(body, true)
	switch {
	case p != nil:
		return nil, p
	case q.Messages == nil:
		return nil, malformed("", "messages is missing")
	}
	if s.Plain {
		q.TokenIDs, q.Options.Continuous, q.budget, q.IgnoreEOS = false, false, -1, false
	}
	q.prompt = s.template(q)
	q.tokens, q.text = fleet.Tokenize(q.prompt), utf8.RuneCountInString(q.prompt)
	return q, q.check(s)
}

// readCompletion reads and checks a completion: a stream that goes on from ids.
func (s *Settings) readCompletion(body []byte) (*request, *problem) {
	q, p := parse(body, false)
	if p != nil {
		return nil, p
	}
	if json.Unmarshal(q.Prompt, &q.tokens) != nil || len(q.tokens) == 0 {
		return nil, malformed("prompt", "prompt is not a list of tokens")
	}
	q.prompt = fleet.Detokenize(q.tokens)
	return q, q.check(s)
}

// What the chat template puts before an answer.
const (
	assistant = "<|im_start|>assistant\n"
	opened    = "<think>\n"
	unopened  = "<think>\n\n</think>\n\n"
)

// template is the prompt of a chat, in the format of Qwen's models. A thinking
// model's prompt ends inside the thinking, or after an empty one.
func (s *Settings) template(q *request) string {
	var b strings.Builder
	for _, m := range q.Messages {
		b.WriteString("<|im_start|>" + m.Role + "\n" + m.Content + "<|im_end|>\n")
	}
	b.WriteString(assistant)
	switch on := q.Template.Thinking; {
	case !s.Thinking:
	case on == nil || *on:
		b.WriteString(opened)
	default:
		b.WriteString(unopened)
	}
	return b.String()
}

// lastUser is the last user turn of a rendered prompt.
func lastUser(prompt string) string {
	const open = "<|im_start|>user\n"
	i := strings.LastIndex(prompt, open)
	if i < 0 {
		return prompt
	}
	turn, _, _ := strings.Cut(prompt[i+len(open):], "<|im_end|>")
	return turn
}

// check makes the checks that follow the checks of form, in vLLM's order.
func (q *request) check(s *Settings) *problem {
	switch {
	case q.Model != "" && q.Model != s.Model:
		return unknownModel(q.Model)
	case q.chat && len(q.Messages) == 0:
		return invalid("", "There is no message.")
	}
	room := int64(s.MaxModelLen) - valueOr(q.MaxTokens, 0)
	const full = "The prompt and the answer do not fit in the context."
	switch {
	case room < 0:
		return invalid(q.maxParam, full)
	case int64(q.text) > room*int64(fleet.LongestToken):
		return invalid("input_text", full)
	case int64(len(q.tokens)) > room:
		return invalid("input_tokens", full)
	case slices.Max(q.tokens) >= fleet.Vocabulary || slices.Min(q.tokens) < 0:
		return invalid("", "A token is not in the vocabulary.")
	case valueOr(q.Temperature, 1) < 0:
		return invalid("temperature", "temperature must not be negative.")
	case !(valueOr(q.TopP, 1) > 0 && valueOr(q.TopP, 1) <= 1):
		return invalid("top_p", "top_p must be in (0, 1].")
	case q.TopK < -1:
		return invalid("", "top_k must be -1 or more.")
	case q.most(s) < 1:
		return invalid("max_tokens", "max_tokens must be at least 1.")
	case q.budget >= 0 && s.ReasoningParser == "":
		p := invalid("", "thinking_token_budget needs a reasoning parser.")
		p.late = true
		return p
	case !q.chat && !q.Stream:
		return invalid("", "A simulated completion is a stream.")
	}
	return nil
}

func valueOr[T int64 | float64](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// most is the number of tokens that the answer may have.
func (q *request) most(s *Settings) int {
	room := s.MaxModelLen - len(q.tokens)
	return min(room, int(valueOr(q.MaxTokens, int64(room))))
}

// open reports whether a prompt ends inside the thinking, and how many of its
// tokens are thinking already.
func open(prompt string) (inside bool, tokens int) {
	start, end := strings.LastIndex(prompt, "<think>"), strings.LastIndex(prompt, "</think>")
	if start <= end {
		return false, 0
	}
	return true, len(fleet.Tokenize(prompt[start+len("<think>"):]))
}

// split is the prompt of a chat and the tokens of an answer that has begun. All is
// prompt unless that of a completion ends within an answer to a chat.
func (q *request) split(s *Settings) (prompt string, begun []int32) {
	at := strings.LastIndex(q.prompt, assistant)
	if q.chat || at < 0 || strings.Contains(q.prompt[at:], "<|im_end|>") {
		return q.prompt, nil
	}
	at += len(assistant)
	for _, head := range []string{unopened, opened} {
		if s.Thinking && strings.HasPrefix(q.prompt[at:], head) {
			at += len(head)
			break
		}
	}
	return q.prompt[:at], fleet.Tokenize(q.prompt[at:])
}

// half is the text of a prompt that ends within a character, as an answer shows it:
// without special tokens but the tags of thinking; "" of any other. vLLM's decoder has
// held it back when the answer begins, and sends all of it with the first character
// that becomes whole.
func (q *request) half() string {
	if q.chat {
		return ""
	}
	text := fleet.Detokenize(slices.DeleteFunc(slices.Clone(q.tokens), func(id int32) bool {
		return id >= fleet.EndOfText && id < fleet.ThinkStart
	}))
	if fleet.Complete(text) == len(text) {
		return ""
	}
	return text
}

// ended reports whether the reasoning is over when the answer begins, as vLLM's
// parser for Qwen reads the prompt.
func (q *request) ended() bool {
	return strings.LastIndex(q.prompt, "</think>") > strings.LastIndex(q.prompt, "<think>")
}

// question is the request as the author reads it. A request without a seed that
// counts has the seed unseeded.
func (q *request) question(s *Settings, unseeded int64) fleet.Question {
	prompt, begun := q.split(s)
	inside, thought := open(prompt)
	ask := fleet.Question{
		User: lastUser(prompt), Prompt: fleet.Valid(prompt), Seed: unseeded, Greedy: valueOr(q.Temperature, 1) < 1e-5, Thinking: inside, Begun: begun,
		Limits: fleet.Limits{Most: q.most(s), Endless: q.IgnoreEOS, Budget: -1},
	}
	if q.budget >= 0 && inside {
		ask.Limits.Budget = int(max(0, min(q.budget, 1<<30)-int64(thought)))
	}
	if q.Seed != nil && *q.Seed != -1 && !s.Unrepeatable {
		ask.Seed = *q.Seed
	}
	return ask
}
