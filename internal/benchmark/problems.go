package benchmark

import (
	"bufio"
	"io"
)

// WriteProblems writes a task file of bare problems, which a [Reader] asks by its
// templates: id, prompt, answer, scorer, and options as a list or tests, and
// nothing that depends on a template or on the place of a task. A task that has no
// user turn yet is as good as one that has, and what a task file cannot say so is
// left out: a tests_file, and an own system turn.
func WriteProblems(w io.Writer, tasks []Task) error {
	out := bufio.NewWriter(w)
	for _, task := range tasks {
		out.Write(appendProblem(nil, task))
	}
	return out.Flush()
}

// appendProblem appends the line of a bare problem.
func appendProblem(b []byte, t Task) []byte {
	b = AppendString(append(b, `{"id":`...), t.ID)
	b = appendMember(b, "prompt", t.Prompt)
	if t.Answer != "" {
		b = appendMember(b, "answer", t.Answer)
	}
	if t.Tolerance != "" {
		b = appendMember(b, "tolerance", t.Tolerance)
	}
	b = appendMember(b, "scorer", t.Scorer)
	if len(t.OptionTexts) > 0 {
		b = appendTexts(append(b, `,"options":`...), t.OptionTexts)
	}
	if len(t.Tests) > 0 {
		b = appendTests(append(b, `,"tests":`...), t.Tests)
	}
	return append(b, "}\n"...)
}
