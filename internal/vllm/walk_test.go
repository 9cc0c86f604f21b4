package vllm

import (
	"errors"
	"strings"
	"testing"
)

func TestAnswersOfAnotherShapeAreGarbage(t *testing.T) {
	const good = `{"id":"x","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop","token_ids":[1,2]}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	var c Completion
	if err := decodeAnswer([]byte(good), false, mostOf(false), &c); err != nil || c.Text != "a" || len(c.TokenIDs) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := decodeAnswer([]byte(strings.Replace(good, `"index":0,`, ``, 1)), false, mostOf(false), new(Completion)); err != nil {
		t.Errorf("the only choice needs no index: %v", err)
	}
	for _, text := range []string{
		strings.Replace(good, `}],`, `},5],`, 1), strings.Replace(good, `}],`, `},{"index":1,"message":{"content":"b"}}],`, 1), strings.Replace(good, `}],`, `},{"index":0,"message":{"content":"b"}}],`, 1),
		strings.Replace(good, `"index":0,`, `"index":1,`, 1), strings.Replace(good, `"index":0,`, `"index":-1,`, 1), strings.Replace(good, `"index":0,`, `"index":null,`, 1), strings.Replace(good, `"index":0,`, `"index":"0",`, 1),
		``, `null`, `[]`, `"a"`, `5`, good + `x`, good + good, good[:len(good)-1],
		`{"id":5}`, `{"model":5}`, `{"model":{"a":"b"}}`, `{"id":["x"]}`, `{"choices":"x"}`, `{"choices":{}}`, `{"choices":5}`, `{"choices":["x"]}`, `{"choices":[[]]}`,
		`{"choices":[{"index":0,"message":"a"}]}`, `{"choices":[{"index":0,"message":{"content":5}}]}`, `{"choices":[{"index":0,"message":{"content":{"a":"b"}}}]}`,
		`{"choices":[{"index":0,"message":{},"finish_reason":1}]}`, `{"choices":[{"index":0,"message":{},"token_ids":{}}]}`, `{"choices":[{"index":0,"message":{},"token_ids":["1"]}]}`,
		`{"choices":[{"index":0,"message":{},"token_ids":[1.5]}]}`, `{"choices":[{"index":0,"message":{},"token_ids":[4294967296]}]}`, `{"usage":[]}`, `{"usage":"x"}`,
		`{"usage":{"prompt_tokens":"1"}}`, `{"usage":{"completion_tokens_details":[]}}`, `{"usage":{"completion_tokens_details":{"reasoning_tokens":-1}}}`,
	} {
		var e *Error
		if err := decodeAnswer([]byte(text), false, mostOf(false), new(Completion)); !errors.As(err, &e) || e.Kind != Garbage {
			t.Errorf("%s: %v", text, err)
		}
	}
}
