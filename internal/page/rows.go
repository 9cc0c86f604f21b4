package page

import (
	"html/template"
	"strconv"
	"strings"
)

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
