package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// spoken are the keys whose values are part of the protocol, not of an answer.
var spoken = []string{"object", "role", "finish_reason", "type", "param", "code", "owned_by"}

// shape writes JSON without what may differ from answer to answer: values are
// given by their kind, keys are sorted, a list is its first element.
func shape(body []byte) string {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return "not JSON"
	}
	return form(v, "")
}

func form(v any, key string) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+form(v[k], k))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + form(v[0], "") + "]"
	case nil:
		return "null"
	case string:
		if !slices.Contains(spoken, key) {
			return "text"
		}
	case float64:
		if !slices.Contains(spoken, key) {
			return "number"
		}
	}
	return fmt.Sprint(v)
}

var delta = regexp.MustCompile(`delta: \{[^}]*\}`)

// chunkShape is the shape of a chunk whatever its delta brings.
func chunkShape(raw string) string {
	return delta.ReplaceAllString(shape([]byte(raw)), "delta: {…}")
}

// refusal is an answer that is an error, in one line: its status, type, param and
// code. Of its message only the word that clients read counts: messages change from
// one version of vLLM to the next.
func refusal(got reply) string {
	var a answer
	if err := json.Unmarshal(got.body, &a); err != nil || a.Error == nil {
		return fmt.Sprintf("%d %s %s", got.status, got.kind, strings.TrimSpace(string(got.body)))
	}
	param, word := "null", ""
	if a.Error.Param != nil {
		param = *a.Error.Param
	}
	if strings.Contains(a.Error.Message, "EngineCore") {
		word = ", EngineCore"
	}
	return fmt.Sprintf("%d %s, param %s, code %d, %s%s", got.status, a.Error.Type, param, a.Error.Code, got.kind, word)
}
