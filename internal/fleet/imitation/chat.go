package imitation

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"speceval/internal/fleet"
)

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

// late are the checks of the engine, which a stream is told after its headers.
func (q *request) late(s *Settings) *problem {
	if q.budget != nil && s.ReasoningParser == "" {
		return invalid("", "thinking_token_budget needs a reasoning parser.")
	}
	return nil
}

// open tells whether a prompt ends inside the thinking, and how many of its
// tokens are thinking already.
func open(prompt string) (inside bool, tokens int) {
	start, end := strings.LastIndex(prompt, "<think>"), strings.LastIndex(prompt, "</think>")
	if start <= end {
		return false, 0
	}
	return true, fleet.CountTokens(prompt[start+len("<think>"):])
}

// ended tells whether the reasoning is over when the answer begins, as vLLM's
// parser for Qwen sees it.
func ended(prompt string) bool {
	return strings.LastIndex(prompt, "</think>") > strings.LastIndex(prompt, "<think>")
}
