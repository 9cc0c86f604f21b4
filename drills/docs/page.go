package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// page is a document of the repository, by the blocks between its fences.
type page struct {
	name   string // "docs/outputs.md"
	blocks []block
}

// block is what stands between two fences.
type block struct {
	page string
	line int    // of its first line of text
	lang string // "sh", "toml" …, as the fence says
	text string
}

// at says where a block is, for people.
func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// readPages reads the README and the pages of docs/.
func readPages(root string) ([]page, error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var pages []page
	for _, path := range slices.Concat([]string{filepath.Join(root, "README.md")}, names) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		p, err := parsePage(filepath.ToSlash(name), string(text))
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// parsePage reads the blocks of a page. A fence is three backticks at the beginning of
// a line; one that is not closed is an error.
func parsePage(name, text string) (page, error) {
	p := page{name: name}
	var open *block
	for i, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case open == nil && fence:
			open = &block{page: name, line: i + 2, lang: lang}
		case open == nil:
		case fence:
			p.blocks = append(p.blocks, *open)
			open = nil
		default:
			open.text += line + "\n"
		}
	}
	if open != nil {
		return page{}, fmt.Errorf("%s: the block at line %d is not closed", name, open.line)
	}
	return p, nil
}

// first is the text of a page's first block of a language.
func (p page) first(lang string) (text string, ok bool) {
	i := slices.IndexFunc(p.blocks, func(b block) bool { return b.lang == lang })
	if i < 0 {
		return "", false
	}
	return p.blocks[i].text, true
}

// command is a command of a page, as a user would type it.
type command struct {
	page  string
	line  int
	text  string   // as it stands, comments left out, one space between its words
	words []string // without quotes
}

// at says where a command is, for people.
func (c command) at() string { return fmt.Sprintf("%s:%d", c.page, c.line) }

// commands splits a block of shell into its commands: a line each, or more where
// one ends in a backslash or within quotes. Other blocks have none.
func (b block) commands() ([]command, error) {
	if b.lang != "sh" {
		return nil, nil
	}
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
