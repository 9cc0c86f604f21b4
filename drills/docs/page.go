package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// page is a document of the repository: its text outside of blocks, and these.
type page struct {
	name   string // "docs/outputs.md"
	prose  string
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

// parsePage parts a page into prose and blocks. A fence is three backticks at the
// beginning of a line; one that is not closed is an error.
func parsePage(name, text string) (page, error) {
	p := page{name: name}
	var prose []string
	var open *block
	var inside []string
	for i, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case open == nil && fence:
			open, inside = &block{page: name, line: i + 2, lang: lang}, nil
		case open == nil:
			prose = append(prose, line)
		case fence:
			open.text = strings.Join(inside, "\n") + "\n"
			p.blocks = append(p.blocks, *open)
			open = nil
			prose = append(prose, "")
		default:
			inside = append(inside, line)
		}
	}
	if open != nil {
		return page{}, fmt.Errorf("%s: the block at line %d is not closed", name, open.line)
	}
	p.prose = strings.Join(prose, "\n")
	return p, nil
}
