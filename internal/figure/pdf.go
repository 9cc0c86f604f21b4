package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"github.com/klauspost/compress/zlib"

	"speceval/internal/typeface"
)

// PDF writes a figure as a PDF of one page of its size, with the parts of its
// TrueType fonts that it needs. Nothing in it depends on when or where.
func PDF(w io.Writer, f Figure) error {
	s, err := sheetOf(f)
	if err != nil {
		return err
	}
	subsets, err := s.subsets()
	if err != nil {
		return fmt.Errorf("figure %s: %w", f.Base, err)
	}
	doc := newDocument()
	pages, page, content := doc.reserve(), doc.reserve(), doc.reserve()
	fonts := ""
	for face, subset := range subsets {
		if len(subset.Chars) > 0 {
			id, err := doc.font(face, subset)
			if err != nil {
				return err
			}
			fonts += fmt.Sprintf("/F%d %d 0 R ", face, id)
		}
	}
	doc.set(pages, fmt.Sprintf("<< /Type /Pages /Kids [%d 0 R] /Count 1 >>", page))
	doc.set(page, fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %s %s] /Contents %d 0 R /Resources << /Font << %s>> >> >>",
		pages, number(s.width), number(s.height), content, fonts))
	if err := doc.stream(content, "", []byte(s.operators(subsets))); err != nil {
		return err
	}
	doc.set(doc.root(), fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", pages))
	_, err = w.Write(doc.bytes(f.Title))
	return err
}

// document is the numbered objects of a PDF; the first is the catalogue.
type document struct{ objects []string }

func newDocument() *document { return &document{objects: make([]string, 1)} }

func (d *document) root() int { return 1 }

// reserve is the number of an object to come.
func (d *document) reserve() int {
	d.objects = append(d.objects, "")
	return len(d.objects)
}

func (d *document) set(id int, object string) { d.objects[id-1] = object }

func (d *document) add(object string) int {
	id := d.reserve()
	d.set(id, object)
	return id
}

// stream sets an object that holds data, compressed by a library of a fixed
// version, so that another Go gives the same bytes.
func (d *document) stream(id int, entries string, data []byte) error {
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	d.set(id, fmt.Sprintf("<< %s/Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", entries, packed.Len(), packed.String()))
	return nil
}

// bytes is the whole file.
func (d *document) bytes(title string) []byte {
	info := d.add("<< /Title " + pdfText(title) + " >>")
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	at := make([]int, len(d.objects))
	for i, object := range d.objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, d.root(), info, start)
	return b.Bytes()
}

// font embeds a subset: a composite font whose codes are its glyphs, with a map
// back to characters for those who search and copy.
func (d *document) font(face int, subset typeface.Subset) (int, error) {
	loaded, err := faces()
	if err != nil {
		return 0, err
	}
	name, m := tagged(face, subset), loaded[face].Metrics()
	mil := func(ems float64) string { return number(1000 * ems) }
	file, unicode := d.reserve(), d.reserve()
	if err := d.stream(file, fmt.Sprintf("/Length1 %d ", len(subset.Data)), subset.Data); err != nil {
		return 0, err
	}
	if err := d.stream(unicode, "", []byte(toUnicode(subset))); err != nil {
		return 0, err
	}
	flags := 4 // symbolic: it has its own codes
	if m.Italic != 0 {
		flags |= 1 << 6
	}
	descriptor := d.add(fmt.Sprintf("<< /Type /FontDescriptor /FontName /%s /Flags %d /FontBBox [%s %s %s %s] /ItalicAngle %s /Ascent %s /Descent %s /CapHeight %s /StemV 80 /FontFile2 %d 0 R >>",
		name, flags, mil(m.Left), mil(m.Bottom), mil(m.Right), mil(m.Top), number(m.Italic), mil(m.Ascent), mil(m.Descent), mil(m.CapHeight), file))
	var widths []string
	for _, w := range subset.Widths {
		widths = append(widths, mil(w))
	}
	descendant := d.add(fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor %d 0 R /CIDToGIDMap /Identity /W [0 [%s]] >>",
		name, descriptor, strings.Join(widths, " ")))
	return d.add(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>",
		name, descendant, unicode)), nil
}

// toUnicode maps glyphs to characters, at most a hundred a block.
func toUnicode(subset typeface.Subset) string {
	var b strings.Builder
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n" +
		"/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")
	for from := 0; from < len(subset.Chars); from += 100 {
		block := subset.Chars[from:min(from+100, len(subset.Chars))]
		fmt.Fprintf(&b, "%d beginbfchar\n", len(block))
		for _, r := range block {
			fmt.Fprintf(&b, "<%04X> <%04X>\n", subset.Glyph[r], r)
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return b.String()
}

// pdfText is a text as PDF stores it, in UTF-16.
func pdfText(s string) string {
	var b strings.Builder
	b.WriteString("<FEFF")
	for _, r := range s {
		if r > 0xFFFF {
			r = '?'
		}
		fmt.Fprintf(&b, "%04X", r)
	}
	return b.String() + ">"
}

// pdfColor is a colour, before the operator that sets it.
func pdfColor(c *color.RGBA, operator string) string {
	part := func(v uint8) string { return fmt.Sprintf("%.3g", float64(v)/255) }
	return part(c.R) + " " + part(c.G) + " " + part(c.B) + " " + operator + "\n"
}
