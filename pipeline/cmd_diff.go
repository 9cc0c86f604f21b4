package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"speceval/internal/phrase"
	"speceval/stages/report/diff"
	"speceval/stages/report/files"
)

// diffOptions are the flags of diff.
type diffOptions struct{ json, all bool }

func diffCommand() command {
	o := new(diffOptions)
	return command{
		name: "diff",
		args: "A B [--json] [--all]",
		about: "compare the tables of two output folders, cell by cell; exit 4 if any changed beyond noise\n\n" +
			"A number has changed beyond noise if it differs by more than 3 standard errors\n" +
			"of the difference, from the errors stored beside it, or at all if it has none;\n" +
			"names, and tables, rows or columns that one folder alone has, count likewise.\n" +
			"Changes of the errors themselves are shown, not judged.",
		examples: `  speceval diff out out-before          what a change of the code or the configuration did to the numbers
  speceval diff out out-seed7 --all     every changed cell, errors among them
  speceval diff out out-before --json   one JSON document
`,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON document, with every changed cell")
			fs.BoolVar(&o.all, "all", false, "list every changed cell")
		},
		run: o.run,
	}
}

func (o *diffOptions) run(s *session, words []string) error {
	if err := wantWords(words, 2, 2, "two output folders"); err != nil {
		return err
	}
	d, err := diff.Folders(words[0], words[1])
	var none *files.NoFolderError
	if errors.As(err, &none) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if o.json {
		err = d.JSON(s.stdout)
	} else {
		err = d.Text(s.stdout, o.all)
	}
	if err != nil {
		return err
	}
	if !d.Same() {
		if _, _, beyond := d.Cells(); beyond > 0 {
			return fmt.Errorf("%w: %s beyond noise", errOutside, phrase.Count(beyond, "cell changed", "cells changed"))
		}
		return fmt.Errorf("%w: the folders do not have the same tables, rows and columns", errOutside)
	}
	return nil
}
