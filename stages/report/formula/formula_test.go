package formula

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"speceval/internal/table/textest"
)

// TestFormulasAreSetAsText holds both forms to what makes them fit to print: no
// mark of the words left over, no letter beyond ASCII in LaTeX, whole sentences.
func TestFormulasAreSetAsText(t *testing.T) {
	for base, columns := range formulas {
		for column := range columns {
			f, _ := Of(base, column)
			where := base + " " + column
			if strings.ContainsAny(f.Plain, "«»‹›¦$\\") || strings.ContainsAny(f.TeX, "«»‹›¦") {
				t.Errorf("%s: marks are left over: %+v", where, f)
			}
			if strings.Contains(f.TeX, "Eq. ") || strings.Contains(f.TeX, "Eqs. ") {
				t.Errorf("%s: a sentence ends after Eq.: %s", where, f.TeX)
			}
			if i := strings.IndexFunc(f.TeX, func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 || strings.Contains(f.TeX, "[U+") {
				t.Errorf("%s: LaTeX would not print all of %s", where, f.TeX)
			}
			if strings.Count(f.TeX, "$")%2 != 0 || strings.Count(f.TeX, "{") != strings.Count(f.TeX, "}") {
				t.Errorf("%s: %s does not close what it opens", where, f.TeX)
			}
			if !strings.HasSuffix(f.Plain, ".") || strings.Contains(f.Plain, "  ") || strings.Contains(f.Plain, "..") {
				t.Errorf("%s: no sentence: %s", where, f.Plain)
			}
		}
	}
}

func TestWordsHaveTwoForms(t *testing.T) {
	got := inBothForms("A share: «b/r» of 5% in ‹a_b.csv›, «√x¦\\sqrt{x}».")
	want := Formula{Plain: "A share: b/r of 5% in a_b.csv, √x.", TeX: `A share: $b/r$ of 5\% in \texttt{a\_b.csv}, $\sqrt{x}$.`}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRealLaTeXSetsEveryFormula(t *testing.T) {
	var b strings.Builder
	b.WriteString("\\documentclass{article}\n\\begin{document}\n")
	for _, base := range slices.Sorted(maps.Keys(formulas)) {
		for _, column := range slices.Sorted(maps.Keys(formulas[base])) {
			f, _ := Of(base, column)
			fmt.Fprintf(&b, "%s\n\n", f.TeX)
		}
	}
	b.WriteString("\\end{document}\n")
	textest.Compile(t, os.Getenv("SPECEVAL_CI") != "", b.String())
}
