package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/atomicfile"
	"speceval/internal/manpage"
	"speceval/internal/version"
	"speceval/pipeline/config"
)

func helpCommand() command {
	return command{
		name:     "help",
		args:     "[COMMAND]",
		about:    "list the commands, or show the examples and flags of one",
		examples: "  speceval help\n  speceval help run\n  speceval help evaluate plan\n",
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 2, "one command at most"); err != nil {
				return err
			}
			if len(words) == 0 {
				return usage(s.stdout)
			}
			c, err := find(words)
			if err != nil {
				return err
			}
			return c.help(s.stdout, strings.Join(words, " "))
		},
	}
}

func versionCommand() command {
	asJSON := false
	return command{
		name:     "version",
		about:    "print the version, and the commit and compiler that this program was built from",
		examples: "  speceval version\n  speceval version --json\n",
		flags:    func(fs *pflag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "print it as JSON") },
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			build := version.Build{
				Version: version.Tag, Commit: s.origin.Commit, Changed: s.origin.Dirty, Date: s.date,
				Go: s.origin.GoVersion, System: runtime.GOOS, Machine: runtime.GOARCH,
			}
			text := build.String()
			if asJSON {
				text = build.JSON()
			}
			_, err := fmt.Fprintln(s.stdout, text)
			return err
		},
	}
}

// schemaCommand is what editors and `make dist` have the schema from.
func schemaCommand() command {
	return command{
		name:     "schema",
		about:    "print the JSON Schema of experiments.toml, for editors",
		examples: "  speceval schema > experiments.schema.json\n",
		hidden:   true,
		run: func(s *session, words []string) error {
			if err := wantWords(words, 0, 0, "nothing"); err != nil {
				return err
			}
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = s.stdout.Write(text)
			return err
		},
	}
}

// shells are those that completion knows.
var shells = []string{"bash", "zsh", "fish"}

func completionCommand() command {
	return command{
		name:  "completion",
		args:  "SHELL",
		about: "print a script by which bash, zsh or fish completes commands, flags, stages and tables",
		examples: `  speceval completion bash > ~/.local/share/bash-completion/completions/speceval
  speceval completion zsh > "${fpath[1]}/_speceval"
  speceval completion fish > ~/.config/fish/completions/speceval.fish
`,
		complete: func(*session, []string) []string { return shells },
		run: func(s *session, words []string) error {
			if err := wantWords(words, 1, 1, "a shell"); err != nil {
				return err
			}
			switch words[0] {
			case "bash":
				return s.root.GenBashCompletionV2(s.stdout, true)
			case "zsh":
				return s.root.GenZshCompletion(s.stdout)
			case "fish":
				return s.root.GenFishCompletion(s.stdout, true)
			}
			return usagef("completion of %s is not known: want bash, zsh or fish", words[0])
		},
	}
}

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
			top := manpage.Page{Name: "speceval", About: "speculative evaluation of language models", Usage: "speceval [--config FILE] [--out DIR] [-q] COMMAND …", Options: command{}.flagList()}
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
func manuals(all []command, path string) (pages []manpage.Page) {
	for _, c := range all {
		if c.hidden {
			continue
		}
		words := path + " " + c.name
		pages = append(pages, manpage.Page{
			Name: manpage.Name(words), About: c.line(), Usage: strings.TrimSpace(words + " " + c.args), Text: c.about, Examples: c.examples, Options: c.flagList(), See: []string{"speceval"},
		})
		pages = append(pages, manuals(c.subs, words)...)
	}
	return pages
}
