// Package figure sets plots of gonum/plot as a printed figure: PDF for papers, and
// SVG for the web and inside a page. Text stays text, in the parts of the font that
// it needs. The same figure has the same bytes every time, by the same build.
package figure

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/terminal/table"
)

// Figure is a grid of panels.
type Figure struct {
	Title   string // what is seen, in one plain sentence
	Caption string

	Width, Height float64    // at printed size, in points of 1/72 inch
	Panels        [][]*Panel // by rows, from the top; as many columns in each

	Data table.Table // what is plotted, at full precision
}

// Panel is a plot with its axes.
type Panel struct {
	*plot.Plot
	title string
	ends  ends
}

// Sizes, in points at printed size.
const (
	labelSize = vg.Length(8) // titles and axis labels
	smallSize = vg.Length(7) // ticks, legends and notes
	edge      = vg.Length(2) // kept free at the edges of the sheet
)

// letters is a style of text, in Liberation Sans, which is as wide as Arial.
func letters(size vg.Length, x draw.XAlignment, y draw.YAlignment) text.Style {
	return text.Style{Color: Black, Font: font.From(sans, size), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// NewPanel is an empty plot with named axes. Its legend is in the upper left corner.
func NewPanel(title, x, y string) *Panel {
	p := &Panel{Plot: plot.New(), title: title}
	p.BackgroundColor = nil
	p.Title.Text, p.Title.TextStyle, p.Title.Padding = " ", letters(labelSize, draw.XLeft, draw.YBottom), 4 // room for the title
	p.Legend.TextStyle, p.Legend.ThumbnailWidth, p.Legend.XOffs = letters(smallSize, draw.XLeft, draw.YBottom), 13, 6
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, 2
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle, a.Label.Padding, a.Padding = letters(labelSize, draw.XCenter, draw.YBottom), 2, 4
		a.Width, a.Tick.Width, a.Tick.Length, a.Tick.Label.Font = 0.6, 0.6, 2.5, font.From(sans, smallSize)
	}
	return p
}

// Instead says why there is no plot in place of it.
func (p *Panel) Instead(why string) *Panel {
	p.HideAxes()
	Cover(&p.X, -1, 1)
	Cover(&p.Y, -1, 1)
	p.Note(table.WrapAt(36, "", "", why), draw.XCenter, 0, 0, 0)
	return p
}

// Budgets makes the axis of x logarithmic, with a tick at each budget.
func (p *Panel) Budgets(budgets []int32) {
	var at plot.ConstantTicks
	for _, b := range budgets {
		at = append(at, plot.Tick{Value: float64(b), Label: fmt.Sprint(b)})
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, at
	Cover(&p.X, 0.95*at[0].Value, 1.05*at[len(at)-1].Value)
}

// draw draws a figure.
func (f Figure) draw(sheet draw.Canvas) error {
	tiles := draw.Tiles{Rows: len(f.Panels), PadX: 12, PadY: 12, PadTop: edge, PadBottom: edge, PadLeft: edge, PadRight: edge}
	plots := make([][]*plot.Plot, len(f.Panels))
	for i, row := range f.Panels {
		tiles.Cols = len(row)
		for _, p := range row {
			if err := plotter.CheckFloats(p.X.Min, p.X.Max, p.Y.Min, p.Y.Max); err != nil {
				return fmt.Errorf("panel %q: %w", p.title, err)
			}
			plots[i] = append(plots[i], p.Plot)
		}
	}
	for i, row := range plot.Align(plots, tiles, sheet) {
		for j, c := range row {
			p := f.Panels[i][j]
			data := p.DataCanvas(c)
			c.FillText(p.Title.TextStyle, vg.Point{X: data.Min.X, Y: data.Max.Y + 7}, p.title)
			p.Draw(c)
		}
	}
	return nil
}
