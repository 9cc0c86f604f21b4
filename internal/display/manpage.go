// A ManPage is written as a manual page of section 1, the same bytes for the same
// command: no date, no host.

package display

import (
	"fmt"
	"io"
	"strings"
)

// ManPage is the manual page of a command.
type ManPage struct {
	Name     string // of the page, as of Name
	About    string // one line
	Usage    string // the command line
	Text     string // what it does, with its own line breaks
	Examples string // lines
	Options  [][2]string
	See      []string // names of other pages
}

// ManPageName is the name of the page of a command line's words.
func ManPageName(words string) string { return strings.ReplaceAll(words, " ", "-") }

// Write writes the page as troff reads it.
func (p ManPage) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(escapedRoff(p.Name)), escapedRoff(p.Name), escapedRoff(p.About))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", escapedRoff(p.Usage))
	section(&b, "DESCRIPTION", p.Text)
	section(&b, "EXAMPLES", p.Examples)
	if len(p.Options) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for _, o := range p.Options {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escapedRoff(o[0]), escapedRoff(o[1]))
	}
	if len(p.See) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", escapedRoff(strings.Join(p.See, "(1), ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// section writes text as it is, line by line.
func section(b *strings.Builder, title, text string) {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return
	}
	fmt.Fprintf(b, ".SH %s\n.nf\n", title)
	for line := range strings.Lines(text + "\n") {
		b.WriteString(escapedRoff(line))
	}
	b.WriteString(".fi\n")
}

// escapedRoff is a text in which nothing is a request of troff.
func escapedRoff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
