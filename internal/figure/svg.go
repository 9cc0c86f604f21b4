package figure

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image/color"
	"io"
	"strconv"
	"strings"

	"codeberg.org/go-pdf/fpdf"
)

// families is what text is set in where the font is not at hand: fonts of the
// same widths first.
const families = "Liberation Sans,Arial,Helvetica,sans-serif"

// embeddedFamily is the name of the font that SVG files carry.
const embeddedFamily = "Figure Sans"

// SVG writes a figure as a file of its own, with the parts of its fonts that it
// needs.
func SVG(w io.Writer, f Figure) error {
	s, err := sheetOf(f)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
		`<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" viewBox="0 0 %s %s" role="img" aria-label="%s" font-family="'%s',%s">`+"\n",
		number(s.width), number(s.height), number(s.width), number(s.height), html.EscapeString(f.Title), embeddedFamily, families)
	if err := s.writeFaces(&b); err != nil {
		return fmt.Errorf("figure %s: %w", f.Base, err)
	}
	fmt.Fprintf(&b, `<rect width="%s" height="%s" fill="#fff"/>`+"\n", number(s.width), number(s.height))
	s.writeMarks(&b, false)
	b.WriteString("</svg>\n")
	_, err = b.WriteTo(w)
	return err
}

// Inline writes a figure as an element of an HTML page. It scales, has no font
// of its own, and says the values of what is pointed at.
func Inline(w io.Writer, f Figure) error {
	s, err := sheetOf(f)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s" font-family="%s">`+"\n",
		number(s.width), number(s.height), html.EscapeString(f.Title), families)
	fmt.Fprintf(&b, `<rect width="%s" height="%s" fill="#fff"/>`+"\n", number(s.width), number(s.height))
	s.writeMarks(&b, true)
	b.WriteString("</svg>\n")
	_, err = b.WriteTo(w)
	return err
}

// writeFaces embeds the characters that the text has, in each face.
func (s *sheet) writeFaces(b *bytes.Buffer) error {
	loaded, err := faces()
	if err != nil {
		return err
	}
	var used [faceCount]string
	for _, m := range s.marks {
		used[m.text.face] += m.text.text
	}
	b.WriteString("<style>")
	for i, chars := range used {
		if chars != "" {
			subset := fpdf.UTF8CutFont([]byte(loaded[i].file), chars)
			fmt.Fprintf(b, `@font-face{font-family:"%s";font-style:%s;src:url(data:font/ttf;base64,%s)}`,
				embeddedFamily, [faceCount]string{"normal", "italic"}[i], base64.StdEncoding.EncodeToString(subset))
		}
	}
	b.WriteString("</style>\n")
	return nil
}

// writeMarks writes marks, those that look alike in groups. Values to point at
// are for pages alone.
func (s *sheet) writeMarks(b *bytes.Buffer, titles bool) {
	group := ""
	for _, m := range s.marks {
		if m.ghost && !titles {
			continue
		}
		if shared := m.attributes(); shared != group {
			if group != "" {
				b.WriteString("</g>\n")
			}
			group = shared
			fmt.Fprintf(b, "<g %s>\n", shared)
		}
		title := ""
		if titles && m.title != "" {
			title = "<title>" + html.EscapeString(m.title) + "</title>"
		}
		m.write(b, s.height, title)
	}
	if group != "" {
		b.WriteString("</g>\n")
	}
}

// attributes returns the attributes of a mark that many share.
func (m mark) attributes() string {
	if m.text.text != "" {
		style := ""
		if m.text.face == italic {
			style = ` font-style="italic"`
		}
		return fmt.Sprintf(`fill="%s" font-size="%s"%s`, hexColor(m.fill), number(m.size), style)
	}
	if m.ghost {
		return `fill="none" pointer-events="all"`
	}
	out := fmt.Sprintf(`fill="%s"`, hexColor(m.fill))
	if m.stroke != nil {
		out += fmt.Sprintf(` stroke="%s" stroke-width="%s"`, hexColor(m.stroke), number(m.width))
	}
	if len(m.dash) > 0 {
		var parts []string
		for _, d := range m.dash {
			parts = append(parts, number(d))
		}
		out += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(parts, " "))
	}
	return out
}

// write writes a mark on a sheet of a height: SVG counts from the top.
func (m mark) write(b *bytes.Buffer, height float64, title string) {
	switch {
	case m.text.text != "":
		// The width is said as well, so that another font takes the same room.
		length, turn := "", ""
		if width := m.text.width * m.size; len(m.text.text) > 1 {
			length = fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, number(width))
		}
		if m.angle != 0 {
			turn = fmt.Sprintf(` transform="rotate(%s %s %s)"`, number(-m.angle), number(m.x), number(height-m.y))
		}
		fmt.Fprintf(b, `<text x="%s" y="%s"%s%s>%s</text>`+"\n", number(m.x), number(height-m.y), length, turn, html.EscapeString(m.text.text))
	case m.disc:
		element(b, fmt.Sprintf(`circle cx="%s" cy="%s" r="%s"`, number(m.x), number(height-m.y), number(m.radius)), title, "circle")
	default:
		element(b, `path d="`+pathData(m.path, height)+`"`, title, "path")
	}
}

func element(b *bytes.Buffer, start, content, name string) {
	if content == "" {
		fmt.Fprintf(b, "<%s/>\n", start)
		return
	}
	fmt.Fprintf(b, "<%s>%s</%s>\n", start, content, name)
}

func pathData(path []step, height float64) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte(p.op)
		for i, v := range p.at {
			if i > 0 {
				b.WriteByte(' ')
			}
			if i%2 == 1 {
				v = height - v
			}
			b.WriteString(number(v))
		}
	}
	return b.String()
}

// number is a length as it is written, to hundredths of a point.
func number(v float64) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }

func hexColor(c *color.RGBA) string {
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}
