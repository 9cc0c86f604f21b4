package report

import (
	"fmt"
	"io"
	"math"

	"speceval/internal/table"
)

// JSON writes the verdicts as one object: published, passed, agree, total,
// missing, summary, cells.
func (v Verdicts) JSON(w io.Writer) error {
	return writeJSON(w, struct {
		Verdicts
		Passed  bool   `json:"passed"`
		Agree   int    `json:"agree"`
		Total   int    `json:"total"`
		Missing int    `json:"missing"`
		Summary string `json:"summary"`
	}{v, v.Passed(), v.Agreeing(), v.Judged(), v.Missing(), v.Summary()})
}

// Text writes the verdicts for a terminal: a block for each table of the
// paper, what the columns mean, Tables 1 to 4 beside the paper's, and the
// verdict in one line.
func (v Verdicts) Text(w io.Writer) error {
	for start := 0; start < len(v.Cells); {
		end := start
		for end < len(v.Cells) && v.Cells[end].Table == v.Cells[start].Table {
			end++
		}
		if err := table.WriteText(w, block(v.Cells[start:end])); err != nil {
			return err
		}
		fmt.Fprintln(w)
		start = end
	}
	fmt.Fprint(w, v.legend())
	overviews := []table.Table{v.overview()}
	for _, kind := range costKinds {
		overviews = append(overviews, v.costOverview(kind))
	}
	for _, overview := range overviews {
		if len(overview.Rows) == 0 {
			continue
		}
		if err := table.WriteText(w, overview); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if v.Skipped != "" {
		fmt.Fprintln(w, v.Skipped)
	}
	_, err := fmt.Fprintln(w, v.Summary())
	return err
}

const legend = `s.e.: Monte Carlo standard error of the difference; the paper's run has noise
of the same size. SEs: distance from what prints as the paper's number, in such
standard errors; up to 3 agree within noise. Means of Table 1 agree within
0.001 whatever the noise. A tie is another choice of ours (m, alpha, profile)
than the paper's, which under our own numbers is no worse beyond noise.
Published rows of Tables 2 to 4 must print as the paper's. Simulated rows agree
within 4 percentage points of time at b = 8 and 1.5 above, 0.55 and 0.05 of
wasted FLOPs, 0.5 of useful FLOPs, and 0.1 extra rollouts a task; there s.e. is
by how much one suite, as the published one is, differs from our mean by chance,
and SEs counts from the tolerance. Measured rows are of other machines: they are
shown, not judged.

`

// legend says what the columns mean, of the cells that there are.
func (v Verdicts) legend() string {
	text := ""
	if v.Published {
		text = legend
	}
	if _, live := v.sides(); len(live.Cells) > 0 {
		text += liveLegend
	}
	return text
}

// block is the verdicts on one table as a table.
func block(cells []Cell) table.Table {
	all := Verdicts{Cells: cells}
	t := table.Table{Title: fmt.Sprintf("%s (%d of %d agree)", cells[0].Table, all.Agreeing(), all.Judged())}
	obtained, expected := cells[0].sides()
	for _, head := range []string{"row", "column", obtained, expected, "difference", "s.e.", "SEs", "verdict"} {
		t.Columns = append(t.Columns, table.Column{Name: head})
	}
	for _, left := range []int{0, 1, 7} {
		t.Columns[left].Align = table.Left
	}
	for _, c := range cells {
		t.Rows = append(t.Rows, c.line())
	}
	return t
}

// line is a cell as a row of text. A cell has its own decimals, those of the
// paper's number and two more, so it is rounded here, at the edge.
func (c Cell) line() []table.Cell {
	verdict := string(c.Verdict)
	if c.Note != "" {
		verdict += ": " + c.Note
	}
	more := c.decimals
	if c.decimals >= 3 || c.decimals > 0 && c.SE != nil {
		more += 2
	}
	errors := c.decimals + 2
	if c.Live {
		more, errors = c.decimals, c.decimals
	}
	obtained, paper := rounded(c.Obtained, more, ""), rounded(c.expected(), c.decimals, "")
	if c.PaperName != "" {
		paper = table.Text(c.PaperName)
		obtained = table.Text(c.ObtainedName)
		if c.ObtainedName == "" {
			obtained = table.Missing()
		}
	}
	return []table.Cell{table.Text(c.Row), table.Text(c.Column), obtained, paper,
		rounded(c.Difference, more, "+"), rounded(c.SE, errors, ""), rounded(c.SEs, 1, ""),
		table.Text(verdict)}
}

// rounded is a number with its own decimals, with a plus sign if asked for.
func rounded(v *float64, decimals int, plus string) table.Cell {
	if v == nil {
		return table.Missing()
	}
	// Half a unit below zero prints as 0, not −0.
	if math.Abs(*v) < 0.5*math.Pow(10, float64(-decimals)) {
		plus = ""
		v = new(float64)
	}
	return table.Text(fmt.Sprintf("%"+plus+".*f", decimals, *v))
}
