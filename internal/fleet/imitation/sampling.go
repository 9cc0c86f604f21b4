package imitation

import (
	"encoding/json"
	"math"
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
	missing string  // what to say of a request without anything to answer
}

// sampling reads the fields that chats and completions share, in the order in
// which vLLM declares them, since its faults come in that order.
func (q *request) sampling(rd *reader) {
	q.n = rd.integer("n", q.chat)
	q.presence = rd.number("presence_penalty", true)
	q.seed = rd.integer("seed", true)
	q.stop(rd)
	q.stream = rd.boolean("stream", true, false)
	q.options(rd)
	q.temperature = rd.number("temperature", true)
	q.topP = rd.number("top_p", true)
	q.topK = rd.integer("top_k", true)
	q.minP = rd.number("min_p", true)
	q.repeat = rd.number("repetition_penalty", true)
	q.stopIDs(rd)
	q.ignoreEOS = rd.boolean("ignore_eos", false, false)
	q.minTokens = rd.integer("min_tokens", false)
	rd.integer("priority", false)
	q.id = rd.text("request_id")
	q.ids = rd.boolean("return_token_ids", true, false)
}

// stop reads stop strings: one, or a list.
func (q *request) stop(rd *reader) {
	raw, typ, there := rd.take("stop", true, "", "")
	if !there {
		return
	}
	var one string
	switch {
	case typ == "str" && json.Unmarshal(raw, &one) == nil:
		q.stops = []string{one}
	case typ == "list" && json.Unmarshal(raw, &q.stops) == nil:
	default:
		rd.fault("string_type", "stop', 'str", "Input should be a valid string", raw)
		rd.fault("list_type", "stop', 'list[str]", "Input should be a valid list", raw)
	}
}

func (q *request) stopIDs(rd *reader) {
	for i, raw := range rd.list("stop_token_ids") {
		n, err := strconv.ParseInt(string(raw), 10, 32)
		if err != nil {
			rd.fault("int_parsing", "stop_token_ids", "Input should be a valid integer, unable to parse string as an integer", raw)
			d := &rd.faults[len(rd.faults)-1]
			d.place += ", " + strconv.Itoa(i)
		}
		q.stopTokens = append(q.stopTokens, int32(n))
	}
}

// options reads stream_options.
func (q *request) options(rd *reader) {
	o := rd.object("stream_options", "model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
	q.usage = booleanIn(rd, o, "stream_options', '", "include_usage", true, false)
	q.continuous = booleanIn(rd, o, "stream_options', '", "continuous_usage_stats", true, false) && q.usage
}

// early are checks that vLLM makes before it looks at types; the first that
// fails is the only one told.
func early(rd *reader) bool {
	switch {
	case string(rd.fields["tools"]) == "[]":
		rd.forbidden("", "", "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.", rd.body)
	case truthy(rd.fields["top_logprobs"]) && !truthy(rd.fields["logprobs"]):
		rd.forbidden("", "top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true.", rd.body)
	case truthy(rd.fields["stream_options"]) && !truthy(rd.fields["stream"]):
		rd.forbidden("", "stream_options", "Stream options can only be defined when `stream=True`.", rd.body)
	}
	return len(rd.faults) == 0
}

// truthy tells what Python takes for true.
func truthy(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", "0", "0.0", `""`, "{}", "[]":
		return false
	}
	return true
}

// thinkingBudget reads thinking_token_budget, which vLLM checks itself.
func (q *request) thinkingBudget(rd *reader) {
	raw, typ, there := rd.take("thinking_token_budget", true, "", "")
	if !there {
		return
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if typ != "int" || err != nil || n < -1 {
		rd.forbidden("thinking_token_budget", "thinking_token_budget", "`thinking_token_budget` must be a non-negative integer or -1 for unlimited.", raw)
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
	n := valueOr(q.n, 1)
	temperature := valueOr(q.temperature, 1)
	switch {
	case n < 1:
		return invalid("", "n must be at least 1, got %d.", n)
	case n > 16384:
		return invalid("", "n must be at most 16384, got %d. To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable.", n)
	case outside(q.presence, -2, 2):
		return invalid("", "presence_penalty must be in [-2, 2], got %s.", pythonFloat(*q.presence))
	case outside(q.frequency, -2, 2):
		return invalid("", "frequency_penalty must be in [-2, 2], got %s.", pythonFloat(*q.frequency))
	case valueOr(q.repeat, 1) <= 0:
		return invalid("", "repetition_penalty must be greater than zero, got %s.", pythonFloat(*q.repeat))
	case temperature < 0:
		return unwanted("temperature", pythonFloat(temperature), "temperature must be non-negative, got %s.", pythonFloat(temperature))
	case outside(q.topP, math.SmallestNonzeroFloat64, 1):
		return unwanted("top_p", pythonFloat(*q.topP), "top_p must be in (0, 1], got %s.", pythonFloat(*q.topP))
	case valueOr(q.topK, 0) < -1:
		return invalid("", "top_k must be 0 (disable), or at least 1, got %d.", *q.topK)
	case outside(q.minP, 0, 1):
		return invalid("", "min_p must be in [0, 1], got %s.", pythonFloat(*q.minP))
	case most < 1:
		return unwanted("max_tokens", strconv.FormatInt(most, 10), "max_tokens must be at least 1, got %d.", most)
	case valueOr(q.minTokens, 0) < 0:
		return invalid("", "min_tokens must be greater than or equal to 0, got %d.", *q.minTokens)
	case valueOr(q.minTokens, 0) > most:
		return invalid("", "min_tokens must be less than or equal to max_tokens=%d, got %d.", most, *q.minTokens)
	}
	for _, s := range q.stops {
		if s == "" {
			return invalid("", "stop cannot contain an empty string.")
		}
	}
	if n > 1 && temperature < 1e-5 {
		return invalid("", "n must be 1 when using greedy sampling, got %d.", n)
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

// outside tells whether there is a value and it is outside a range.
func outside(v *float64, low, high float64) bool { return v != nil && !(*v >= low && *v <= high) }

// room checks a prompt of so many tokens and max_tokens against the context,
// and is the number of tokens that there may be. text is how many characters
// were tokenized, or -1 if the prompt came as tokens.
func (q *request) room(context, tokens, text int) (int64, *problem) {
	asked := valueOr(q.maxTokens, 0)
	if asked > int64(context) {
		return 0, unwanted(q.maxParam, strconv.FormatInt(asked, 10),
			"%s=%d cannot be greater than max_model_len=max_total_tokens=%d. Please request fewer output tokens.", q.maxParam, asked, context)
	}
	room := int(int64(context) - asked)
	const advice = "Please reduce the length of the input prompt or the number of requested output tokens."
	if characters := room * fleet.LongestToken; text > characters {
		return 0, unwanted("input_text", strconv.Itoa(text), "This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt "+
			"contains %d characters (more than %d characters, which is the upper bound for %d input tokens). "+advice, context, asked, text, characters, room)
	}
	if tokens > room {
		least := ""
		if text >= 0 { // the tokenizer stopped there
			tokens = room + 1
		}
		if tokens == room+1 {
			least = "at least "
		}
		return 0, unwanted("input_tokens", strconv.Itoa(tokens), "This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt "+
			"contains %s%d input tokens, for a total of %s%d tokens. "+advice, context, asked, least, tokens, least, int64(tokens)+asked)
	}
	most := int64(context - tokens)
	if q.maxTokens != nil {
		most = min(most, asked)
	}
	return most, nil
}
