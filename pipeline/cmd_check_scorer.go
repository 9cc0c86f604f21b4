package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"speceval/internal/scorer"
	"speceval/internal/scorer/family"
	"speceval/internal/spelling"
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

func checkScorerCommand() command {
	return command{
		name: "check-scorer",
		args: "SCORER FILE.tsv [--json]",
		about: "compare a scorer, " + checkable("or") + ", with labelled cases\n\n" +
			"A line is a case: the right answer, a prediction, and true or false, with tabs\n" +
			"between; a fourth column, say a source, is ignored. Space counts, and a\n" +
			"prediction may be empty. Lines that are wholly empty are skipped. Every\n" +
			"disagreement is printed, then agree and total as JSON. The exit code is 0 however\n" +
			"many there are.",
		examples: `  speceval check-scorer math cases.tsv           disagreements, then {"agree":…,"total":…}
  speceval check-scorer choice cases.tsv --json  one JSON object
  head -50 cases.tsv | speceval check-scorer math -
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.BoolVar(&o.json, "json", false, "print one JSON object, with the disagreements as a list")
		},
		run: runCheckScorer,
	}
}

// disagreement is a case that scorer and label judge differently.
type disagreement struct {
	Line       int    `json:"line"`
	Gold       string `json:"gold"`
	Prediction string `json:"prediction"`
	Label      bool   `json:"label"`
	Correct    bool   `json:"correct"` // as the scorer says
	Answer     string `json:"answer"`  // that it read
	Note       string `json:"note"`
}

// agreement is the outcome of a file of cases.
type agreement struct {
	Agree         int            `json:"agree"`
	Total         int            `json:"total"`
	Disagreements []disagreement `json:"disagreements"`
}

func runCheckScorer(s *session, words []string) error {
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
	found, err := compare(check, name, text)
	if err != nil {
		return &usageError{err}
	}
	return found.write(s.stdout, name, s.json)
}

// checker is the scorer of a name.
func checker(name string) (func(gold, prediction string) scorer.Verdict, error) {
	f, err := family.Named(name)
	switch {
	case err != nil:
		return nil, usagef("there is no scorer %q%s; %s can be tried on a file of cases", name, didYouMean(spelling.Nearest(name, family.Names())), checkable("and"))
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
		read, err = io.ReadAll(s.stdin)
	} else {
		read, err = os.ReadFile(path)
	}
	if err != nil {
		return "", "", err
	}
	text = strings.TrimPrefix(string(read), "\ufeff")
	if strings.Trim(text, "\r\n") == "" {
		return "", "", fmt.Errorf("%s is empty: want a line a case, gold, prediction and true or false with tabs between", name)
	}
	return name, text, nil
}

// compare scores every case of a text. Empty lines are none, but they count as
// lines.
func compare(check func(gold, prediction string) scorer.Verdict, name, text string) (agreement, error) {
	found := agreement{Disagreements: []disagreement{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			continue
		}
		d, err := parseCase(line)
		if err != nil {
			return found, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		found.Total++
		v := check(d.Gold, d.Prediction)
		if v.Correct == d.Label {
			found.Agree++
			continue
		}
		d.Line, d.Correct, d.Answer, d.Note = number, v.Correct, v.Answer, v.Note
		found.Disagreements = append(found.Disagreements, d)
	}
	return found, nil
}

// parseCase reads one line.
func parseCase(line string) (disagreement, error) {
	columns := strings.Split(line, "\t")
	switch {
	case !utf8.ValidString(line):
		return disagreement{}, errors.New("it is not UTF-8")
	case len(columns) < 3 || len(columns) > 4:
		return disagreement{}, fmt.Errorf("it has %d columns: want gold, prediction and true or false with tabs between, and a source or nothing", len(columns))
	case columns[2] != "true" && columns[2] != "false":
		return disagreement{}, fmt.Errorf("its label is %q: want true or false", columns[2])
	}
	return disagreement{Gold: columns[0], Prediction: columns[1], Label: columns[2] == "true"}, nil
}

// write writes a line a disagreement and the counts in JSON, or everything in
// JSON.
func (a agreement) write(w io.Writer, name string, all bool) error {
	var b bytes.Buffer // all or nothing
	var last any = a
	if !all {
		last = struct {
			Agree int `json:"agree"`
			Total int `json:"total"`
		}{a.Agree, a.Total}
		for _, d := range a.Disagreements {
			fmt.Fprintf(&b, "%s:%d: gold %q, prediction %q, label %t: scored %t, %s\n", name, d.Line, d.Gold, d.Prediction, d.Label, d.Correct, d.read())
		}
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(last); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// read says what the scorer read of the prediction.
func (d disagreement) read() string {
	text := "read nothing"
	if d.Answer != "" {
		text = fmt.Sprintf("read %q", d.Answer)
	}
	if d.Note != "" {
		text += " (" + d.Note + ")"
	}
	return text
}
