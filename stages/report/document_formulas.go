package report

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/table"
	"speceval/stages/report/formula"
)

// columnFormula is a formula and the columns that it is of.
type columnFormula struct {
	columns []string
	tex     string
}

// formulaAppendix says what every column of every table is. A formula that
// several columns share stands once, those of several tables before the others.
func (p *prose) formulaAppendix() {
	if len(p.columns) == 0 {
		return
	}
	p.line("\n\\section{What every column is}\\label{app:formulas}")
	p.paragraph(`Columns are named as in the CSV files; those that begin with \texttt{paper\_} have the numbers that the paper prints. Equations, sections and appendices are the paper's.`)
	often := map[string]int{}
	for _, kind := range p.document.settings.tables() {
		for _, f := range tableFormulas(kind.base, p.columns[kind.base]) {
			often[f.tex]++
		}
	}
	var shared []columnFormula
	seen := map[string]int{} // into shared
	for _, kind := range p.document.settings.tables() {
		for _, f := range tableFormulas(kind.base, p.columns[kind.base]) {
			if often[f.tex] < 2 {
				continue
			}
			if _, again := seen[f.tex]; !again {
				seen[f.tex] = len(shared)
				shared = append(shared, columnFormula{tex: f.tex})
			}
			at := seen[f.tex]
			shared[at].columns = union(shared[at].columns, f.columns)
		}
	}
	p.formulaList("In several tables", shared)
	for _, kind := range p.document.settings.tables() {
		var own []columnFormula
		for _, f := range tableFormulas(kind.base, p.columns[kind.base]) {
			if often[f.tex] < 2 {
				own = append(own, f)
			}
		}
		p.formulaList("tables/"+kind.base+".csv", own)
	}
}

// formulaList sets formulas under a heading.
func (p *prose) formulaList(heading string, list []columnFormula) {
	if len(list) == 0 {
		return
	}
	p.line("\\subsection*{%s}\n\\begin{formulas}", breakable(heading))
	for _, f := range list {
		p.line(`\item[%s] %s`, columnNames(f.columns), filesBreak(f.tex))
	}
	p.line(`\end{formulas}`)
}

var typewriter = regexp.MustCompile(`\\texttt\{[^{}]*\}`)

// filesBreak lets names of files break after a slash or an underscore.
func filesBreak(tex string) string {
	return typewriter.ReplaceAllStringFunc(tex, func(name string) string {
		return strings.NewReplacer("/", `/\allowbreak{}`, `\_`, `\_\allowbreak{}`).Replace(name)
	})
}

// columnNames are names of columns in typewriter type.
func columnNames(columns []string) string {
	words := make([]string, len(columns))
	for i, c := range columns {
		words[i] = `\texttt{` + table.Escape(c) + `}`
	}
	return strings.Join(words, `, \allowbreak `)
}

// tableFormulas are the formulas of a table's columns in their order, each once,
// without those of the paper's numbers.
func tableFormulas(base string, columns []string) []columnFormula {
	var list []columnFormula
	at := map[string]int{}
	for _, c := range columns {
		f, ok := formula.Of(base, c)
		if !ok || strings.HasPrefix(c, "paper_") {
			continue
		}
		if _, again := at[f.TeX]; !again {
			at[f.TeX] = len(list)
			list = append(list, columnFormula{tex: f.TeX})
		}
		list[at[f.TeX]].columns = append(list[at[f.TeX]].columns, c)
	}
	return list
}

// union is a with what of b it lacks.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// readColumns are the columns of a table's CSV form.
func readColumns(in locate, base string) ([]string, error) {
	file := "tables/" + base + ".csv"
	text, err := readInput(in, file)
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	columns, err := csv.NewReader(strings.NewReader(first)).Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; run the report stage again", file, err)
	}
	return columns, nil
}
