package comparison

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"speceval/internal/display"
	"speceval/internal/rollout"
	"speceval/internal/table"
)

// Text is a Writer for people.
func Text(w io.Writer) Writer { return &text{w} }

type text struct{ w io.Writer }

// said is a verdict in a word, or its reward.
func said(s *rollout.Score) string {
	switch s.Reward() {
	case 0:
		return "wrong"
	case 1:
		return "right"
	}
	return fmt.Sprintf("%.3g", s.Reward())
}

func (t *text) One(d *Overturned) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, task %s, rollout %d: %s → %s\n", d.New.Benchmark, d.New.Model,
		display.EscapedLine(d.New.TaskID), d.New.Rollout, said(d.Old), said(d.New))
	for _, v := range []struct {
		word  string
		score *rollout.Score
	}{{"old", d.Old}, {"new", d.New}} {
		fmt.Fprintf(&b, "  %s  %s read %q", v.word, display.EscapedLine(v.score.Scorer), v.score.Answer)
		if v.score.Note != "" {
			fmt.Fprintf(&b, " (%s)", display.EscapedLine(v.score.Note))
		}
		b.WriteByte('\n')
	}
	if d.Text != nil {
		for line := range strings.Lines(ending(*d.Text)) {
			fmt.Fprintf(&b, "  │ %s\n", display.EscapedLine(strings.TrimRight(line, "\r\n")))
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(t.w, b.String())
	return err
}

// What is shown of a response.
const (
	endingLines = 10
	endingBytes = 600
)

// ending is the end of a text, with an ellipsis where something is left out.
func ending(text string) string {
	end := strings.TrimRightFunc(text, unicode.IsSpace)
	from := max(0, len(end)-endingBytes)
	for from < len(end) && !utf8.RuneStart(end[from]) {
		from++
	}
	lines := strings.Split(end[from:], "\n")
	last := strings.Join(lines[max(0, len(lines)-endingLines):], "\n")
	if len(last) < len(end) {
		last = "…" + last
	}
	return last
}

func (t *text) Sum(d *Summary) error {
	if len(d.changes) == 0 {
		_, err := fmt.Fprintf(t.w, "%s and %s have no rollout in common\n\n", d.files.Old, d.files.New)
		return err
	}
	grid := table.Table{
		Title: fmt.Sprintf("%s %s: %s (old) and %s (new)", d.benchmark, d.model, d.files.Old, d.files.New),
		Columns: []table.Column{
			{Name: "old scorer", Align: table.Left}, {Name: "new scorer", Align: table.Left},
			{Name: "compared"}, {Name: "right → wrong"}, {Name: "wrong → right"},
		},
	}
	if d.graded {
		grid.Columns[3].Name, grid.Columns[4].Name = "less reward", "more reward"
	}
	for _, by := range d.byScorers() {
		c := d.changes[by]
		grid.Rows = append(grid.Rows, []table.Cell{table.Text(display.EscapedLine(by.Old)), table.Text(display.EscapedLine(by.New)),
			table.Integer(c.compared), table.Integer(c.toWrong), table.Integer(c.toRight)})
	}
	total := d.total()
	if all := total.toWrong + total.toRight; all > d.listed {
		grid.Notes = append(grid.Notes, fmt.Sprintf("Listed are %d of %d: -n 0 lists all.", d.listed, all))
	}
	if d.onlyOld+d.onlyNew > 0 {
		grid.Notes = append(grid.Notes, fmt.Sprintf("Not compared: rollouts that only one file has, %d of the old one and %d of the new.", d.onlyOld, d.onlyNew))
	}
	if d.missing {
		grid.Notes = append(grid.Notes, fmt.Sprintf("Without responses: %s has none.", d.responses))
	}
	if err := table.WriteText(t.w, grid); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.w)
	return err
}

// JSON is a Writer of an object a line.
func JSON(w io.Writer) Writer {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &lines{out}
}

type lines struct{ out *json.Encoder }

// verdictJSON is what one scorer says.
type verdictJSON struct {
	Correct bool   `json:"correct"`
	Answer  string `json:"answer"`
	Scorer  string `json:"scorer"`
	Note    string `json:"note"`

	Reward float64 `json:"reward,omitempty"` // between 0 and 1
}

// oneJSON is the line of an overturned verdict.
type oneJSON struct {
	Benchmark string      `json:"benchmark"`
	Model     string      `json:"model"`
	TaskIndex int32       `json:"task_index"`
	TaskID    string      `json:"task_id"`
	Rollout   int32       `json:"rollout"`
	Old       verdictJSON `json:"old"`
	New       verdictJSON `json:"new"`
	Text      *string     `json:"text"` // null: the response is not there
}

func (j *lines) One(d *Overturned) error {
	verdict := func(s *rollout.Score) verdictJSON {
		return verdictJSON{s.Correct, s.Answer, s.Scorer, s.Note, s.Partial}
	}
	return j.out.Encode(oneJSON{
		d.New.Benchmark, d.New.Model, d.New.TaskIndex, d.New.TaskID, d.New.Rollout,
		verdict(d.Old), verdict(d.New), d.Text,
	})
}

// sumJSON is the line that ends those of two files.
type sumJSON struct {
	Summary struct {
		Benchmark string        `json:"benchmark"`
		Model     string        `json:"model"`
		Old       string        `json:"old"` // file
		New       string        `json:"new"`
		OnlyOld   int           `json:"only_old"` // rollouts
		OnlyNew   int           `json:"only_new"`
		Listed    int           `json:"listed"`
		Scorers   []scorersJSON `json:"scorers"`
	} `json:"summary"`
}

type scorersJSON struct {
	Old      string `json:"old"`
	New      string `json:"new"`
	Compared int    `json:"compared"`
	ToWrong  int    `json:"right_to_wrong"`
	ToRight  int    `json:"wrong_to_right"`
}

func (j *lines) Sum(d *Summary) error {
	var line sumJSON
	s := &line.Summary
	s.Benchmark, s.Model, s.Old, s.New = d.benchmark, d.model, d.files.Old, d.files.New
	s.OnlyOld, s.OnlyNew, s.Listed, s.Scorers = d.onlyOld, d.onlyNew, d.listed, []scorersJSON{}
	for _, by := range d.byScorers() {
		c := d.changes[by]
		s.Scorers = append(s.Scorers, scorersJSON{by.Old, by.New, c.compared, c.toWrong, c.toRight})
	}
	return j.out.Encode(line)
}
