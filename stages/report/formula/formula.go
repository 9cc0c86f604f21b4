// Package formula says what every column of every table of the report is: by
// which formula of the paper, of which stored rows. It holds words alone; the
// report's explanations, page and document show them.
package formula

import (
	"maps"
	"strings"

	"speceval/internal/table"
)

// Formula says what a column of a table is: by which formula, named as in the
// paper, of which stored rows.
type Formula struct {
	Plain string `json:"plain"` // for a terminal
	TeX   string `json:"tex"`   // the same as LaTeX text
}

// formulaOf is the formula of a column of a table; ok is false for a column
// that no table has.
func Of(base, column string) (f Formula, ok bool) {
	words, ok := formulas[base][column]
	if !ok {
		return Formula{}, false
	}
	return inBothForms(words), true
}

// formulas are the words of every column, by table. In them «plain¦TeX» is a
// formula in two forms, «same» one that both forms share, and ‹file› a file.
var formulas = join(varianceFormulas, costFormulas, designFormulas, profileFormulas, errorFormulas, measuredFormulas)

func join(parts ...map[string]map[string]string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// with is a copy of some columns with further ones.
func with(columns map[string]string, more map[string]string) map[string]string {
	all := maps.Clone(columns)
	maps.Copy(all, more)
	return all
}

// Words that tables share.
const (
	budgetWords    = "The average budget «b»: rollouts per task, «N·b¦N b» in all (Section 2)."
	tasksWords     = "The number of tasks «N» of the benchmark."
	benchmarkWords = "The benchmark of the profile."
	modelWords     = "The checkpoint whose rollouts the profile counts."
	policyWords    = "The policy that allocates the rollouts."
)

// fromPaper are the columns of the paper's own numbers, named after ours.
func fromPaper(where string, columns ...string) map[string]string {
	all := map[string]string{}
	for _, c := range columns {
		all["paper_"+c] = "The number that the paper prints for " + c + " (" + where + "), as ‹data/paper_targets.toml› has it: rounded, and with no error of its own given."
	}
	return all
}

// tied keeps a number on the line of what it counts, at the space of a word: the
// full stop of "Eq." ends no sentence.
var tied = strings.NewReplacer("Eq. ", "Eq.~", "Eqs. ", "Eqs.~", "Table ", "Table~", "Tables ", "Tables~", "Section ", "Section~", "Appendix ", "Appendix~")

// inBothForms turns words into their two forms.
func inBothForms(words string) Formula {
	var plain, tex strings.Builder
	for words != "" {
		at := strings.IndexAny(words, "«‹")
		if at < 0 {
			at = len(words)
		}
		plain.WriteString(words[:at])
		tex.WriteString(tied.Replace(table.Escape(words[:at])))
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
			tex.WriteString(`\texttt{` + table.Escape(inner) + "}")
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
