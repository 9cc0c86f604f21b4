package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// macro is a LaTeX command that stands for a number in running text.
type macro struct{ name, value string }

// numbers is a macro for every number of the variance study that a text would
// quote: \specHBNVarianceBSixFour is HBN's mean Uniform-normalized variance
// at b = 64 in percent, \specHBNReductionBSixFour the rest to 100%. A name is
// spec, then whose number it is, what it is, and B with the budget; LaTeX names
// have no digits, so those of a budget are spelled out.
func numbers(res Results) ([]macro, error) {
	rows, err := meanRows(res)
	if err != nil {
		return nil, err
	}
	var out []macro
	add := func(name string, b int32, value string) {
		out = append(out, macro{"spec" + name + "B" + spelled(b), value})
	}
	for _, r := range rows {
		for _, policy := range policies {
			if e, ok := r.means[policy]; ok {
				short := macroName[policy]
				add(short+"Variance", r.budget, percent(e.Value))
				add(short+"Reduction", r.budget, percent(1-e.Value))
			}
		}
		if r.alpha != nil {
			add("IBNAlpha", r.budget, strconv.FormatFloat(*r.alpha, 'g', -1, 64))
		}
	}
	out = append(out, gainNumbers(rows, res.Ratios)...)
	for _, s := range spreads(res.Ratios) {
		add("Profiles", s.budget, strconv.Itoa(s.profiles))
		add("ProfilesGaining", s.budget, strconv.Itoa(s.gaining))
		add("WorstProfile", s.budget, profileName(s.worst))
		add("WorstRatio", s.budget, strconv.FormatFloat(s.worst.VarianceRatio, 'f', 3, 64))
	}
	return out, nil
}

var macroName = map[string]string{
	variance.Oracle: "Oracle", variance.TunedEN: "EN", variance.TunedIBN: "IBN", variance.HBN: "HBN",
}

// percent is a fraction as Table 1 prints it.
func percent(v float64) string { return table.Format{Decimals: 1, Percent: true}.Print(v) }

// spelled is a number as the words of its digits: 64 is SixFour.
func spelled(n int32) string {
	words := [10]string{"Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"}
	var b strings.Builder
	for _, digit := range strconv.Itoa(int(n)) {
		b.WriteString(words[digit-'0'])
	}
	return b.String()
}

// writeMacros writes LaTeX commands, one a line, under a comment. A number below
// zero has TeX's sign, not a hyphen.
func writeMacros(w io.Writer, comment string, macros []macro) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n", comment)
	for _, m := range macros {
		fmt.Fprintf(&b, "\\newcommand{\\%s}{%s}\n", m.name, table.Escape(withMinus(m.value)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
