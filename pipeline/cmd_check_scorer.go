package main

import (
	"io"
	"os"

	"github.com/spf13/pflag"

	"speceval/internal/scorer"
	"speceval/internal/scorer/cases"
	"speceval/internal/scorer/choice"
	"speceval/internal/scorer/maths"
	"speceval/internal/spelling"
)

// checkers score a prediction beside the right answer, by the names of scorers
// that need nothing else.
var checkers = map[string]func(gold, prediction string) scorer.Verdict{
	"math":   maths.Check,
	"choice": choice.Check,
}

// unchecked says of the other scorers why a file of cases cannot try them.
var unchecked = map[string]string{
	"judge": "it asks a judge model on a server, and needs the question as well",
	"code":  "it runs programs against the tests of a task, which a line cannot hold",
}

// checkScorerOptions are the flags of check-scorer.
type checkScorerOptions struct{ json bool }

func checkScorerCommand() command {
	o := new(checkScorerOptions)
	return command{
		name: "check-scorer",
		args: "SCORER FILE.tsv [--json]",
		about: "compare a scorer, math or choice, with labelled cases\n\n" +
			"A line is a case: the right answer, a prediction, and true or false, with tabs\n" +
			"between; a fourth column, say a source, is ignored. Space counts, and a\n" +
			"prediction may be empty. Lines that are wholly empty are skipped. Every\n" +
			"disagreement is printed, then agree and total as JSON. The exit code is 0 however\n" +
			"many there are.",
		examples: `  speceval check-scorer math cases.tsv           disagreements, then {"agree":…,"total":…}
  speceval check-scorer choice cases.tsv --json  one JSON object
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
	found, err := cases.Try(check, name, text)
	if err != nil {
		return &usageError{err}
	}
	if o.json {
		return found.JSON(s.stdout)
	}
	return found.Text(s.stdout)
}

// checker is the scorer of a name.
func checker(name string) (func(gold, prediction string) scorer.Verdict, error) {
	if check, known := checkers[name]; known {
		return check, nil
	}
	if why, known := unchecked[name]; known {
		return nil, usagef("scorer %s cannot be tried on a file of cases: %s; math and choice can", name, why)
	}
	meant := spelling.Nearest(name, []string{"math", "choice", "judge", "code"})
	return nil, usagef("there is no scorer %q%s; math and choice can be tried on a file of cases", name, didYouMean(meant))
}

// readCases reads a file, or standard input for "-", and names it.
func (s *session) readCases(path string) (name, text string, err error) {
	var read []byte
	if name = path; path == "-" {
		name = "standard input"
		read, err = io.ReadAll(s.stdin)
	} else {
		read, err = os.ReadFile(path)
	}
	return name, string(read), err
}
