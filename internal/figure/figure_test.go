package figure_test

import (
	"bytes"
	"compress/zlib"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/figure"
	"speceval/internal/golden"
	"speceval/internal/table"
)

// sample has every kind of series, two columns and two rows.
func sample() figure.Figure {
	line := func(name string, style figure.Style, values ...float64) figure.Line {
		l := figure.Line{Label: name, Style: style}
		for i, v := range values {
			b := math.Exp2(float64(i + 3))
			l.At = append(l.At, figure.Point{X: b, Y: v, Title: fmt.Sprintf("%s at %g: %g", name, b, v)})
		}
		return l
	}
	f := figure.Figure{
		Base: "sample", Title: "A sample & its <parts>", Caption: "A sample.", Label: "fig:sample", Width: 440, Height: 220,
		Panels: [][]figure.Panel{
			{{
				Title: "(a) Points", X: figure.Axis{Label: "Profiles, " + figure.Italic("N"), Cover: []float64{0, 2}, Tight: true},
				Y: figure.Axis{Label: "Ratio"}, Legend: figure.Above,
				Series: []figure.Series{
					figure.Level{At: 1, Name: "Uniform", Style: figure.Style{Dash: figure.Dashed}},
					figure.Swarm{Name: "one", X: 1, Half: 0.5, Style: figure.Style{Ink: figure.SkyBlue, Marker: figure.Circle},
						At: []figure.Point{{Y: 0.5, Title: "low"}, {Y: 0.51}, {Y: 0.9}}},
					figure.Box{At: 1, Half: 0.3, Low: 0.5, Median: 0.51, High: 0.7, Mean: 0.637, Title: "box", MeanTitle: "mean"},
				},
				Notes: []figure.Note{{X: 1, Y: 0.9, Text: "high", Align: figure.Start, Right: 4}},
			}, {
				Title: "(b) Lines", X: figure.Axis{Label: "Rollouts, " + figure.Italic("b"), Log: true}, Y: figure.Axis{Label: "Width", Zero: true},
				Series: []figure.Series{
					line("Uniform", figure.Style{Dash: figure.Dashed, Marker: figure.Square}, 4, 3, 2),
					line("HBN", figure.Style{Ink: figure.Blue, Marker: figure.Triangle}, 3.5, 2.5, 1.9),
				},
			}},
			{{
				Title: "(c) Density", X: figure.Axis{Label: "Estimate"}, Y: figure.Axis{Label: "Density", Zero: true}, Legend: figure.TopLeft,
				Series: []figure.Series{
					figure.Line{Name: "density", Style: figure.Style{Dash: figure.Dotted}, At: []figure.Point{{X: -1, Y: 0.25, Title: `a <quarter> & "more"`}, {X: 1, Y: 0.75}}},
					figure.Level{At: 0, Upright: true},
					figure.Points{Name: "points", Style: figure.Style{Marker: figure.Diamond, Hollow: true}, At: []figure.Point{{X: 0.5, Y: 0.4}}},
				},
			}, {
				Title: "(d) Nothing", Instead: "What would be here needs a stage that has not run.",
			}},
		},
	}
	f.Data.Columns = []table.Column{{Name: "x"}, {Name: "y"}}
	f.Data.Rows = [][]table.Cell{{table.Integer(8), table.Number(1.0 / 3)}, {table.Missing(), table.Number(0.1)}}
	return f
}

var forms = map[string]func(io.Writer, figure.Figure) error{
	"pdf": figure.PDF, "svg": figure.SVG, "csv": figure.CSV, "inline": figure.Inline,
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
	golden.Check(t, "sample.csv", written(t, "csv", f))
	golden.Check(t, "sample.pdf.txt", streams(t, written(t, "pdf", f))[0])
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

func TestThePDFIsWellFormedAndEmbedsItsFonts(t *testing.T) {
	pdf := written(t, "pdf", sample())
	for _, want := range []string{"/FontFile2", "/CIDFontType2", "/BaseFont /utf8liberationsans-regular\n", "/BaseFont /utf8liberationsans-italic\n", "/ToUnicode", "/Flags 4/FontBBox [",
		"/ItalicAngle -12 ", "/MediaBox [0 0 440.00 220.00]", "/CreationDate (D:19700101000000)", "/ModDate (D:19700101000000)"} {
		if !bytes.Contains(pdf, []byte(want)) {
			t.Errorf("the PDF lacks %s", want)
		}
	}
	for _, bad := range []string{"/Type3", "/ID", "/Producer"} {
		if bytes.Contains(pdf, []byte(bad)) {
			t.Errorf("the PDF has %s", bad)
		}
	}
	if n := len(streams(t, pdf)); n != 7 || len(pdf) > 30000 {
		t.Errorf("%d streams in %d bytes", n, len(pdf))
	}
	start := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(pdf)
	if start == nil {
		t.Fatal("no end")
	}
	at, _ := strconv.Atoi(string(start[1]))
	for i, m := range regexp.MustCompile(`(\d{10}) 00000 n \n`).FindAllSubmatch(pdf[at:], -1) {
		offset, _ := strconv.Atoi(string(m[1]))
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(pdf[offset:], []byte(want)) {
			t.Errorf("object %d is not at %d", i+1, offset)
		}
	}
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
	if n := strings.Count(string(fonts), "yes no  yes"); err != nil || n != 2 || strings.Contains(string(fonts), "Type 3") {
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
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Title    string     `xml:"title"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) walk(see func(element)) {
	see(e)
	for _, c := range e.Children {
		c.walk(see)
	}
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

func TestTheSVGEmbedsItsFontsAndIsSmall(t *testing.T) {
	svg := written(t, "svg", sample())
	root := parsedSVG(t, svg)
	if n := bytes.Count(svg, []byte("data:font/ttf;base64,")); n != 2 || len(svg) > 45000 {
		t.Errorf("%d fonts in %d bytes", n, len(svg))
	}
	if root.attr("viewBox") != "0 0 440 220" || root.attr("width") != "440pt" || root.attr("aria-label") != "A sample & its <parts>" {
		t.Errorf("attributes %v", root.Attrs)
	}
	if regexp.MustCompile(`(?:href|src)=|url\(http`).Match(svg) {
		t.Error("it asks for another file")
	}
}

func TestAPagesFigureSaysItsValues(t *testing.T) {
	html := written(t, "inline", sample())
	if bytes.Contains(html, []byte("<?xml")) || bytes.Contains(html, []byte("@font-face")) {
		t.Error("it has a header or fonts")
	}
	root := parsedSVG(t, html)
	if root.attr("viewBox") == "" || root.attr("width") != "" {
		t.Errorf("it does not scale: %v", root.Attrs)
	}
	titles := map[string]int{}
	root.walk(func(e element) {
		if e.Title != "" {
			titles[e.Title]++
		}
	})
	for _, want := range []string{"low", "box", "mean", "Uniform at 8: 4", "HBN at 32: 1.9"} {
		if titles[want] != 1 {
			t.Errorf("%d elements say %q", titles[want], want)
		}
	}
	if want := `a <quarter> & "more"`; titles[want] != 1 {
		t.Errorf("%d elements say %q, among %v", titles[want], want, titles)
	}
}

func TestTheCSVReadsBack(t *testing.T) {
	records, err := csv.NewReader(bytes.NewReader(written(t, "csv", sample()))).ReadAll()
	if err != nil || len(records) != 3 {
		t.Fatalf("%v, %v", records, err)
	}
	if v, err := strconv.ParseFloat(records[1][1], 64); err != nil || v != 1.0/3 || records[2][0] != "" {
		t.Errorf("%v, %v", records, err)
	}
}

func TestBadFiguresAreRefused(t *testing.T) {
	points := func(x, y float64) []figure.Series {
		return []figure.Series{figure.Points{At: []figure.Point{{X: x, Y: y}}}}
	}
	for want, change := range map[string]func(*figure.Figure){
		"no panels":                       func(f *figure.Figure) { f.Panels = nil },
		"rows of 2 and 1 panels":          func(f *figure.Figure) { f.Panels[1] = f.Panels[1][:1] },
		"is no size":                      func(f *figure.Figure) { f.Width = 0 },
		"NaN × 220 points is no size":     func(f *figure.Figure) { f.Width = math.NaN() },
		"nothing to plot":                 func(f *figure.Figure) { f.Panels[0][0].Series = nil },
		"y = NaN is not a finite number":  func(f *figure.Figure) { f.Panels[0][0].Series = points(1, math.NaN()) },
		"x = +Inf is not a finite number": func(f *figure.Figure) { f.Panels[0][0].Series = points(math.Inf(1), 1) },
		"no place on a logarithmic axis":  func(f *figure.Figure) { f.Panels[0][1].Series = points(0, 1) },
		"quartiles 3, 2 and 1 do not rise": func(f *figure.Figure) {
			f.Panels[0][0].Series = []figure.Series{figure.Box{Low: 3, Median: 2, High: 1}}
		},
		`note "where": y = NaN`: func(f *figure.Figure) { f.Panels[0][0].Notes = []figure.Note{{Y: math.NaN(), Text: "where"}} },
		"column y: NaN":         func(f *figure.Figure) { f.Data.Rows[0][1] = table.Number(math.NaN()) },
		"a swarm -1 wide": func(f *figure.Figure) {
			f.Panels[0][0].Series = []figure.Series{figure.Swarm{Half: -1, At: make([]figure.Point, 2)}}
		},
	} {
		f := sample()
		change(&f)
		for form, write := range forms {
			if err := write(io.Discard, f); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", form, err, want)
			}
		}
	}
}

func TestFewAndExtremeValuesAreDrawn(t *testing.T) {
	for name, ys := range map[string][]float64{
		"one": {1}, "one at zero": {0}, "alike": {2, 2, 2}, "tiny": {1e-300, 2e-300}, "huge": {-1e300, 1e300},
		"close": {1, math.Nextafter(1, 2)}, "below zero": {-3, -1},
	} {
		f := figure.Figure{Base: name, Width: 100, Height: 100, Panels: [][]figure.Panel{{{}}}}
		var at []figure.Point
		for _, y := range ys {
			at = append(at, figure.Point{X: 8, Y: y})
		}
		for _, zero := range []bool{false, true} {
			f.Panels[0][0] = figure.Panel{Series: []figure.Series{figure.Points{At: at, Style: figure.Style{Marker: figure.Circle}}},
				X: figure.Axis{Log: true}, Y: figure.Axis{Zero: zero}}
			for form := range forms {
				if data := written(t, form, f); form == "inline" {
					parsedSVG(t, data)
				}
			}
		}
	}
}

// TestAnAxisWithoutValuesIsDrawn has a panel of nothing, and a line that has a place
// on one axis alone: neither says where a logarithmic axis ends.
func TestAnAxisWithoutValuesIsDrawn(t *testing.T) {
	for _, log := range []bool{false, true} {
		axis := figure.Axis{Log: log}
		for _, p := range []figure.Panel{{Instead: "Not run."}, {Series: []figure.Series{figure.Level{At: 2, Upright: true}}}} {
			p.X, p.Y = axis, axis
			f := figure.Figure{Base: "empty", Width: 100, Height: 100, Panels: [][]figure.Panel{{p}}}
			parsedSVG(t, written(t, "inline", f))
		}
	}
}

func TestCharactersThatTheFontLacksAreDrawn(t *testing.T) {
	f := sample()
	f.Title, f.Panels[0][0].Title = "a中\U0001F600\uFFFF", "a中\U0001F600\uFFFF"
	for form := range forms {
		written(t, form, f)
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

func BenchmarkForms(b *testing.B) {
	for _, form := range []string{"pdf", "svg", "inline"} {
		b.Run(form, func(b *testing.B) {
			for b.Loop() {
				written(b, form, sample())
			}
		})
	}
}
