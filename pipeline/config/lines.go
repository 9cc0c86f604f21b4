package config

import (
	"fmt"
	"strings"
)

// keyLines gives the line of every key and table header of a valid TOML text,
// by path: "replay.draws", "model[1]", "model[1].id". The TOML library does
// not tell. Keys inside inline tables are left out.
func keyLines(text string) map[string]int {
	s := &lineScanner{text: text, line: 1}
	lines, counts := map[string]int{}, map[string]int{}
	table := ""
	for s.skipBlank() {
		line := s.line
		if s.text[s.at] != '[' {
			key := s.key('=')
			lines[join(table, key)] = line
			s.skipValue()
			continue
		}
		double := strings.HasPrefix(s.text[s.at:], "[[")
		s.at++
		if double {
			s.at++
		}
		table = s.key(']')
		if double {
			s.at++
			counts[table]++
			table = fmt.Sprintf("%s[%d]", table, counts[table]-1)
		}
		lines[table] = line
	}
	return lines
}

func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// lineScanner walks a text that is known to be valid TOML.
type lineScanner struct {
	text string
	at   int
	line int
}

// skipBlank goes to the next statement, over blanks and comments.
func (s *lineScanner) skipBlank() (more bool) {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ', '\t', '\r':
		case '\n':
			s.line++
		case '#':
			s.skipComment()
		default:
			return true
		}
	}
	return false
}

// skipComment goes to the last byte of a comment.
func (s *lineScanner) skipComment() {
	for s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
		s.at++
	}
}

// key reads a dotted key up to the byte end and goes past it.
func (s *lineScanner) key(end byte) string {
	var key strings.Builder
	for ; s.at < len(s.text) && s.text[s.at] != end; s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n':
		case '"', '\'':
			from := s.at + 1
			s.skipString()
			key.WriteString(s.text[from:min(s.at, len(s.text))])
		default:
			key.WriteByte(c)
		}
	}
	s.at++
	return key.String()
}

// skipValue goes to the end of the line on which a value ends.
func (s *lineScanner) skipValue() {
	depth := 0
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '"', '\'':
			s.skipString()
		case '#':
			s.skipComment()
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '\n':
			if depth == 0 {
				return
			}
			s.line++
		}
	}
}

// skipString goes to the closing quote of the string that begins here.
func (s *lineScanner) skipString() {
	quote := s.text[s.at : s.at+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.at:], long) {
		quote = long
	}
	for s.at += len(quote); s.at < len(s.text); s.at++ {
		switch {
		case s.text[s.at] == '\n':
			s.line++
		case s.text[s.at] == '\\' && quote[0] == '"':
			if s.at++; strings.HasPrefix(s.text[s.at:], "\n") {
				s.line++
			}
		case strings.HasPrefix(s.text[s.at:], quote):
			s.at += len(quote) - 1
			for len(quote) == 3 && strings.HasPrefix(s.text[s.at+1:], quote[:1]) {
				s.at++ // the last quotes of the string itself
			}
			return
		}
	}
}
