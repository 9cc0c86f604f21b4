package typeset

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Error is the first thing that TeX found wrong with a document.
type Error struct {
	Engine  string
	File    string // of the document; "" where TeX does not say
	Line    int    // of File, from 1; 0 where TeX does not say
	Message string // TeX's own
	Near    string // what TeX was reading; "" where it does not say

	Missing string // the style or font that is not installed; "" for other errors
	Package string // the Debian package that has it; "" if unknown
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Engine + ": ")
	if e.File != "" {
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	} else if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Message)
	if e.Near != "" {
		fmt.Fprintf(&b, " (near %q)", e.Near)
	}
	if e.Missing != "" {
		fmt.Fprintf(&b, "; this TeX lacks %s", e.Missing)
	}
	if e.Package != "" {
		fmt.Fprintf(&b, ": on Debian, apt-get install %s", e.Package)
	}
	return b.String()
}

var (
	located = regexp.MustCompile(`^(?:\./)?([^\s:()]+):(\d+): (.+)$`)
	at      = regexp.MustCompile(`^l\.(\d+) ?(.*)$`)
	style   = regexp.MustCompile("File [`']([^'`]+\\.(?:sty|cls|def|fd))' not found")
	font    = regexp.MustCompile(`(?i)\bfont \\?\S*?([a-z]{2,}\d+)\b.* not (?:found|loadable)`)
)

// firstError is the first error in the output of an engine: a line that begins
// with a place in a file, or with an exclamation mark.
func firstError(engine, output string) *Error {
	e := &Error{Engine: engine, Message: "it failed without saying why"}
	lines := strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if !e.begins(line) {
			continue
		}
		e.read(lines[i+1:])
		break
	}
	for _, missing := range []*regexp.Regexp{style, font} {
		if m := missing.FindStringSubmatch(e.Message); m != nil {
			e.Missing, e.Package = m[1], packageOf(m[1])
			break
		}
	}
	return e
}

// begins takes an error's first line, if this is one.
func (e *Error) begins(line string) bool {
	if m := located.FindStringSubmatch(line); m != nil {
		e.File, e.Message = m[1], m[3]
		e.Line, _ = strconv.Atoi(m[2])
		return true
	}
	if message, ok := strings.CutPrefix(line, "!"); ok {
		e.Message = strings.TrimSpace(message)
		return true
	}
	return false
}

// read takes from the rest of an error what TeX was reading.
func (e *Error) read(lines []string) {
	for _, line := range lines {
		if m := at.FindStringSubmatch(line); m != nil {
			e.Near = m[2]
			if e.Line == 0 {
				e.Line, _ = strconv.Atoi(m[1])
			}
			return
		}
	}
}

// Packages are the Debian packages that have all that a report needs.
var Packages = []string{"texlive-latex-base", "texlive-latex-recommended", "lmodern"}

// debian are the Debian packages with the files that a document may ask for, by
// name without extension; any other style is in a large package.
var debian = map[string]string{
	"article": "texlive-latex-base", "array": "texlive-latex-base", "longtable": "texlive-latex-base",
	"fontenc": "texlive-latex-base", "inputenc": "texlive-latex-base", "textcomp": "texlive-latex-base",
	"graphicx": "texlive-latex-base", "hyperref": "texlive-latex-base", "geometry": "texlive-latex-base",
	"amsmath": "texlive-latex-base", "amssymb": "texlive-base", "amsfonts": "texlive-base", "pdflscape": "texlive-latex-base",
	"booktabs": "texlive-latex-recommended", "caption": "texlive-latex-recommended",
	"microtype": "texlive-latex-recommended", "xcolor": "texlive-latex-recommended", "float": "texlive-latex-recommended",
	"fancyvrb": "texlive-latex-recommended", "etoolbox": "texlive-latex-recommended",
	"lmodern": "lmodern", "cm-super": "cm-super", "adjustbox": "texlive-latex-extra",
}

// packageOf is the Debian package with a style, class or font. Names of fonts
// that begin with two letters of the families ec, tc and cm-super are theirs.
func packageOf(file string) string {
	name := strings.TrimSuffix(file, path.Ext(file))
	if p, known := debian[name]; known {
		return p
	}
	switch ext := path.Ext(file); {
	case ext == ".sty" || ext == ".cls":
		return "texlive-latex-extra"
	case strings.HasPrefix(name, "lm"):
		return "lmodern"
	case strings.HasPrefix(name, "ec") || strings.HasPrefix(name, "tc"):
		return "cm-super"
	}
	return ""
}
