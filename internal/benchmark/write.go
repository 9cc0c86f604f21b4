package benchmark

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
)

// WriteTasks writes a task file, the same bytes for the same tasks: keys in the
// order that [Reader] lists, no blanks, and every character as it is but for
// those that JSON must escape. Keys that say nothing are left out after
// system_prompt. Tasks that break the rules of a task file are refused before
// anything is written.
func WriteTasks(w io.Writer, tasks []Task) error {
	faults := newFaults("tasks")
	check := newCheck(faults)
	for i, task := range tasks {
		place := fmt.Sprintf("task %d", i)
		check.task(place, task)
		if !valid(task) {
			faults.add(place, "", "is not valid UTF-8")
		}
	}
	if len(tasks) == 0 {
		faults.add("", "", "there are none")
	}
	if err := faults.err(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, task := range tasks {
		out.Write(appendRecord(nil, task))
	}
	return out.Flush()
}

// Digest is the SHA-256, in hexadecimal, of the file that WriteTasks makes of
// tasks. Tests that have a file of their own it covers by tests_sha256, and where
// that is missing not at all.
func Digest(tasks []Task) string { return digest(tasks, appendRecord) }

// PromptDigest is the SHA-256, in hexadecimal, of what is asked: records with
// the keys from benchmark_id to system_prompt alone, a line each. It is what
// answers depend on, and stays when an answer or a test is mended.
func PromptDigest(tasks []Task) string {
	return digest(tasks, func(b []byte, t Task) []byte { return append(appendAsked(b, t), "}\n"...) })
}

func digest(tasks []Task, appendTask func([]byte, Task) []byte) string {
	hash := sha256.New()
	for _, task := range tasks {
		hash.Write(appendTask(nil, task))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// appendRecord appends the line of a task.
func appendRecord(b []byte, t Task) []byte {
	b = appendAsked(b, t)
	if t.Answer != "" {
		b = appendMember(b, "answer", t.Answer)
	}
	if t.Tolerance != "" {
		b = appendMember(b, "tolerance", t.Tolerance)
	}
	b = appendMember(b, "scorer", t.Scorer)
	if t.Options > 0 {
		b = strconv.AppendInt(append(b, `,"options":`...), int64(t.Options), 10)
	}
	if len(t.OptionTexts) > 0 {
		b = appendTexts(append(b, `,"option_texts":`...), t.OptionTexts)
	}
	if len(t.Tests) > 0 {
		b = appendTests(append(b, `,"tests":`...), t.Tests)
	}
	if t.TestsFile != "" {
		b = appendMember(b, "tests_file", t.TestsFile)
	}
	if t.TestsSHA256 != "" {
		b = appendMember(b, "tests_sha256", t.TestsSHA256)
	}
	if t.Cluster != "" {
		b = appendMember(b, "cluster", t.Cluster)
	}
	return append(b, "}\n"...)
}

// appendAsked appends the record of a task up to system_prompt.
func appendAsked(b []byte, t Task) []byte {
	b = AppendString(append(b, `{"benchmark_id":`...), t.Benchmark)
	b = appendMember(b, "task_id", t.ID)
	b = strconv.AppendInt(append(b, `,"task_index":`...), int64(t.Index), 10)
	b = appendMember(b, "prompt", t.Prompt)
	b = appendMember(b, "user_prompt", t.UserPrompt)
	if t.SystemPrompt == "" {
		return append(b, `,"system_prompt":null`...)
	}
	return appendMember(b, "system_prompt", t.SystemPrompt)
}

// appendTexts appends a list of texts.
func appendTexts(b []byte, texts []string) []byte {
	for i, text := range texts {
		b = AppendString(append(b, opening(i, '[')), text)
	}
	return append(b, ']')
}

// appendTests appends a list of tests.
func appendTests(b []byte, tests []Test) []byte {
	for i, test := range tests {
		b = appendTest(append(b, opening(i, '[')), test)
	}
	return append(b, ']')
}

// appendTest appends a test.
func appendTest(b []byte, test Test) []byte {
	b = AppendString(append(b, `{"kind":`...), test.Kind)
	if test.Function != "" {
		b = appendMember(b, "function", test.Function)
	}
	b = appendMember(b, "input", test.Input)
	return append(appendMember(b, "output", test.Output), '}')
}

// opening is what stands before item i of a list.
func opening(i int, bracket byte) byte {
	if i == 0 {
		return bracket
	}
	return ','
}

func appendMember(b []byte, key, value string) []byte {
	b = append(append(append(b, `,"`...), key...), `":`...)
	return AppendString(b, value)
}

// AppendString appends a JSON string that escapes what JSON must have escaped
// (RFC 8259, section 7) and nothing else. The encoder of the standard library
// escapes more: <, >, & and the line separators U+2028 and U+2029.
func AppendString(b []byte, s string) []byte {
	const short = "btn\x00fr" // after the backslash for 8 to 13; 11 has none
	b = append(b, '"')
	written := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[written:i]...)
		written = i + 1
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			b = append(b, '\\', short[c-'\b'])
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(append(b, s[written:]...), '"')
}
