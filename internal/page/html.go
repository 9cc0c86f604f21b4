package page

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
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

// view is a page as the templates walk it.
type view struct {
	Page
	Policy        string
	Style, Script template.HTML
	Tables        []viewTable
	Changed       int // settings that differ from the defaults
}

// Write writes the page: one HTML file that asks for nothing else, and that
// forbids itself to. Text from outside turns no other around. The same page gives the same
// bytes.
func Write(w io.Writer, p Page) error {
	parsed, err := template.New("page.html.tmpl").Funcs(template.FuncMap{
		"duration": Duration, "moment": moment, "megabytes": megabytes,
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
	v := view{Page: p, Policy: policy()}
	v.Style = template.HTML("<style>\n" + style + "</style>")
	v.Script = template.HTML("<script>" + script + "</script>")
	for _, t := range p.Tables {
		v.Tables = append(v.Tables, newViewTable(t))
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
	b.attribute("data-d", c.Difference)
	b.attribute("data-s", c.SEs)
	b.attribute("data-k", c.Class)
	b.attribute("data-n", c.Note)
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

// value adds a number with its error. The script shows beside it where it comes from.
func (b *markup) value(c viewCell) {
	if c.Text == "" {
		b.raw(`<span aria-label="no value">–</span>`)
		return
	}
	b.raw(`<a href="#pop"`)
	b.attribute("title", c.hover())
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
