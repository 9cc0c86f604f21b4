package imitation

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

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
