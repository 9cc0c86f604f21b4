package ending_test

import (
	"strings"
	"testing"

	"speceval/internal/servers/ending"
)

func TestEndReasons(t *testing.T) {
	for want, words := range map[ending.Ending]string{
		ending.Open:     "|null|None|not_finished",
		ending.Finished: "stop|STOP|Stop|eos_token|stop_sequence|end_turn|COMPLETE|STOP_SEQUENCE|eosFound|stopStringFound|eos|FinishReason.STOP|FINISH_REASON_STOP|finished|normal|completed|end_of_turn",
		ending.Cut: "length|LENGTH|context|max_tokens|MAX_TOKENS|repetition|model_length|maxPredictedTokensReached|contextLengthReached|" +
			"model_context_window_exceeded|pause_turn|time_limit|ERROR_LIMIT|limit|max_length|max_new_tokens|FinishReason.MAX_TOKENS",
		ending.Filtered: "content_filter|content-filter|SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|ERROR_TOXIC|sensitive|guardrail_intervened|content_filter: PROHIBITED_CONTENT",
		ending.Refused:  "refusal",
		ending.Called:   "tool_calls|tool-calls|function_call|toolCalls|tool_use|TOOL_CALL|MALFORMED_FUNCTION_CALL|function_call_filter: MALFORMED_FUNCTION_CALL",
		ending.Failed:   "abort|error|ERROR|failed|modelUnloaded|userStopped|load|unload|insufficient_system_resource|cancelled|network_error",
		ending.Unknown:  "unknown|OTHER|other|stopped|stop it|done|0",
	} {
		for word := range strings.SplitSeq(words, "|") {
			if got := ending.Of(word); got != want || got.Answers() != (want >= ending.Finished && want <= ending.Called) {
				t.Errorf("%q: %d, which makes a rollout: %t; want %d", word, got, got.Answers(), want)
			}
		}
	}
}

func TestAfterThinking(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		end    ending.Ending
		opened bool
		want   string
		closed bool
	}{
		"no thinking":                 {"an answer", ending.Cut, false, "an answer", true},
		"nothing":                     {"", ending.Finished, false, "", true},
		"thinking, then an answer":    {"<think>a</think>b", ending.Cut, false, "b", true},
		"closed, never opened":        {"a</think>b", ending.Finished, false, "b", true},
		"closed, and nothing after":   {"<think>a</think>", ending.Finished, false, "", true},
		"never closed, cut":           {"<think>so \\boxed{42}", ending.Cut, false, "", false},
		"never closed, finished":      {"<think>so \\boxed{42}", ending.Finished, false, "", false},
		"blanks before it":            {"\n <think>so", ending.Cut, false, "\n ", false},
		"a text before it":            {"First: 41. <think>so 42", ending.Cut, false, "First: 41. ", false},
		"begun again after an answer": {"<think>a</think>b<think>c", ending.Cut, false, "b", false},
		"twice":                       {"<think>a</think>b<think>c</think>d", ending.Cut, false, "d", true},
		"nested, cut":                 {"<think>a<think>b</think>c", ending.Cut, false, "", false},
		"nested, all closed, cut":     {"<think>a<think>b</think>c</think>d", ending.Cut, false, "d", true},
		"nested, finished":            {"<think>the tag <think> opens</think>d", ending.Finished, false, "d", true},
		"opened by template and text": {"<think>\n<think>\na</think>b", ending.Cut, false, "b", true},
		"opened by the prompt":        {"so \\boxed{42}", ending.Finished, true, "", false},
		"and by the text":             {"\n<think>so", ending.Cut, true, "", false},
		"and closed":                  {"so</think>b", ending.Cut, true, "b", true},
		"and begun again":             {"so</think>b<think>c", ending.Finished, true, "b", false},
		"<thinking>":                  {"<thinking>so", ending.Finished, false, "", false},
		"<thinking>, closed":          {"<thinking>so</thinking>b", ending.Finished, false, "b", true},
		"[THINK]":                     {"[THINK]so", ending.Cut, false, "", false},
		"[THINK], closed":             {"[THINK]so[/THINK]b", ending.Cut, false, "b", true},
		"Harmony":                     {"<|channel|>analysis<|message|>so 42<|end|>", ending.Cut, false, "", false},
		"Harmony, closed":             {"<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>b", ending.Finished, false, "b", true},
		"Seed":                        {"<seed:think>so", ending.Finished, false, "", false},
		"Cohere":                      {"<|START_THINKING|>so<|END_THINKING|>b", ending.Finished, false, "b", true},
		"tokens that end it":          {"b</s>", ending.Finished, false, "b", true},
		"a turn that ends":            {"<think>a</think>b<|im_end|>\n", ending.Finished, false, "b", true},
		"a comparison":                {"a <thin and [THIN]", ending.Finished, false, "a <thin and [THIN]", true},
	} {
		if got, closed := ending.AfterThinking(test.text, test.end, test.opened); got != test.want || closed != test.closed {
			t.Errorf("%s: %q, closed %t; want %q, %t", name, got, closed, test.want, test.closed)
		}
	}
	many := strings.Repeat("<think>", 1<<17) // would take minutes if it took quadratic time
	if got, closed := ending.AfterThinking(many, ending.Cut, false); got != "" || closed {
		t.Errorf("%d bytes of an answer, closed %t", len(got), closed)
	}
}

func TestTally(t *testing.T) {
	var whole, none ending.Tally
	for range 4 {
		whole.Add("42", true, 9, ending.Finished, true)
	}
	for name, tally := range map[string]*ending.Tally{"whole": &whole, "none": &none, "nil": nil} {
		if lines := tally.Lines(0); lines != nil {
			t.Errorf("%s: %q", name, lines)
		}
	}
	var all ending.Tally
	all.Add("so", true, 2, ending.Finished, false)
	all.Add("so", true, 2, ending.Cut, false) // cut, and so not whole
	for range 92 {
		all.Add("42", true, 2, ending.Finished, true)
	}
	all.Add(" ", true, 9, ending.Finished, true) // reasoning apart
	all.Add("", false, 5, ending.Cut, true)      // thinking in the text
	all.Add("", true, 0, ending.Filtered, true)
	all.Add("so", false, 9, ending.Cut, true)
	all.Add("so", true, 2, ending.Refused, true)
	all.Add("so", true, 2, ending.Called, true)
	want := ending.Tally{All: 100, Empty: 3, Thinking: 2, EmptyCut: 1, EmptyFinished: 1, Unclosed: 1, Cut: 3, Filtered: 1, Refused: 1, Called: 1, Unread: 1}
	if all != want {
		t.Errorf("%+v, want %+v", all, want)
	}
	said := strings.Join(all.Lines(0), "\n")
	for _, words := range []string{
		"3 of 100 rollouts (3%) have an empty answer", "2 of them have thinking alone", "1 were cut by a limit", "raise sampling.max_tokens", "reasoning parser",
		"1 of 100 rollouts (1%) end in thinking that was not closed", "3 of 100 rollouts (3%) were cut", "content filter", "refused", "call of a tool", "1 of 100 rollouts (1%) have a text in which the scorer found no answer",
	} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is not in\n%s", words, said)
		}
	}
	if lines := all.Lines(0.02); len(lines) != 2 || !strings.Contains(lines[0], "empty") {
		t.Errorf("of more than 2%%: %q", lines)
	}
}
