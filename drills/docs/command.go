package main

import (
	"fmt"
	"strings"
)

// command is a command of a page, as a user would type it.
type command struct {
	page  string
	line  int
	text  string   // as it stands, comments left out, one space between its words
	words []string // without quotes
}

// at says where a command is, for people.
func (c command) at() string { return fmt.Sprintf("%s:%d", c.page, c.line) }

// commands parts a block of shell into its commands: a line each, or more where
// one ends in a backslash or within quotes.
func (b block) commands() ([]command, error) {
	var all []command
	text, first := "", b.line
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		if text == "" {
			first = b.line + i
		}
		text += line
		raw, words, open := split(text)
		if open {
			text += "\n"
			continue
		}
		if len(words) > 0 {
			all = append(all, command{b.page, first, strings.Join(raw, " "), words})
		}
		text = ""
	}
	if text != "" {
		return nil, fmt.Errorf("%s:%d: the command is not closed", b.page, first)
	}
	return all, nil
}

// split parts a line of shell into words, as they stand and without their quotes,
// up to a comment. It is open if quotes are, or if it ends in a backslash.
func split(line string) (raw, words []string, open bool) {
	var asIs, word strings.Builder
	quote := rune(0)
	end := func() {
		if asIs.Len() > 0 {
			raw, words = append(raw, asIs.String()), append(words, word.String())
		}
		asIs.Reset()
		word.Reset()
	}
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'':
			if i+1 == len(runes) {
				return raw, words, true
			}
			i++
			if runes[i] == '\n' {
				continue
			}
			asIs.WriteRune('\\')
			asIs.WriteRune(runes[i])
			word.WriteRune(runes[i])
		case quote != 0:
			asIs.WriteRune(r)
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			asIs.WriteRune(r)
			quote = r
		case r == ' ' || r == '\t' || r == '\n':
			end()
		case r == '#' && asIs.Len() == 0:
			return raw, words, false
		default:
			asIs.WriteRune(r)
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return raw, words, true
	}
	end()
	return raw, words, false
}

// program is the word of a command that names what is run, and the words after it
// up to a pipe or a redirection; variables that are set before it are left out.
func (c command) program() (name string, args []string) {
	words := c.words
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 {
		return "", nil
	}
	for i, word := range words[1:] {
		if word == "|" || word == ">" || word == ">>" || word == "<" || word == "&&" {
			return words[0], words[1 : i+1]
		}
	}
	return words[0], words[1:]
}

// ours tells whether a command runs the program, and which of its commands.
func (c command) ours() (subcommand string, args []string, yes bool) {
	name, args := c.program()
	if name != "bin/speceval" && name != "speceval" {
		return "", nil, false
	}
	if len(args) == 0 {
		return "", nil, true
	}
	return args[0], args[1:], true
}
