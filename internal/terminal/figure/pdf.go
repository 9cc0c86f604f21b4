package figure

import (
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/vg"
)

// PDF writes a figure as a PDF of one page of its size, with the part of its
// TrueType font that it needs. It has a fixed date and no name of a program: the
// bytes depend on the figure and on Go's compression.
func PDF(w io.Writer, f Figure) error {
	marks, err := f.marks()
	if err != nil {
		return err
	}
	file, err := fontFile()
	if err != nil {
		return err
	}
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: f.Width, Ht: f.Height}})
	doc.SetCatalogSort(true)
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetProducer("", false)
	doc.SetTitle(basic(f.Title), true)
	doc.AddPage()
	doc.AddUTF8FontFromBytes("LiberationSans", "", file)
	for _, m := range marks {
		m.writeTo(doc)
	}
	return doc.Output(w)
}

func (m mark) writeTo(doc *fpdf.Fpdf) {
	r, g, b := int(m.ink.R), int(m.ink.G), int(m.ink.B)
	x, y, way := rounded(m.path[0].Pos.X), rounded(m.path[0].Pos.Y), "F"
	doc.SetTextColor(r, g, b)
	doc.SetFillColor(r, g, b)
	if m.width > 0 {
		var dash []float64
		for _, d := range m.dash {
			dash = append(dash, d.Points())
		}
		way = "D"
		doc.SetDrawColor(r, g, b)
		doc.SetLineWidth(m.width.Points())
		doc.SetDashPattern(dash, 0)
	}
	switch {
	case m.text != "":
		doc.SetFont("LiberationSans", "", m.size.Points())
		doc.TransformBegin()
		doc.TransformRotate(m.angle, x, y)
		doc.Text(x, y, m.text)
		doc.TransformEnd()
	case m.path[0].Type == vg.ArcComp:
		doc.Circle(x, y, m.path[0].Radius.Points(), way)
	default:
		for _, step := range m.path {
			switch x, y := rounded(step.Pos.X), rounded(step.Pos.Y); step.Type {
			case vg.MoveComp:
				doc.MoveTo(x, y)
			case vg.LineComp:
				doc.LineTo(x, y)
			default:
				doc.ClosePath()
			}
		}
		doc.DrawPath(way)
	}
}
