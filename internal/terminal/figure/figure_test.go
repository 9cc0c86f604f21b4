package figure_test

import (
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/golden"
	"speceval/internal/terminal/figure"
	"speceval/internal/terminal/table"
)

// sample has every kind of series, two columns and two rows.
func sample() figure.Figure {
	line := func(values ...float64) (at plotter.XYs) {
		for i, v := range values {
			at = append(at, plotter.XY{X: math.Exp2(float64(i + 3)), Y: v})
		}
		return at
	}
	points := figure.NewPanel("(a) Points", "Profiles, N", "Ratio")
	points.Series("one", "", figure.Style{Ink: figure.SkyBlue, Marker: figure.Hollow(draw.CircleGlyph{}), Size: 2}, plotter.XYs{{X: 1, Y: -0.5}, {X: 2, Y: 0.9}})
	points.Note("two\nlines", draw.XLeft, 1, 0.5, 3)
	lines := figure.NewPanel("(b) Lines", "Rollouts, b", "Width")
	lines.Budgets([]int32{8, 16, 32})
	lines.Series("", "Uniform", figure.Style{Ink: figure.Black, Width: 1, Dash: figure.Dashed, Marker: draw.BoxGlyph{}, Size: 2}, line(4, 3, 2))
	lines.Series("", "HBN", figure.Style{Ink: figure.Blue, Width: 1, Marker: draw.PyramidGlyph{}, Size: 2}, line(3.5, 2.5, 1.9))
	one := figure.NewPanel("(c) One value", "x", "y")
	one.Budgets([]int32{1})
	one.Series("a & b", "", figure.Style{Ink: figure.Green, Width: 1}, line(7)[:1])
	one.Series("nothing", "", figure.Style{}, nil)
	f := figure.Figure{
		Title: "A sample & its <parts>", Caption: "A sample.", Width: 440, Height: 220,
		Panels: [][]*figure.Panel{{points, lines}, {one, figure.NewPanel("(d) Nothing", "", "").Instead("What would be here needs a stage that has not run.")}},
	}
	f.Data.Columns = []table.Column{{Name: "x"}}
	return f
}

var forms = map[string]func(io.Writer, figure.Figure) error{
	"pdf": figure.PDF, "svg": figure.SVG, "inline": figure.Inline,
}

func written(t testing.TB, form string, f figure.Figure) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := forms[form](&b, f); err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	return b.Bytes()
}

func TestFormsMatchGoldenFiles(t *testing.T) {
	f := sample()
	golden.Check(t, "sample.svg", written(t, "svg", f))
	golden.Check(t, "sample.html", written(t, "inline", f))
	pdf := written(t, "pdf", f)
	golden.Check(t, "sample.pdf.txt", streams(t, pdf)[0])
	for _, want := range []string{"/FontFile2", "/CreationDate (D:19700101000000)", "/ModDate (D:19700101000000)"} {
		if !bytes.Contains(pdf, []byte(want)) || bytes.Contains(pdf, []byte("/Producer")) {
			t.Errorf("the PDF lacks %s, or names its producer", want)
		}
	}
}

// TestTheSameFigureHasTheSameBytes also writes a figure again and again: maps in the
// PDF library must not show, and writing must not change the fonts in memory.
func TestTheSameFigureHasTheSameBytes(t *testing.T) {
	for form := range forms {
		first := written(t, form, sample())
		for range 20 {
			if !bytes.Equal(written(t, form, sample()), first) {
				t.Fatalf("%s: other bytes the next time", form)
			}
		}
	}
}

// streams returns the decompressed streams of a PDF: the page, then for each font
// its map to characters, its map to glyphs, and its file.
func streams(t testing.TB, pdf []byte) [][]byte {
	t.Helper()
	var out [][]byte
	for _, m := range regexp.MustCompile(`/Length (\d+)[^>]*>>\nstream\n`).FindAllSubmatchIndex(pdf, -1) {
		n, err := strconv.Atoi(string(pdf[m[2]:m[3]]))
		if err != nil || !bytes.HasPrefix(pdf[m[1]+n:], []byte("\nendstream")) {
			t.Fatalf("a stream of %d bytes does not end there", n)
		}
		data := pdf[m[1] : m[1]+n]
		if r, err := zlib.NewReader(bytes.NewReader(data)); err == nil {
			if data, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, data)
	}
	return out
}

// TestPopplerReadsThePDF holds the file to a reader that papers go through.
func TestPopplerReadsThePDF(t *testing.T) {
	lack := t.Skipf
	if os.Getenv("SPECEVAL_CI") != "" {
		lack = t.Fatalf
	}
	for _, tool := range []string{"pdffonts", "pdftotext"} {
		if _, err := exec.LookPath(tool); err != nil {
			lack("%s is not installed (Debian: poppler-utils)", tool)
		}
	}
	path := filepath.Join(t.TempDir(), "sample.pdf")
	if err := os.WriteFile(path, written(t, "pdf", sample()), 0o644); err != nil {
		t.Fatal(err)
	}
	fonts, err := exec.Command("pdffonts", path).CombinedOutput()
	if n := strings.Count(string(fonts), "yes no  yes"); err != nil || n != 1 || strings.Contains(string(fonts), "Type 3") {
		t.Errorf("pdffonts: %v\n%s", err, fonts)
	}
	text, err := exec.Command("pdftotext", path, "-").CombinedOutput()
	for _, want := range []string{"(a) Points", "Profiles, N", "Uniform", "needs a stage"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("pdftotext lacks %q: %v\n%s", want, err, text)
		}
	}
}

// element is a part of an SVG.
type element struct {
	Attrs []xml.Attr `xml:",any,attr"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func parsedSVG(t testing.TB, data []byte) (root element) {
	t.Helper()
	if err := xml.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("NaN")) || bytes.Contains(data, []byte("Inf")) {
		t.Error("a place that is no number")
	}
	return root
}

func TestAPagesFigureScales(t *testing.T) {
	html := written(t, "inline", sample())
	if bytes.Contains(html, []byte("<?xml")) || bytes.Contains(html, []byte("@font-face")) {
		t.Error("it has a header or fonts")
	}
	root := parsedSVG(t, html)
	if root.attr("viewBox") == "" || root.attr("width") != "" {
		t.Errorf("it does not scale: %v", root.Attrs)
	}
}

func TestBadFiguresAreRefused(t *testing.T) {
	for _, bad := range []plotter.XY{{X: 1, Y: math.NaN()}, {X: math.Inf(1), Y: 1}, {X: 1, Y: math.Inf(-1)}} {
		f := sample()
		f.Panels[0][0].Series("", "", figure.Style{}, plotter.XYs{bad})
		for form, write := range forms {
			if err := write(io.Discard, f); err == nil || !strings.Contains(err.Error(), "panel \"(a) Points\"") {
				t.Errorf("%s of %v: error %v", form, bad, err)
			}
		}
	}
	f := sample()
	f.Panels[0][0] = figure.NewPanel("empty", "x", "y")
	if err := figure.PDF(io.Discard, f); err == nil {
		t.Error("a panel of nothing is drawn")
	}
}

func TestFewAndCloseValuesAreDrawn(t *testing.T) {
	for _, ys := range [][]float64{{1}, {0}, {2, 2, 2}, {1, math.Nextafter(1, 2)}, {1e-300, 2e-300}, {-3, -1}} {
		p := figure.NewPanel("", "x", "y")
		for _, y := range ys {
			p.Series("", "", figure.Style{Marker: draw.CircleGlyph{}, Size: 2}, plotter.XYs{{X: 8, Y: y}})
		}
		svg := written(t, "inline", figure.Figure{Width: 100, Height: 100, Panels: [][]*figure.Panel{{p}}})
		if parsedSVG(t, svg); bytes.Count(svg, []byte("<circle")) != len(ys) {
			t.Errorf("%v: %s", ys, svg)
		}
	}
}

// TestAnyNameIsDrawn has characters that markup knows, that the font lacks, and that
// a PDF cannot number.
func TestAnyNameIsDrawn(t *testing.T) {
	f := sample()
	f.Title = "a中\U0001F600\uFFFF<&\"'\x01%\\("
	f.Panels[0][0].Note(f.Title, draw.XLeft, 1, 0.5, 0)
	for form := range forms {
		if data := written(t, form, f); form != "pdf" && !strings.Contains(parsedSVG(t, data).attr("aria-label"), "a中") {
			t.Errorf("%s: %s", form, data)
		}
	}
}

func TestAFullDiskIsAnError(t *testing.T) {
	for form, write := range forms {
		if err := write(full{}, sample()); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
