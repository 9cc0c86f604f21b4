package table

import (
	"strings"
)

// Formula says what a column of a table is, with formulas in it.
type Formula struct {
	Plain string `json:"plain"` // for a terminal
	TeX   string `json:"tex"`   // the same as LaTeX text
}

// tied keeps a number on the line of what it counts, at the space of a word: the
// full stop of "Eq." ends no sentence.
var tied = strings.NewReplacer("Eq. ", "Eq.~", "Eqs. ", "Eqs.~", "Table ", "Table~", "Tables ", "Tables~", "Section ", "Section~", "Appendix ", "Appendix~")

// NewFormula is words in both forms. In them «plain¦TeX» is a formula in
// two forms, «same» one that both forms share, and ‹file› a file.
func NewFormula(words string) Formula {
	var plain, tex strings.Builder
	for words != "" {
		at := strings.IndexAny(words, "«‹")
		if at < 0 {
			at = len(words)
		}
		plain.WriteString(words[:at])
		tex.WriteString(tied.Replace(Escape(words[:at])))
		words = words[at:]
		if inner, rest, ok := enclosed(words, "«", "»"); ok {
			p, t, two := strings.Cut(inner, "¦")
			if !two {
				t = p
			}
			plain.WriteString(p)
			tex.WriteString("$" + t + "$")
			words = rest
		} else if inner, rest, ok := enclosed(words, "‹", "›"); ok {
			plain.WriteString(inner)
			tex.WriteString(`\texttt{` + Escape(inner) + "}")
			words = rest
		}
	}
	return Formula{Plain: plain.String(), TeX: tex.String()}
}

// enclosed cuts what stands between two marks off the beginning of words.
func enclosed(words, open, shut string) (inner, rest string, ok bool) {
	words, ok = strings.CutPrefix(words, open)
	if !ok {
		return "", "", false
	}
	return strings.Cut(words, shut)
}
