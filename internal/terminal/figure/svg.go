package figure

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/vg"
)

// SVG writes a figure as a file of its own, with the part of its font that it needs.
func SVG(w io.Writer, f Figure) error { return f.svg(w, true) }

// Inline writes a figure as an element of an HTML page. It scales and has no font of
// its own.
func Inline(w io.Writer, f Figure) error { return f.svg(w, false) }

// svg writes the marks, those that look alike in groups. Text is set in fonts of the
// same widths where its own is not at hand.
func (f Figure) svg(w io.Writer, file bool) error {
	marks, err := f.marks()
	if err != nil {
		return err
	}
	var body, whole bytes.Buffer
	group, used, size, style := "", " ", "", ""
	for _, m := range marks {
		if shared := m.attributes(); shared != group {
			group = shared
			body.WriteString("</g>\n<g " + shared + ">\n")
		}
		used += m.text
		m.write(&body)
	}
	if file {
		font, err := fontFile()
		if err != nil {
			return err
		}
		size = fmt.Sprintf(`width="%gpt" height="%gpt" `, f.Width, f.Height)
		style = `<style>@font-face{font-family:"Liberation Sans";src:url(data:font/ttf;base64,` + base64.StdEncoding.EncodeToString(fpdf.UTF8CutFont(font, used)) + ")}</style>\n"
	}
	fmt.Fprintf(&whole, `<svg xmlns="http://www.w3.org/2000/svg" %sviewBox="0 0 %g %g" role="img" aria-label="%s" font-family="Liberation Sans,Arial,Helvetica,sans-serif">`+"\n"+
		`%s<rect width="100%%" height="100%%" fill="#fff"/>`+"\n<g>%s</g>\n</svg>\n", size, f.Width, f.Height, html.EscapeString(basic(f.Title)), style, &body)
	_, err = whole.WriteTo(w)
	return err
}

// attributes returns the attributes of a mark that many share.
func (m mark) attributes() string {
	ink := fmt.Sprintf("#%02x%02x%02x", m.ink.R, m.ink.G, m.ink.B)
	switch {
	case m.text != "":
		return fmt.Sprintf(`fill="%s" font-size="%s"`, ink, number(m.size))
	case m.width == 0:
		return fmt.Sprintf(`fill="%s"`, ink)
	}
	line := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="%s"`, ink, number(m.width))
	if len(m.dash) > 0 {
		line += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Trim(fmt.Sprint(m.dash), "[]"))
	}
	return line
}

func (m mark) write(b *bytes.Buffer) {
	x, y := number(m.path[0].Pos.X), number(m.path[0].Pos.Y)
	switch {
	case m.text != "" && m.angle != 0:
		fmt.Fprintf(b, `<text transform="translate(%s %s) rotate(%g)">%s</text>`+"\n", x, y, -m.angle, html.EscapeString(m.text))
	case m.text != "":
		fmt.Fprintf(b, `<text x="%s" y="%s">%s</text>`+"\n", x, y, html.EscapeString(m.text))
	case m.path[0].Type == vg.ArcComp:
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="%s"/>`+"\n", x, y, number(m.path[0].Radius))
	default:
		d := ""
		for _, step := range m.path {
			switch to := number(step.Pos.X) + " " + number(step.Pos.Y); step.Type {
			case vg.MoveComp:
				d += "M" + to
			case vg.LineComp:
				d += "L" + to
			default:
				d += "Z"
			}
		}
		fmt.Fprintf(b, `<path d="%s"/>`+"\n", d)
	}
}

// number is a length as it is written, to hundredths of a point.
func number(v vg.Length) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }
