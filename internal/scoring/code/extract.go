package code

import "strings"

const fence = "```"

// block is a fenced block that is open.
type block struct {
	ticks  int // of the fence that opened it
	indent int // bytes of white space before that fence, or firstLine
	lines  []string
}

// firstLine is the indent of a block whose fence follows text, such as the number
// of a list: the block is indented as its first line is.
const firstLine = -1

// Extract gives the program of a response: its last fenced block. Otherwise it
// says why there is none. A block that is still open at the end is no program,
// and none before it is either: its author had not finished.
//
// A fence is a line that begins with three backticks or more, after white space,
// or text before an opening or a closing one. The lines of a block lose the indent
// of its fence; behind text, that of its first line. A line in a block that names a
// language closes it and opens another one.
func Extract(text string) (program, why string) {
	var open, last *block
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		switch {
		case open == nil:
			open = opening(line)
		case open.closes(line):
			last, open = open, nil
			if next := opening(line); next != nil && language(line) != "" {
				open = next
			}
		default:
			open.lines = append(open.lines, line)
		}
	}
	switch {
	case open != nil:
		return "", "the last code block is not closed"
	case last == nil:
		return "", "no code block"
	}
	program = last.program()
	if strings.TrimSpace(program) == "" {
		return "", "the last code block is empty"
	}
	return program, ""
}

// opening is the block that a line opens, nil if it opens none: if there is no
// fence, or one that is closed in the same line.
func opening(line string) *block {
	at := strings.Index(line, fence)
	if at < 0 {
		return nil
	}
	ticks := backticks(line[at:])
	if strings.Contains(line[at+ticks:], "`") {
		return nil
	}
	before := line[:at]
	if strings.TrimSpace(before) == "" {
		return &block{ticks: ticks, indent: at}
	}
	if info := strings.TrimSpace(line[at+ticks:]); info != "" && language(line[at:]) == "" {
		return nil // a remark on fences
	}
	return &block{ticks: ticks, indent: firstLine}
}

// backticks counts those at the beginning of a text.
func backticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// language is the only word after the fence that a line begins with, "" if there
// is another number of them.
func language(line string) string {
	info := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "`"))
	if strings.ContainsAny(info, " \t`") {
		return ""
	}
	return info
}

// closes reports whether a line closes the block, and keeps the text before its fence.
func (b *block) closes(line string) bool {
	trimmed := strings.TrimSpace(line)
	if backticks(trimmed) >= b.ticks {
		return true
	}
	before := strings.TrimRight(trimmed, "`")
	if len(trimmed)-len(before) < b.ticks {
		return false
	}
	b.lines = append(b.lines, strings.TrimRight(strings.TrimRight(strings.TrimRight(line, " \t"), "`"), "\r"))
	return true
}

// program is the text of the block. Where its fence is indented, as in a list,
// so are its lines.
func (b *block) program() string {
	for i, line := range b.lines {
		n := len(line) - len(strings.TrimLeft(line, " \t"))
		if b.indent == firstLine && n < len(line) {
			b.indent = n
		}
		b.lines[i] = line[max(0, min(n, b.indent)):]
	}
	return strings.Join(b.lines, "\n") + "\n"
}
