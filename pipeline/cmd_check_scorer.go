package main

import (
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/display"
	"speceval/internal/files"
	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
)

// checkable lists the scorers that a file of cases can try.
func checkable(before string) string {
	var names []string
	for _, f := range family.All() {
		if f.Check != nil {
			names = append(names, f.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + before + " " + names[last]
}

// checkScorerOptions are the flags of check-scorer.
type checkScorerOptions struct{ json bool }

func checkScorerCommand() command {
	o := new(checkScorerOptions)
	return command{
		name: "check-scorer",
		args: "SCORER FILE [--json]",
		about: "compare a scorer, " + checkable("or") + ", with labelled cases\n\n" +
			"A line is a case: the right answer, a prediction, and true or false, with tabs\n" +
			"between; a fourth column, say a source, is ignored. In a file whose name ends in\n" +
			".jsonl it is an object with gold (or answer), prediction (or response) and label,\n" +
			"whose texts may have line breaks. Space counts, and a prediction may be empty.\n" +
			"Empty lines are skipped. Every disagreement is printed, then agree and total as\n" +
			"JSON. The exit code is 0 however many there are.",
		examples: `  speceval check-scorer math cases.tsv           disagreements, then {"agree":…,"total":…}
  speceval check-scorer choice cases.tsv --json  one JSON object
  speceval check-scorer math cases.jsonl         predictions of several lines
  head -50 cases.tsv | speceval check-scorer math -
`,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON object, with the disagreements as a list")
		},
		run: o.run,
	}
}

func (o *checkScorerOptions) run(s *session, words []string) error {
	if err := wantWords(words, 2, 2, "a scorer and a file"); err != nil {
		return err
	}
	check, err := checker(words[0])
	if err != nil {
		return err
	}
	name, text, err := s.readCases(words[1])
	if err != nil {
		return &usageError{err}
	}
	found, err := family.Try(check, name, text)
	if err != nil {
		return &usageError{err}
	}
	if o.json {
		return found.JSON(s.stdout)
	}
	return found.Text(s.stdout)
}

// checker is the scorer of a name.
func checker(name string) (func(gold, prediction string) scoring.Verdict, error) {
	f, err := family.Named(name)
	switch {
	case err != nil:
		return nil, usagef("there is no scorer %q%s; %s can be tried on a file of cases", name, didYouMean(display.Nearest(name, family.Names())), checkable("and"))
	case f.Check == nil:
		return nil, usagef("scorer %s cannot be tried on a file of cases: %s; %s can", name, f.Unchecked, checkable("and"))
	}
	return f.Check, nil
}

// readCases reads a file, or standard input for "-", and names it.
func (s *session) readCases(path string) (name, text string, err error) {
	var read []byte
	if name = path; path == "-" {
		name = "standard input"
		read, err = files.ReadAll(s.stdin, name, files.Cases)
	} else {
		read, err = files.ReadInput(path, files.Cases)
	}
	return name, string(read), err
}
