package table

import (
	"fmt"
	"strings"
	"unicode"
)

// texSpecial maps characters that LaTeX reads as commands, or that its
// standard encodings lack, to what prints them.
var texSpecial = map[rune]string{
	'\\': `\textbackslash{}`,
	'{':  `\{`,
	'}':  `\}`,
	'$':  `\$`,
	'&':  `\&`,
	'#':  `\#`,
	'%':  `\%`,
	'_':  `\_`,
	'^':  `\textasciicircum{}`,
	'~':  `\textasciitilde{}`,
	'<':  `\textless{}`,
	'>':  `\textgreater{}`,
	'|':  `\textbar{}`,
	'`':  `\textasciigrave{}`,
	'—':  `---`,
	'–':  `--`,
	'−':  `$-$`,
	'×':  `$\times$`,
	'±':  `$\pm$`,
	'≤':  `$\le$`,
	'≥':  `$\ge$`,
	'√':  `$\surd$`,
	'·':  `$\cdot$`,
	'‡':  `$\sp\ddagger$`,
	'†':  `$\sp\dagger$`, // the text dagger is a bitmap font in a plain TeX
	'α':  `$\alpha$`,
	'θ':  `$\theta$`,
}

// Escape turns plain text into LaTeX that prints it, in text mode and on one
// line. A character that standard LaTeX fonts lack prints as its code point
// in brackets, so that a foreign name is visible instead of an error.
func Escape(s string) string {
	var b strings.Builder
	var last rune
	for _, r := range s {
		tex, special := texSpecial[r]
		switch {
		case special:
			b.WriteString(tex)
		case r == '-' && last == '-':
			b.WriteString("{}-") // two hyphens, not the ligature of a dash
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r < ' ' || r > '~':
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// Plain turns LaTeX text of ours into plain text. It has no commands but those that
// Escape writes for characters, and symbols in formulas.
func Plain(tex string) string { return plain.Replace(tex) }

var plain = strings.NewReplacer(
	`\%`, "%", `\&`, "&", `\#`, "#", `\$`, "$", `\_`, "_", `\{`, "{", `\}`, "}",
	`\textbackslash{}`, `\`, `\textasciitilde{}`, "~", `\textasciicircum{}`, "^", `\textless{}`, "<", `\textgreater{}`, ">",
	"$", "", "~", "\u00a0", "---", "—", "--", "–", "{}", "",
)
