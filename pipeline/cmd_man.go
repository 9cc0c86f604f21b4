package main

import (
	"io"
	"path/filepath"
	"strings"

	"speceval/internal/atomicfile"
	"speceval/internal/display"
)

// manCommand is what `make dist` calls.
func manCommand() command {
	return command{
		name:     "man",
		args:     "DIR",
		about:    "write a manual page of every command into a folder",
		examples: "  speceval man dist/man/man1\n",
		hidden:   true,
		run: func(s *session, words []string) error {
			if err := wantWords(words, 1, 1, "a folder"); err != nil {
				return err
			}
			top := display.ManPage{Name: "speceval", About: "speculative evaluation of language models", Usage: "speceval [--config FILE] [--out DIR] [-q] COMMAND …", Options: command{}.flagList()}
			pages := manuals(commands(), "speceval")
			for _, p := range pages {
				top.See = append(top.See, p.Name)
			}
			for _, p := range append(pages, top) {
				path := filepath.Join(words[0], p.Name+".1")
				if err := atomicfile.Write(path, func(w io.Writer) error { return p.Write(w) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manuals are the pages of commands below some words.
func manuals(all []command, path string) (pages []display.ManPage) {
	for _, c := range all {
		if c.hidden {
			continue
		}
		words := path + " " + c.name
		pages = append(pages, display.ManPage{
			Name: display.ManPageName(words), About: c.line(), Usage: strings.TrimSpace(words + " " + c.args), Text: c.about, Examples: c.examples, Options: c.flagList(), See: []string{"speceval"},
		})
		pages = append(pages, manuals(c.subs, words)...)
	}
	return pages
}
