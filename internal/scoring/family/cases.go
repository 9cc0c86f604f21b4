package family

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"speceval/internal/scoring"
	"speceval/internal/terminal/display"
)

// Disagreement is a case that scorer and label judge differently.
type Disagreement struct {
	Line       int    `json:"line"`
	Gold       string `json:"gold"`
	Prediction string `json:"prediction"`
	Label      bool   `json:"label"`
	Correct    bool   `json:"correct"` // as the scorer says
	Answer     string `json:"answer"`  // that it read
	Note       string `json:"note"`
}

// Outcome is the result of scoring a file of cases.
type Outcome struct {
	name          string
	Agree         int            `json:"agree"`
	Total         int            `json:"total"`
	Disagreements []Disagreement `json:"disagreements"`
}

// Try scores the labelled cases of a file: the right answer, a prediction, and
// whether it is right, with tabs between, or, where the file's name ends in
// .jsonl, as a JSON object. Empty lines are no cases, but they count as lines.
func Try(check func(gold, prediction string) (scoring.Verdict, error), name, text string) (*Outcome, error) {
	found := &Outcome{name: name, Disagreements: []Disagreement{}}
	text = strings.TrimPrefix(text, "\ufeff")
	parse, form := parseCase, "gold, prediction and true or false with tabs between"
	if strings.HasSuffix(name, ".jsonl") {
		parse, form = parseObject, objectForm
	}
	if strings.Trim(text, "\r\n") == "" {
		return nil, fmt.Errorf("%s is empty: want a line a case, %s", name, form)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			continue
		}
		d, err := parse(line)
		if !utf8.ValidString(line) {
			err = errors.New("it is not UTF-8")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		found.Total++
		v, fault := check(d.Gold, d.Prediction)
		if fault != nil {
			v.Note = fault.Error()
		}
		if v.Correct() == d.Label {
			found.Agree++
			continue
		}
		d.Line, d.Correct, d.Answer, d.Note = number, v.Correct(), v.Answer, v.Note
		found.Disagreements = append(found.Disagreements, d)
	}
	return found, nil
}

// parseCase reads a line with tabs.
func parseCase(line string) (Disagreement, error) {
	columns := strings.SplitN(line, "\t", 5)
	switch {
	case len(columns) < 3 || len(columns) > 4:
		return Disagreement{}, fmt.Errorf("it has %d columns: want gold, prediction and true or false with tabs between, and a source or nothing", 1+strings.Count(line, "\t"))
	case columns[2] != "true" && columns[2] != "false":
		return Disagreement{}, fmt.Errorf("its label is %q: want true or false", columns[2])
	}
	return Disagreement{Gold: columns[0], Prediction: columns[1], Label: columns[2] == "true"}, nil
}

const objectForm = `{"gold": "…", "prediction": "…", "label": true}`

// parseObject reads a line of JSON. The keys answer and response are the same as
// gold and prediction; others are ignored.
func parseObject(line string) (Disagreement, error) {
	var o struct {
		Gold, Answer, Prediction, Response *string
		Label                              *bool
	}
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return Disagreement{}, fmt.Errorf("%w: want %s", err, objectForm)
	}
	gold, prediction := o.Gold, o.Prediction
	if gold == nil {
		gold = o.Answer
	}
	if prediction == nil {
		prediction = o.Response
	}
	if gold == nil || prediction == nil || o.Label == nil || o.Gold != nil && o.Answer != nil || o.Prediction != nil && o.Response != nil {
		return Disagreement{}, fmt.Errorf("want gold or answer, prediction or response, and label: %s", objectForm)
	}
	return Disagreement{Gold: *gold, Prediction: *prediction, Label: *o.Label}, nil
}

// Text writes a line a disagreement, and the counts as JSON.
func (o *Outcome) Text(w io.Writer) error {
	var b bytes.Buffer // all or nothing
	for _, d := range o.Disagreements {
		read := "read nothing"
		if d.Answer != "" {
			read = fmt.Sprintf("read %q", d.Answer)
		}
		if d.Note != "" {
			read += " (" + display.EscapedLine(d.Note) + ")"
		}
		fmt.Fprintf(&b, "%s:%d: gold %q, prediction %q, label %t: scored %t, %s\n", o.name, d.Line, d.Gold, d.Prediction, d.Label, d.Correct, read)
	}
	fmt.Fprintf(&b, "{\"agree\":%d,\"total\":%d}\n", o.Agree, o.Total)
	_, err := b.WriteTo(w)
	return err
}
