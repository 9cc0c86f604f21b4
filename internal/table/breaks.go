package table

import (
	"fmt"
	"regexp"
	"strings"
)

// Breakable is plain text as LaTeX in which a line may end after every character
// that is no letter or digit, and within long words.
func Breakable(s string) string {
	var b strings.Builder
	run := 0
	for _, r := range s {
		b.WriteString(Escape(string(r)))
		run++
		if word := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'; !word || run >= 16 {
			b.WriteString(`\allowbreak{}`)
			run = 0
		}
	}
	return b.String()
}

// Typewriter is a word in typewriter type, which may break anywhere.
func Typewriter(word string) string { return `\texttt{` + Breakable(word) + `}` }

// Breaking is a phrase that may break in LaTeX as Breakable says.
func Breaking(s string) Cell { return Math(s, Breakable(s)) }

var typewriter = regexp.MustCompile(`\\texttt\{[^{}]*\}`)

// BreakFiles lets the names of files in a Formula break after a slash or an
// underscore.
func BreakFiles(tex string) string {
	return typewriter.ReplaceAllStringFunc(tex, func(name string) string {
		return strings.NewReplacer("/", `/\allowbreak{}`, `\_`, `\_\allowbreak{}`).Replace(name)
	})
}

// Ragged is the Align of a LaTeX column of so many millimetres whose text breaks.
func Ragged(width int) string { return fmt.Sprintf(`>{\raggedright\arraybackslash}p{%dmm}`, width) }

// Widths of a page, upright and sideways, in points, and that of a character in
// the type size of long tables.
const (
	upright, sideways = 455, 680
	scriptsize        = 3.75
)

// Fitted is the table over pages, sideways or in smaller type where it would be too
// wide for the page; the document needs pdflscape beside what Long needs.
func (p Printed) Fitted() string {
	separation, size := 4.0, `\scriptsize`
	width := func() float64 {
		return float64(p.Width())*scriptsize + 2*separation*float64(p.columns-1)
	}
	if width() > upright {
		separation = 2.2
	}
	before, after := "", ""
	if width() > upright {
		before, after = "\\begin{landscape}\n", "\\end{landscape}"
		if width() > sideways {
			size = `\tiny`
		}
	}
	return fmt.Sprintf("%s{%s\\setlength{\\tabcolsep}{%gpt}\n%s}%s", before, size, separation, p.Long(), after)
}
