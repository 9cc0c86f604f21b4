package logs

import (
	"hash/fnv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// folder returns the name of the n-th folder above a file, 0 the one that it is in; "" above
// the root.
func folder(path string, n int) string {
	path, _ = filepath.Abs(path)
	names := strings.Split(filepath.ToSlash(path), "/")
	return names[max(0, len(names)-2-n)]
}

// beside reads another file in the folder of a log, if it is there and sound.
func beside(path, name string, about any) { object(filepath.Join(filepath.Dir(path), name), about) }

// moment formats a time in seconds since 1970 as RFC 3339, or a text as it is.
func moment(v jsontext.Value) string {
	text, _ := textOf(v)
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1<<40 {
		return time.Unix(int64(s), 0).UTC().Format(time.RFC3339)
	}
	return text
}

// joined joins the names that are not empty.
func joined(mark string, names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), mark)
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
