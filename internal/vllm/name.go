package vllm

import (
	"fmt"
	"strings"
)

// SameModel tells whether a server that names a model means the one that was
// asked for. vLLM names it as it was asked; others may add a publisher in front
// ("publisher/m"), and a version, tag or revision behind ("m-2024-08-06",
// "m:latest", "m@main"). What follows a dash must be digits: m-mini is another.
func SameModel(asked, named string) bool {
	for name := named; ; {
		if rest, found := strings.CutPrefix(name, asked); found && asked != "" && isRevision(rest) {
			return true
		}
		var found bool
		if _, name, found = strings.Cut(name, "/"); !found {
			return false
		}
	}
}

// isRevision tells whether what follows a model's name leaves it the same model.
func isRevision(rest string) bool {
	if rest == "" || rest[0] == ':' || rest[0] == '@' {
		return true
	}
	number, _, _ := strings.Cut(rest[1:], "-")
	return rest[0] == '-' && len(number) >= 3 && strings.Trim(rest, "0123456789-") == ""
}

// answeredBy checks the model that an answer names; "" if it names none.
func (r *Request) answeredBy(named string, plain bool) error {
	if named == "" || named == r.Model || plain && SameModel(r.Model, named) {
		return nil
	}
	return &Error{Kind: OtherModel, Message: fmt.Sprintf("asked for the model %q, and %q answered: ask for that one, or serve the other under its name", r.Model, named)}
}
