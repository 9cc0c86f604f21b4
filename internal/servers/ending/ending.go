// Package ending says what of a completion is an answer: how it ended, by the word
// that its server gives; what follows the thinking in its text; and how many of many
// completions are empty or not whole.
package ending

import "strings"

// Ending is how a completion ended.
type Ending int

const (
	Unknown  Ending = iota // the table does not have the word
	Open                   // the server has named no end
	Finished               // the model ended it, or a stop sequence did
	Cut                    // a limit of tokens, context or time did
	Filtered               // a content filter withheld it, or the rest of it
	Refused                // the provider of the model refused to answer
	Called                 // the model called a tool, though none was offered
	Failed                 // the server gave it up
)

// words are the end reasons of known servers and gateways, in lower case and with
// underscores: of OpenAI and Azure, vLLM, SGLang, TGI, TensorRT-LLM, llama.cpp, Ollama,
// LM Studio, LiteLLM, OpenRouter, Vercel, Anthropic, Bedrock, Gemini, Mistral, Cohere,
// Together, DeepSeek, Qianfan, SenseNova, Zhipu and watsonx. Gemini's OTHER and "unknown"
// of gateways may be the end of a whole answer or of a part: they stay unknown.
var words = index(map[Ending]string{
	Open:     "null none not_finished finish_reason_unspecified",
	Finished: "stop eos eos_token stop_sequence end_turn normal complete finish finished stop_criteria_met completed end_of_turn endoftext eosfound stopstringfound",
	Cut: "length context max_tokens max_output_tokens token_limit model_length model_context_window_exceeded error_limit pause_turn repetition time_limit timeout limit max_length max_new_tokens " +
		"maxpredictedtokensreached contextlengthreached",
	Filtered: "content_filter content_filtered guardrail_intervened sensitive safety recitation blocklist prohibited_content spii language " +
		"image_safety image_prohibited_content image_recitation error_toxic",
	Refused: "refusal",
	Called: "tool_calls tool_call tool_use toolcalls function_call function_call_filter malformed_function_call malformed_tool_use " +
		"unexpected_tool_call too_many_tool_calls",
	Failed: "abort aborted error failed cancelled canceled user_cancel userstopped modelunloaded load unload insufficient_system_resource network_error malformed_model_output",
})

func index(table map[Ending]string) map[string]Ending {
	all := make(map[string]Ending)
	for e, list := range table {
		for word := range strings.FieldsSeq(list) {
			all[word] = e
		}
	}
	return all
}

// Of is the ending that a server means by a word. Case does not count, nor whether
// parts are joined by "-" or "_", nor a detail behind a colon, as in Gemini's
// "content_filter: PROHIBITED_CONTENT". "" is Open.
func Of(word string) Ending {
	switch word {
	case "":
		return Open
	case "stop":
		return Finished
	}
	word, _, _ = strings.Cut(word, ":")
	word = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "-", "_")
	if e, known := words[word]; known {
		return e
	}
	for _, printed := range []string{"finishreason.", "finish_reason_"} { // by servers that print an enumeration
		word = strings.TrimPrefix(word, printed)
	}
	return words[word]
}

// Answers reports whether a completion with this ending is a rollout, whole or not.
// With any other ending the request for it has failed.
func (e Ending) Answers() bool { return e >= Finished && e <= Called }
