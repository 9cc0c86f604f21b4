package config

import (
	"fmt"
	"strings"
)

// Limits on a configuration, far above any honest one. The TOML library takes memory
// and time by the square of how deep keys and values are nested.
const (
	maxKeys    = 20_000 // of the whole text
	maxKeyDots = 16     // of one key
	maxKeyText = 1 << 10
	maxNesting = 16 // lists and tables within one another
)

// boundScanner walks TOML that need not be valid, in one pass: over its brackets, and
// over the runs between brackets, commas and equals signs, of which some are keys.
type boundScanner struct {
	text   string
	at     int
	line   int
	run    int  // where the present run begins
	dots   int  // of it, outside of quotes
	depth  int  // of open lists and tables
	header bool // of a table: [a.b]
	keys   int
}

// checkBounds is why a text named so is no configuration that can be read, with the line;
// nil if nothing is.
func checkBounds(name, text string) error {
	s := &boundScanner{text: text, line: 1}
	if fault := s.scan(); fault != "" {
		return fmt.Errorf("%s:%d: %s", name, s.line, fault)
	}
	return nil
}

func (s *boundScanner) scan() (fault string) {
	for s.at < len(s.text) && fault == "" {
		switch c := s.text[s.at]; c {
		case '#':
			s.skipTo("\n")
			continue // at the line feed
		case '"', '\'':
			s.skipString(c)
		case '.':
			s.dots++
		case '[', '{':
			fault = s.opened(c)
		case ']', '}':
			if s.header {
				fault = s.key()
			}
			s.depth = max(s.depth-1, 0)
			s.begin()
		case '=':
			fault = s.key()
			s.begin()
		case ',':
			s.begin()
		case '\n':
			if s.depth == 0 || s.header {
				s.depth, s.header = 0, false
			}
			s.begin()
		}
		if s.dots > maxKeyDots {
			fault = fmt.Sprintf("a key has more than %d parts: no key of a configuration has", maxKeyDots)
		}
		if fault == "" && s.at < len(s.text) && s.text[s.at] == '\n' {
			s.line++
		}
		s.at++
	}
	return fault
}

// begin begins a run after the present byte.
func (s *boundScanner) begin() { s.run, s.dots = s.at+1, 0 }

// opened begins a list or a table.
func (s *boundScanner) opened(c byte) string {
	blank := strings.TrimLeft(s.text[s.run:s.at], " \t\r") == ""
	lineBegins := s.run == 0 || s.text[s.run-1] == '\n'
	if c == '[' && s.depth == 0 && blank && lineBegins {
		s.header = true
	}
	s.begin()
	if s.depth++; s.depth > maxNesting {
		return fmt.Sprintf("lists and tables are nested deeper than %d", maxNesting)
	}
	return ""
}

// key ends a run that is a key.
func (s *boundScanner) key() string {
	if s.at-s.run > maxKeyText {
		return fmt.Sprintf("a key is longer than %d bytes", maxKeyText)
	}
	if s.keys++; s.keys > maxKeys {
		return fmt.Sprintf("there are more than %d keys", maxKeys)
	}
	return ""
}

// skipTo goes to the next such text, or to the end.
func (s *boundScanner) skipTo(end string) {
	n := strings.Index(s.text[s.at:], end)
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.line += strings.Count(s.text[s.at:s.at+n], "\n")
	s.at += n
}

// skipString goes to the last quote of a string, or to the end of the line where one
// that must end there does not.
func (s *boundScanner) skipString(quote byte) {
	if three := strings.Repeat(string(quote), 3); strings.HasPrefix(s.text[s.at:], three) {
		s.at += 3
		for {
			s.skipTo(three)
			if quote == '\'' || !s.escaped() {
				s.at += 2
				for range 2 { // before the three that end it there may be two
					if s.at+1 < len(s.text) && s.text[s.at+1] == quote {
						s.at++
					}
				}
				return
			}
			s.at++
		}
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			return
		case c == '\n':
			s.at-- // which is not of the string
			return
		case c == '\\' && quote == '"':
			if s.at++; s.at < len(s.text) && s.text[s.at] == '\n' {
				s.at -= 2
				return
			}
		}
	}
}

// escaped reports whether an odd number of backslashes is before the present byte.
func (s *boundScanner) escaped() bool {
	before := s.text[:s.at]
	return s.at < len(s.text) && (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}
