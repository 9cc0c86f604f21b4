package logs

// Fields that several formats have: ids, folders, names, tokens.

import (
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// taskID is the id of a task, a number or a text: the number 1 and the text "1" are two ids. A
// whole number is written without a fraction.
type taskID struct {
	text   string
	number bool
}

func (id *taskID) UnmarshalJSON(v []byte) (err error) {
	id.number = jsontext.Value(v).Kind() == '0'
	id.text, err = textOf(v)
	if n, fault := strconv.ParseFloat(id.text, 64); fault == nil && id.number && math.Abs(n) < 1<<53 && n == math.Trunc(n) {
		id.text = strconv.FormatInt(int64(n), 10)
	}
	return err
}

func (id taskID) String() string { return id.text }

// folder returns the name of the n-th folder above a file, 0 the one that it is in; "" above
// the root.
func folder(path string, n int) string {
	path, _ = filepath.Abs(path)
	names := strings.Split(filepath.ToSlash(path), "/")
	return names[max(0, len(names)-2-n)]
}

// joined joins the names that are not empty.
func joined(mark string, names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), mark)
}

// tokens is a number of tokens, −1 if it is not known.
func tokens(v jsontext.Value) int64 {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(n >= 0 && n < 1<<40) {
		return -1
	}
	return int64(n)
}

// ioTokens are tokens as several tools count them.
type ioTokens struct {
	Input  jsontext.Value `json:"input_tokens"`
	Output jsontext.Value `json:"output_tokens"`
}

// rollout is a rollout with these tokens, and a name by which logs know it, or "".
func (t ioTokens) rollout(number int, name string) Rollout {
	r := Rollout{Number: number, PromptTokens: tokens(t.Input), CompletionTokens: tokens(t.Output)}
	if name != "" {
		sum := fnv.New64a()
		sum.Write([]byte(name))
		r.Identity = sum.Sum64()
	}
	return r
}
