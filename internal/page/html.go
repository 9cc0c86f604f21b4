package page

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/internal/display"
)

//go:embed page.html.tmpl parts.html.tmpl run.html.tmpl
var templates embed.FS

//go:embed page.css
var style string

//go:embed page.js
var script string

// mostLongest is how many of the longest units are listed.
const mostLongest = 10

// lanes is how many colours the timeline has for stages.
const lanes = 5

// view is a page as the templates walk it.
type view struct {
	Page
	Policy        string
	Style, Script template.HTML
	Summary       *viewSummary
	Tables        []viewTable
	Timeline      viewTimeline
	StageRows     []stageRow
	Hosts         []hostRow // none where there is one
	Longest       []Bar
	Queued        bool // some unit waited for a machine
	Aggregated    bool // some stage has too many units for bars
	MostDrawn     int
	Changed       int // settings that differ from the defaults
}

// viewTimeline has the sizes as the drawing takes them.
type viewTimeline struct {
	timeline
	W, H, Foot string
}

// stageRow is a stage with what its units took.
type stageRow struct {
	Stage
	Ran         bool
	First, Last time.Time
	used
}

// hostRow is a host with what its units took.
type hostRow struct {
	Name  string
	Units int
	used
}

// used is what units took together.
type used struct {
	Wall, CPU float64
	Peak      int64
	Waits     int     // units that waited for a machine
	Waited    float64 // seconds, of all of these
	Longest   float64 // of one
}

func (u *used) add(b Bar) {
	u.Wall, u.CPU, u.Peak = u.Wall+b.Wall, u.CPU+b.CPU, max(u.Peak, b.PeakBytes)
	if b.Wait != nil {
		u.Waits++
		u.Waited, u.Longest = u.Waited+b.Wait.Seconds, max(u.Longest, b.Wait.Seconds)
	}
}

// Share is the CPU time as a part of the whole: "97%".
func (u used) Share() string { return share(u.CPU, u.Wall) }

// Queue is the mean time in the queue and the longest; empty where nothing waited.
func (u used) Queue() string {
	if u.Waits == 0 {
		return ""
	}
	return Duration(u.Waited/float64(u.Waits)) + ", up to " + Duration(u.Longest)
}

// Share is the unit's CPU time as a part of its time.
func (b Bar) Share() string { return share(b.CPU, b.Wall) }

// Write writes the page: one HTML file that asks for nothing else, and that
// forbids itself to. Text from outside turns no other around. The same page gives the same
// bytes.
func Write(w io.Writer, p Page) error {
	parsed, err := template.New("page.html.tmpl").Funcs(template.FuncMap{
		"short": short, "duration": Duration, "moment": moment, "megabytes": megabytes,
		"lane": func(i int) int { return i % lanes },
	}).ParseFS(templates, "*.tmpl")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(display.NewEscapingWriter(w))
	if err := parsed.Execute(out, newView(p)); err != nil {
		return err
	}
	return out.Flush()
}

func newView(p Page) view {
	v := view{Page: p, Policy: policy(), Longest: longestBars(p.Run.Bars), Hosts: hostRows(p.Run.Bars), MostDrawn: mostDrawn}
	v.Style = template.HTML("<style>\n" + style + "</style>")
	v.Script = template.HTML("<script>" + script + "</script>")
	for i, t := range p.Tables {
		v.Tables = append(v.Tables, newViewTable(i+1, t))
	}
	v.Summary = newViewSummary(p.Summary, v.Tables)
	t := newTimeline(p.Run)
	v.Timeline = viewTimeline{t, px(t.Width + 4), px(t.Height), px(t.Height - laneGap/2)}
	for _, l := range t.Lanes {
		v.Queued = v.Queued || l.Waits != ""
		v.Aggregated = v.Aggregated || len(l.Areas) > 0
		for _, a := range l.Areas {
			v.Queued = v.Queued || a.Waiting
		}
	}
	for _, s := range p.Run.Stages {
		v.StageRows = append(v.StageRows, newStageRow(s, p.Run.Bars))
	}
	for _, s := range p.Settings {
		if s.Default != "" {
			v.Changed++
		}
	}
	return v
}

// policy forbids the page everything but its own styles and its one script.
func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
}

func newStageRow(s Stage, bars []Bar) stageRow {
	row := stageRow{Stage: s}
	for _, b := range bars {
		if b.Stage != s.Name {
			continue
		}
		if !row.Ran || b.Start.Before(row.First) {
			row.First = b.Start
		}
		if b.end().After(row.Last) {
			row.Last = b.end()
		}
		row.Ran = true
		row.add(b)
	}
	return row
}

// hostRows is what was taken on each host; none where there is one.
func hostRows(bars []Bar) []hostRow {
	names := hostsOf(bars)
	if len(names) < 2 {
		return nil
	}
	rows := make([]hostRow, len(names))
	for i, name := range names {
		rows[i].Name = cmp.Or(name, "unknown")
	}
	for _, b := range bars {
		i, _ := slices.BinarySearch(names, b.Host)
		rows[i].Units++
		rows[i].add(b)
	}
	return rows
}

// longestBars is the units that took the longest, the longest first.
func longestBars(bars []Bar) []Bar {
	all := slices.Clone(bars)
	slices.SortFunc(all, func(a, b Bar) int {
		return cmp.Or(cmp.Compare(b.Wall, a.Wall), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Unit, b.Unit))
	})
	return all[:min(mostLongest, len(all))]
}

// short is the beginning of a hash, enough to tell it from others.
func short(hash string) string { return hash[:min(12, len(hash))] }

// moment is a time to the second, in UTC; nothing of the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func megabytes(bytes int64) string {
	return strconv.FormatInt((bytes+500_000)/1_000_000, 10) + " MB"
}

// Body is the rows of the table. A template would take ten times as long, and
// long tables have thousands of cells.
func (t viewTable) Body() template.HTML {
	var b markup
	for _, line := range t.Lines {
		b.raw("<tr")
		b.attribute("data-r", line.Label)
		b.raw(">")
		for _, key := range line.Keys {
			b.key(key)
		}
		for _, c := range line.Cells {
			b.cell(c)
		}
		b.raw("</tr>\n")
	}
	return template.HTML(b.String())
}

// markup is HTML in the making.
type markup struct{ strings.Builder }

// raw adds markup of our own.
func (b *markup) raw(html string) { b.WriteString(html) }

// text adds somebody's words.
func (b *markup) text(words string) { b.WriteString(template.HTMLEscapeString(words)) }

// attribute adds an attribute, if it has a value.
func (b *markup) attribute(name, value string) {
	if value != "" {
		b.raw(" " + name + `="`)
		b.text(value)
		b.raw(`"`)
	}
}

func (b *markup) key(k viewKey) {
	b.raw(`<th scope="` + k.Scope + `"`)
	if k.First {
		b.raw(` class="first"`)
	}
	if k.Span > 1 {
		b.raw(` rowspan="` + strconv.Itoa(k.Span) + `"`)
	}
	b.raw(">")
	b.text(k.Text)
	b.raw("</th>")
}

func (b *markup) cell(c viewCell) {
	b.raw("<td")
	if c.Wide {
		b.raw(` class="t"`)
	}
	b.raw(">")
	b.value(c)
	if c.Paper != "" || c.Word != "" {
		b.raw("<i>")
		if c.Paper != "" {
			b.raw(`<span class="vh">`)
			b.text(c.Beside + " ")
			b.raw(`</span>`)
			b.text(c.Paper)
			b.raw(" ")
		}
		b.verdict(c.Verdict)
		b.raw("</i>")
	}
	b.raw("</td>")
}

// value adds a number with its error, as a link to its explanation.
func (b *markup) value(c viewCell) {
	if c.Text == "" {
		b.raw(`<span aria-label="no value">–</span>`)
		return
	}
	b.raw("<a")
	b.attribute("href", "#"+c.Target)
	b.attribute("title", c.Hover)
	b.raw(">")
	b.text(c.Text)
	if c.Spread != "" {
		b.raw(" <s>±")
		b.text(c.Spread)
		b.raw("</s>")
	}
	b.raw("</a>")
}

func (b *markup) verdict(v Verdict) {
	if v.Word == "" {
		return
	}
	b.raw("<span")
	b.attribute("class", v.Kind)
	b.raw(`><span aria-hidden="true">`)
	b.text(v.Mark)
	b.raw("</span> ")
	b.text(v.Word)
	b.raw("</span>")
}
