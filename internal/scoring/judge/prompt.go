package judge

import (
	"fmt"
	"strings"
	"text/template"
)

// asked holds the fields of a prompt.
type asked struct{ Question, Response, Answer string }

// ParsePrompt reads the user turn for the judge: a template in the syntax of
// text/template with {{.Question}}, {{.Response}} and {{.Answer}}. Values are
// inserted as they are, and the last line feed is not part of the turn. A
// template that loses one of them is refused.
func ParsePrompt(text, name string) (*template.Template, error) {
	parsed, err := template.New(name).Parse(strings.TrimSuffix(text, "\n"))
	if err != nil {
		return nil, fmt.Errorf("the judge's prompt: %w", err)
	}
	probe := asked{"<the question>", "<the response>", "<the right answer>"}
	var b strings.Builder
	if err := parsed.Execute(&b, probe); err != nil {
		return nil, fmt.Errorf("the judge's prompt: %w", err)
	}
	for _, value := range []string{probe.Question, probe.Response, probe.Answer} {
		if !strings.Contains(b.String(), value) {
			return nil, fmt.Errorf("the judge's prompt %s lacks %s: it needs {{.Question}}, {{.Response}} and {{.Answer}}", name, value)
		}
	}
	return parsed, nil
}
