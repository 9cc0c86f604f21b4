package imitation

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"speceval/internal/fleet"
)

// request is a chat or a completion, as far as it counts here. Pointers are nil
// where nothing was sent.
type request struct {
	id    string
	model string
	seed  *int64

	stream, usage, continuous bool
	ids                       bool // return_token_ids
	showPrompt                bool // return_prompt_text
	reasoning                 bool // include_reasoning

	n, maxTokens, minTokens, topK *int64
	maxParam                      string // the name under which maxTokens came
	temperature, topP, minP       *float64
	presence, frequency, repeat   *float64
	budget                        *int64 // thinking_token_budget
	ignoreEOS                     bool
	stops                         []string
	stopTokens                    []int32

	chat    bool
	user    string  // the last user turn, by which the task is known
	prompt  string  // rendered
	tokens  []int32 // of a prompt that came as tokens
	closed  bool    // the request switched the thinking off
	missing string  // why there is nothing to answer
}

// sampling reads the fields that chats and completions share.
func (q *request) sampling(rd *reader) {
	q.n = rd.integer("n", q.chat)
	q.frequency = rd.number("frequency_penalty")
	q.presence = rd.number("presence_penalty")
	q.seed = rd.integer("seed", true)
	q.stream = rd.boolean("stream", true, false)
	q.temperature = rd.number("temperature")
	q.topP = rd.number("top_p")
	q.topK = rd.integer("top_k", true)
	q.minP = rd.number("min_p")
	q.repeat = rd.number("repetition_penalty")
	q.stopTokens = decoded[[]int32](rd, "stop_token_ids", "a list of integers")
	q.ignoreEOS = rd.boolean("ignore_eos", false, false)
	q.minTokens = rd.integer("min_tokens", false)
	rd.integer("priority", false)
	q.id = rd.text("request_id")
	q.ids = rd.boolean("return_token_ids", true, false)
	if raw, there := rd.take("stop", true, ""); there && json.Unmarshal(raw, &q.stops) != nil {
		q.stops = []string{rd.text("stop")}
	}
	options := &reader{fields: rd.object("stream_options")}
	q.usage = options.boolean("include_usage", true, false)
	q.continuous = options.boolean("continuous_usage_stats", true, false) && q.usage
	rd.faults = append(rd.faults, options.faults...)
	q.thinkingBudget(rd)
}

// early makes the checks that vLLM makes before it looks at types, and reports
// whether they hold.
func early(rd *reader) bool {
	switch {
	case string(rd.fields["tools"]) == "[]":
		rd.forbidden("", "tools is empty")
	case truthy(rd.fields["top_logprobs"]) && !truthy(rd.fields["logprobs"]):
		rd.forbidden("top_logprobs", "top_logprobs needs logprobs")
	case truthy(rd.fields["stream_options"]) && !truthy(rd.fields["stream"]):
		rd.forbidden("stream_options", "stream_options needs stream")
	}
	return len(rd.faults) == 0
}

// thinkingBudget reads thinking_token_budget, which vLLM checks itself.
func (q *request) thinkingBudget(rd *reader) {
	raw, there := rd.take("thinking_token_budget", true, "")
	if !there {
		return
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < -1 {
		rd.forbidden("thinking_token_budget", "thinking_token_budget is not a number of tokens, or -1")
	} else if n >= 0 {
		q.budget = &n
	}
}

// unsupported refuses what the real server would do and this one cannot.
func unsupported(rd *reader) *problem {
	for _, name := range []string{
		"logprobs", "prompt_logprobs", "tools", "structured_outputs", "echo", "use_beam_search", "logit_bias", "suffix",
		"allowed_token_ids", "bad_words", "truncate_prompt_tokens", "continue_final_message", "chat_template", "prompt_embeds", "repetition_detection",
	} {
		if truthy(rd.fields[name]) {
			return unbuilt(name)
		}
	}
	var format struct{ Type string }
	if raw := rd.fields["response_format"]; truthy(raw) && (json.Unmarshal(raw, &format) != nil || format.Type != "text") {
		return unbuilt("response_format")
	}
	return nil
}

// values checks the sampling parameters, in vLLM's order; most is the number of
// tokens that there is room for.
func (q *request) values(most int64) *problem {
	n, temperature := valueOr(q.n, 1), valueOr(q.temperature, 1)
	for _, check := range []struct {
		wrong          bool
		param, message string
	}{
		{n < 1 || n > 16384, "", "n must be from 1 to 16384."},
		{outside(q.presence, -2, 2), "", "presence_penalty must be in [-2, 2]."},
		{outside(q.frequency, -2, 2), "", "frequency_penalty must be in [-2, 2]."},
		{valueOr(q.repeat, 1) <= 0, "", "repetition_penalty must be above 0."},
		{temperature < 0, "temperature", "temperature must not be negative."},
		{outside(q.topP, math.SmallestNonzeroFloat64, 1), "top_p", "top_p must be in (0, 1]."},
		{valueOr(q.topK, 0) < -1, "", "top_k must be -1 or more."},
		{outside(q.minP, 0, 1), "", "min_p must be in [0, 1]."},
		{most < 1, "max_tokens", "max_tokens must be at least 1."},
		{valueOr(q.minTokens, 0) < 0, "", "min_tokens must not be negative."},
		{valueOr(q.minTokens, 0) > most, "", "min_tokens must not be above max_tokens."},
		{slices.Contains(q.stops, ""), "", "stop must not have an empty string."},
		{n > 1 && temperature < 1e-5, "", "n must be 1 at temperature 0."},
	} {
		if check.wrong {
			return invalid(check.param, check.message)
		}
	}
	if n > 1 {
		return unbuilt("n > 1")
	}
	return nil
}

func valueOr[T int64 | float64](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// outside reports whether there is a value and it is outside a range.
func outside(v *float64, low, high float64) bool { return v != nil && !(*v >= low && *v <= high) }

// room checks a prompt of so many tokens and max_tokens against the context, and
// returns the number of tokens that the answer may have. text is how many characters
// were tokenized, or -1 if the prompt came as tokens.
func (q *request) room(context, tokens, text int) (int64, *problem) {
	asked := valueOr(q.maxTokens, 0)
	if asked > int64(context) {
		return 0, invalid(q.maxParam, fmt.Sprintf("%d tokens are asked for, the context has %d.", asked, context))
	}
	room := context - int(asked)
	message := fmt.Sprintf("The prompt and an answer of %d tokens do not fit in a context of %d.", asked, context)
	if text > room*fleet.LongestToken {
		return 0, invalid("input_text", message)
	}
	if tokens > room {
		return 0, invalid("input_tokens", message)
	}
	most := int64(context - tokens)
	if q.maxTokens != nil {
		most = min(most, asked)
	}
	return most, nil
}

// message is one turn of a chat.
type message struct{ role, content string }

// messages reads the turns of a chat.
func messages(rd *reader) ([]message, *problem) {
	if _, there := rd.fields["messages"]; !there {
		rd.faults = append(rd.faults, "messages is missing")
		return nil, nil
	}
	var turns []message
	for _, raw := range rd.list("messages") {
		var m struct {
			Role    *string
			Content json.RawMessage
		}
		if json.Unmarshal(raw, &m) != nil || m.Role == nil {
			rd.fault("one of messages", "a turn")
			continue
		}
		content, p := text(rd, m.Content)
		if p != nil {
			return nil, p
		}
		turns = append(turns, message{*m.Role, content})
	}
	return turns, nil
}

// text is the content of a turn: a string, or parts of text, joined by line
// feeds; null counts as empty.
func text(rd *reader, raw json.RawMessage) (string, *problem) {
	var one string
	var parts []struct{ Type, Text string }
	if len(raw) == 0 || json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	if json.Unmarshal(raw, &parts) != nil {
		rd.fault("content", "a text")
		return "", nil
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" && p.Type != "" {
			return "", unbuilt("content of type " + p.Type)
		}
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n"), nil
}

// template is the prompt of a chat, in the format of Qwen's models. A thinking
// model's prompt ends inside the thinking, or after an empty one.
func (s *Settings) template(turns []message, generate, think bool) string {
	var b strings.Builder
	for _, m := range turns {
		b.WriteString("<|im_start|>" + m.role + "\n" + m.content + "<|im_end|>\n")
	}
	if generate {
		b.WriteString("<|im_start|>assistant\n")
		switch {
		case s.Thinking && think:
			b.WriteString("<think>\n")
		case s.Thinking:
			b.WriteString("<think>\n\n</think>\n\n")
		}
	}
	return b.String()
}

// thinking reads whether a chat wants thinking, from the template's arguments
// or, without one there, from reasoning_effort; off tells that it was switched
// off in so many words.
func thinking(rd *reader) (on, off bool) {
	kwargs := rd.object("chat_template_kwargs")
	raw, there := kwargs["enable_thinking"]
	if there {
		return truthy(raw), !truthy(raw)
	}
	effort := rd.text("reasoning_effort")
	return effort != "none", effort == "none"
}

// readChat reads and checks a chat's body.
func (s *Settings) readChat(body []byte) (*request, *problem) {
	rd, p := newReader(body)
	if p != nil {
		return nil, p
	}
	if !early(rd) {
		return nil, malformed(rd.param, rd.faults...)
	}
	q := &request{chat: true, maxParam: "max_tokens"}
	turns, p := messages(rd)
	if p != nil {
		return nil, p
	}
	q.model = rd.text("model")
	q.maxTokens = rd.integer("max_tokens", true)
	if most := rd.integer("max_completion_tokens", true); most != nil {
		q.maxTokens, q.maxParam = most, "max_completion_tokens"
	}
	q.sampling(rd)
	q.reasoning = rd.boolean("include_reasoning", false, true)
	generate := rd.boolean("add_generation_prompt", false, true)
	on, off := thinking(rd)
	q.closed = off
	q.showPrompt = rd.boolean("return_prompt_text", true, false)
	if len(rd.faults) > 0 {
		return nil, malformed(rd.param, rd.faults...)
	}
	if p := unsupported(rd); p != nil {
		return nil, p
	}
	if len(turns) == 0 {
		q.missing = "There is no message."
	}
	for _, m := range turns {
		if m.role == "user" {
			q.user = m.content
		}
	}
	q.prompt = s.template(turns, generate, on)
	return q, nil
}

// readCompletion reads and checks a completion's body.
func (s *Settings) readCompletion(body []byte) (*request, *problem) {
	rd, p := newReader(body)
	if p != nil {
		return nil, p
	}
	if raw := rd.fields["prompt"]; (len(raw) == 0 || string(raw) == "null" || string(raw) == `""`) && !truthy(rd.fields["prompt_embeds"]) {
		rd.forbidden("prompt", "prompt is missing or empty")
	}
	if len(rd.faults) > 0 || !early(rd) {
		return nil, malformed(rd.param, rd.faults...)
	}
	q := &request{maxParam: "max_tokens"}
	q.model = rd.text("model")
	if p := q.readPrompt(rd); p != nil {
		return nil, p
	}
	q.maxTokens = rd.integer("max_tokens", true)
	if _, there := rd.fields["max_tokens"]; !there {
		sixteen := int64(16)
		q.maxTokens = &sixteen
	}
	q.sampling(rd)
	if len(rd.faults) > 0 {
		return nil, malformed(rd.param, rd.faults...)
	}
	return q, unsupported(rd)
}

// readPrompt reads the prompt of a completion: a text or tokens.
func (q *request) readPrompt(rd *reader) *problem {
	raw := rd.fields["prompt"]
	var several []json.RawMessage
	switch {
	case json.Unmarshal(raw, &q.prompt) == nil:
	case json.Unmarshal(raw, &q.tokens) == nil:
		if len(q.tokens) == 0 {
			q.missing = "There is no prompt."
		}
		q.prompt = fleet.Detokenize(q.tokens)
	case json.Unmarshal(raw, &several) == nil && (several[0][0] == '"' || several[0][0] == '['):
		return unbuilt("lists of prompts")
	default:
		rd.fault("prompt", "a text or a list of tokens")
	}
	return nil
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

// check makes the checks that follow those of form, in vLLM's order, and is the
// number of tokens that the answer may have.
func (q *request) check(s *Settings) (prompt int, most int64, p *problem) {
	if q.model != "" && q.model != s.Model {
		return 0, 0, unknownModel(q.model)
	}
	if q.missing != "" {
		return 0, 0, invalid("", q.missing)
	}
	characters := -1
	prompt = len(q.tokens)
	if q.tokens == nil {
		characters = utf8.RuneCountInString(q.prompt)
		prompt = fleet.CountTokens(q.prompt)
	}
	most, p = q.room(s.MaxModelLen, prompt, characters)
	if p != nil {
		return prompt, 0, p
	}
	for _, id := range q.tokens {
		if id < 0 || id >= fleet.Vocabulary {
			return prompt, 0, invalid("", fmt.Sprintf("Token %d is not in the vocabulary.", id))
		}
	}
	return prompt, most, q.values(most)
}

// late are the checks of the engine, which a stream sends after its headers.
func (q *request) late(s *Settings) *problem {
	if q.budget != nil && s.ReasoningParser == "" {
		return invalid("", "thinking_token_budget needs a reasoning parser.")
	}
	return nil
}

// open reports whether a prompt ends inside the thinking, and how many of its
// tokens are thinking already.
func open(prompt string) (inside bool, tokens int) {
	start, end := strings.LastIndex(prompt, "<think>"), strings.LastIndex(prompt, "</think>")
	if start <= end {
		return false, 0
	}
	return true, fleet.CountTokens(prompt[start+len("<think>"):])
}

// ended reports whether the reasoning is over when the answer begins, as vLLM's
// parser for Qwen sees it.
func ended(prompt string) bool {
	return strings.LastIndex(prompt, "</think>") > strings.LastIndex(prompt, "<think>")
}
