package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/table"
)

// longTables sets the tables that run over pages, sideways where they have many
// columns.
func (p *prose) longTables() {
	first := true
	for _, kind := range p.document.settings.tables() {
		if !p.long(kind.base) {
			continue
		}
		if first {
			p.line("\n\\section{Profile by profile}\\label{app:profiles}")
			first = false
		}
		printed := p.tables[kind.base]
		if !p.placed[kind.base] {
			p.paragraph(remarks[kind.base]...)
		}
		p.number(kind.base)
		p.line("%% tables/%s.tex, over pages", kind.base)
		p.line("%s", fitting(printed))
	}
}

// Widths of a page, upright and sideways, in points, and that of a character in
// the type size of long tables.
const (
	upright, sideways = 455, 680
	scriptsize        = 3.75
)

// fitting is a table over pages, sideways or in smaller type where it would be
// too wide.
func fitting(printed table.Printed) string {
	separation, size := 4.0, `\scriptsize`
	width := func(character float64) float64 {
		return float64(printed.Width())*character + 2*separation*float64(printed.Columns()-1)
	}
	if width(scriptsize) > upright {
		separation = 2.2
	}
	before, after := "", ""
	if width(scriptsize) > upright {
		before, after = "\\begin{landscape}\n", "\\end{landscape}"
		if width(scriptsize) > sideways {
			size = `\tiny`
		}
	}
	return fmt.Sprintf("%s{%s\\setlength{\\tabcolsep}{%gpt}\n%s}%s", before, size, separation, printed.Long(), after)
}

// sources is what the tables were made of: keys, and digests of files.
func (p *prose) sources() {
	p.line("\n\\section{Where the numbers come from}")
	p.paragraph(`A table follows from its key, which is a hash of all that it depends on: its inputs, the configuration that it reads, the version of the code, its seeds. The manifests under \texttt{manifests/} have the parts of every key.`)
	if seed, ok := p.configuration["experiment.seed"]; ok {
		p.paragraph(fmt.Sprintf(`All randomness comes from one seed, \texttt{experiment.seed}~=~\texttt{%s}, by way of labelled branches that the manifests name.`, table.Escape(seed)))
	}
	keys := table.Table{
		Title:   "Tables, with what they are made of and their keys.",
		Label:   "tab:keys",
		Columns: []table.Column{{Head: table.Head{Plain: "table"}}, {Head: table.Head{Plain: "made of"}}, {Head: table.Head{Plain: "key"}}},
	}
	for _, kind := range p.document.settings.tables() {
		keys.Rows = append(keys.Rows, []table.Cell{inBreaks(kind.base), inBreaks(kind.madeOf(p.document.settings)), hash(keyOf(p.tables[kind.base]))})
	}
	p.longTable(keys, `@{}>{\raggedright\arraybackslash}p{38mm}>{\raggedright\arraybackslash}p{62mm}>{\raggedright\arraybackslash}p{51mm}@{}`)
	files := table.Table{
		Title:   "Files that this document was made of, with their SHA-256.",
		Label:   "tab:inputs",
		Columns: []table.Column{{Head: table.Head{Plain: "file"}}, {Head: table.Head{Plain: "SHA-256"}}},
	}
	for _, in := range p.inputs {
		files.Rows = append(files.Rows, []table.Cell{inBreaks(in[0]), table.Math(in[1], `{\scriptsize\texttt{`+table.Escape(in[1])+`}}`)})
	}
	p.longTable(files, `@{}>{\raggedright\arraybackslash}p{69mm}l@{}`)
}

// hash is a digest in typewriter type, in halves.
func hash(digest string) table.Cell {
	half := len(digest) / 2
	return table.Math(digest, `{\scriptsize\texttt{`+table.Escape(digest[:half])+`\newline `+table.Escape(digest[half:])+`}}`)
}

// keyOf is the key in a table's first comment.
func keyOf(printed table.Printed) string {
	for _, c := range printed.Comments {
		if _, key, ok := strings.Cut(c, "; key: "); ok {
			return key
		}
	}
	return ""
}

// madeOf names the units and files that a table is made of.
func (k tableKind) madeOf(s Settings) string {
	u := tableUnit(s, k)
	var words []string
	for _, ref := range slices.Concat(u.Needs, u.Wants) {
		words = append(words, ref.Stage+"/"+ref.Unit)
	}
	for _, source := range u.Sources {
		words = append(words, source.Name)
	}
	return strings.Join(words, ", ")
}

// effective is the configuration, every key with its value.
func (p *prose) effective() {
	if len(p.configuration) == 0 {
		return
	}
	p.line("\n\\section{Configuration}")
	t := table.Table{
		Title:   "The configuration, defaults included, without folders and servers.",
		Label:   "tab:configuration",
		Columns: []table.Column{{Head: table.Head{Plain: "key"}}, {Head: table.Head{Plain: "value"}}},
	}
	for _, key := range slices.Sorted(maps.Keys(p.configuration)) {
		t.Rows = append(t.Rows, []table.Cell{inBreaks(key), table.Math(key, setting(p.configuration[key]))})
	}
	p.longTable(t, `@{}>{\raggedright\arraybackslash}p{48mm}>{\raggedright\arraybackslash}p{106mm}@{}`)
}

// setting is a value of the configuration, with each of several tables on a line
// of its own.
func setting(value string) string {
	const long = 60
	tables := strings.Split(value, "},{")
	if len(value)/len(tables) < long {
		return texttt(value)
	}
	for i := range tables {
		tables[i] = texttt(tables[i])
	}
	return strings.Join(tables, texttt("},")+`\newline `+texttt("{"))
}
