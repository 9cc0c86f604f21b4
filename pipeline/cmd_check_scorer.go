package main

import (
	"github.com/spf13/cobra"

	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
	"speceval/internal/store/files"
	"speceval/internal/terminal/display"
)

// checkable lists the scorers that a file of cases can try.
func checkable() string {
	var names []string
	for _, f := range family.All() {
		if f.Need.Unchecked == "" {
			names = append(names, f.Name)
		}
	}
	return display.And(names)
}

func (s *session) checkScorerCommand() *cobra.Command {
	return s.jsonFlag(&cobra.Command{
		Use: "check-scorer SCORER FILE", Short: "compare a scorer with labelled cases", Args: cobra.ExactArgs(2),
		Long: "Compare a scorer with labelled cases. " + checkable() + ` can be tried so.

A line is a case: the right answer, a prediction, and true or false, with tabs
between; a fourth column is ignored. In a file whose name ends in .jsonl it is an
object with gold (or answer), prediction (or response) and label. Every disagreement
is printed, then agree and total as JSON. The exit code is 0 however many there are.`,
		Example: `  speceval check-scorer math cases.tsv           disagreements, then {"agree":…,"total":…}
  speceval check-scorer choice cases.tsv --json  one JSON object
  head -50 cases.tsv | speceval check-scorer math -`,
		RunE: func(_ *cobra.Command, words []string) error {
			check, err := checker(words[0])
			if err != nil {
				return err
			}
			name, text, err := s.readCases(words[1])
			if err != nil {
				return usage(err)
			}
			found, err := family.Try(check, name, text)
			if err != nil {
				return usage(err)
			}
			return s.print(found)
		},
	})
}

// checker is the scorer of a name.
func checker(name string) (func(gold, prediction string) (scoring.Verdict, error), error) {
	f, err := family.Named(name)
	switch {
	case err != nil:
		return nil, usagef("there is no scorer %q%s; %s can be tried on a file of cases", name, didYouMean(name, family.Names()), checkable())
	case f.Need.Unchecked != "":
		return nil, usagef("scorer %s cannot be tried on a file of cases: %s; %s can", name, f.Need.Unchecked, checkable())
	}
	return f.Check, nil
}

// readCases reads a file, or standard input for "-", and names it.
func (s *session) readCases(path string) (name, text string, err error) {
	if path == "-" {
		read, err := files.ReadAll(s.stdin, "standard input", files.Cases)
		return "standard input", string(read), err
	}
	read, err := files.ReadInput(path, files.Cases)
	return path, string(read), err
}
