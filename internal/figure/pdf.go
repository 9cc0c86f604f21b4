package figure

import (
	"fmt"
	"io"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// PDF writes a figure as a PDF of one page of its size, with the parts of its
// TrueType fonts that it needs. It has a fixed date and no name of a program: the
// bytes depend on the figure and on Go's compression.
func PDF(w io.Writer, f Figure) error {
	s, err := sheetOf(f)
	if err != nil {
		return err
	}
	loaded, err := faces()
	if err != nil {
		return err
	}
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: s.width, Ht: s.height}})
	doc.SetCatalogSort(true)
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetProducer("", false)
	doc.SetTitle(basicPlane(f.Title), true)
	doc.AddPage()
	embedded := make(map[string]bool)
	for _, m := range s.marks {
		switch {
		case m.ghost:
		case m.text.text != "":
			family := faceNames[m.text.face]
			if !embedded[family] {
				doc.AddUTF8FontFromBytes(family, "", []byte(loaded[m.text.face].file))
				embedded[family] = true
			}
			doc.SetFont(family, "", m.size)
			m.writeText(doc, s.height)
		default:
			m.writePath(doc, s.height)
		}
	}
	if err := doc.Output(w); err != nil {
		return fmt.Errorf("figure %s: %w", f.Base, err)
	}
	return nil
}

// writeText writes a line of text on a page of a height: PDF pages are described
// from the top.
func (m mark) writeText(doc *fpdf.Fpdf, height float64) {
	x, y := rounded(m.x), rounded(height-m.y)
	doc.SetTextColor(int(m.fill.R), int(m.fill.G), int(m.fill.B))
	if m.angle != 0 {
		doc.TransformBegin()
		defer doc.TransformEnd()
		doc.TransformRotate(m.angle, x, y)
	}
	doc.Text(x, y, basicPlane(m.text.text))
}

// writePath writes a path or a disc on a page of a height.
func (m mark) writePath(doc *fpdf.Fpdf, height float64) {
	way := ""
	if m.fill != nil {
		doc.SetFillColor(int(m.fill.R), int(m.fill.G), int(m.fill.B))
		way += "F"
	}
	if m.stroke != nil {
		doc.SetDrawColor(int(m.stroke.R), int(m.stroke.G), int(m.stroke.B))
		doc.SetLineWidth(m.width)
		doc.SetDashPattern(m.dash, 0)
		way += "D"
	}
	if m.disc {
		doc.Circle(rounded(m.x), rounded(height-m.y), m.radius, way)
		return
	}
	for _, p := range m.path {
		switch p.op {
		case 'M':
			doc.MoveTo(rounded(p.at[0]), rounded(height-p.at[1]))
		case 'L':
			doc.LineTo(rounded(p.at[0]), rounded(height-p.at[1]))
		case 'Z':
			doc.ClosePath()
		}
	}
	doc.DrawPath(way)
}

// basicPlane replaces the characters that the fonts of a PDF cannot number.
func basicPlane(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xFFFF {
			return '�'
		}
		return r
	}, s)
}
