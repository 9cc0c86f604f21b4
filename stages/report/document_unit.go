package report

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"speceval/internal/table"
	"speceval/internal/typeset"
	"speceval/pipeline/dag"
)

// The documents that gather everything, relative to the output folder.
const (
	texFile = "report.tex"
	pdfFile = "report.pdf"
)

// documentUnits are the unit of report.tex and, where a TeX engine is to set it,
// that of report.pdf.
func (s Settings) documentUnits() []dag.Unit {
	units := []dag.Unit{s.documentUnit()}
	if s.TeX != nil {
		units = append(units, s.pdfUnit())
	}
	return units
}

// parts are the units of the stage that the document shows.
func (s Settings) parts() []dag.Ref {
	refs := []dag.Ref{experimentRef, ownRef("numbers")}
	for _, kind := range s.tables() {
		refs = append(refs, ownRef(kind.base))
	}
	return append(refs, s.plates()...)
}

// documentUnit is the unit of report.tex. It shows the configuration, and so
// depends on all of it.
func (s Settings) documentUnit() dag.Unit {
	u := dag.Unit{
		ID: "document", Needs: s.parts(), Wants: s.verdictRefs(),
		Config: maps.Clone(s.Configuration), Outputs: []string{texFile}, Provenance: "computed",
	}
	if u.Config == nil {
		u.Config = map[string]string{}
	}
	for _, kind := range s.figures() { // for their captions
		maps.Copy(u.Config, kind.config)
		u.Wants = append(u.Wants, kind.wants...)
		s.addProfiles(&u, kind.profiles)
	}
	if s.Published {
		u.Sources = append(u.Sources, source("data/paper_targets.toml", s.Targets))
	}
	s.addRuns(&u)
	u.Needs, u.Wants = eachOnce(u.Needs, nil), eachOnce(u.Wants, u.Needs)
	u.Run = func(_ context.Context, job *dag.Job) error {
		d, err := s.newDocument(job)
		if err != nil {
			return err
		}
		text, err := d.tex()
		if err != nil {
			return err
		}
		return job.Write(texFile, -1, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	return u
}

// eachOnce is each of the units once, and none of those that are there already.
func eachOnce(refs, there []dag.Ref) []dag.Ref {
	var out []dag.Ref
	for _, ref := range refs {
		if !slices.Contains(out, ref) && !slices.Contains(there, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// pdfUnit is the unit of report.pdf.
func (s Settings) pdfUnit() dag.Unit {
	return dag.Unit{
		ID: "pdf", Needs: append(s.parts(), ownRef("document")), Outputs: []string{pdfFile}, Provenance: "computed",
		Sources: []dag.Source{source("TeX engine: "+s.TeX.Version, []byte(s.TeX.Version))},
		Run: func(ctx context.Context, job *dag.Job) error {
			files, err := texInputs(job)
			if err != nil {
				return err
			}
			pdf, err := s.TeX.PDF(ctx, typeset.Document{Main: texFile, Files: files})
			if err != nil {
				return fmt.Errorf(`%s stands, but TeX cannot set it (report.pdf = "never" does without): %w`, texFile, err)
			}
			return job.Write(pdfFile, -1, func(w io.Writer) error {
				_, err := w.Write(pdf)
				return err
			})
		},
	}
}

// texInputs reads what TeX may ask for.
func texInputs(job *dag.Job) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, file := range job.Inputs() {
		if ext := path.Ext(file); ext != ".tex" && ext != ".pdf" {
			continue
		}
		data, err := readInput(job.Input, file)
		if err != nil {
			return nil, err
		}
		files[file] = data
	}
	return files, nil
}

func readInput(in locate, file string) ([]byte, error) {
	local, err := in(file)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(local)
}

// newDocument gathers what the document shows.
func (s Settings) newDocument(job *dag.Job) (document, error) {
	d := document{origin: origin(job), settings: s, configuration: s.Configuration,
		tables: map[string]table.Printed{}, columns: map[string][]string{}}
	local, err := job.Input(experimentFile)
	if err != nil {
		return d, err
	}
	if d.Experiment, err = readExperiment(local); err != nil {
		return d, err
	}
	numbers, err := readInput(job.Input, numbersFile)
	if err != nil {
		return d, err
	}
	d.quoted = macroNames(string(numbers))
	for _, kind := range s.tables() {
		file := "tables/" + kind.base + ".tex"
		text, err := readInput(job.Input, file)
		if err != nil {
			return d, err
		}
		if d.tables[kind.base], err = table.ReadLaTeX(text); err != nil {
			return d, fmt.Errorf("%s: %w; run the report stage again", file, err)
		}
		if d.columns[kind.base], err = readColumns(job.Input, kind.base); err != nil {
			return d, err
		}
	}
	for _, file := range job.Inputs() {
		d.inputs = append(d.inputs, [2]string{file, job.InputSHA256(file)})
	}
	if d.verdicts, err = s.verdicts(d.Experiment, job.Input); err != nil {
		return d, err
	}
	d.figures, err = s.readFigures(job.Input)
	return d, err
}

// verdicts compares what a unit reads with the paper and with predictions.
func (s Settings) verdicts(e Experiment, in locate) (Verdicts, error) {
	paper, err := s.paper()
	if err != nil || !s.judged() {
		return Verdicts{}, err
	}
	if paper == nil {
		paper = &Targets{}
	}
	results, err := gather(e, in)
	if err != nil {
		return Verdicts{}, err
	}
	return judge(results, *paper)
}

// macroNames are the commands that a file defines, one a line.
func macroNames(text string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, `\newcommand{\`); ok {
			name, _, _ := strings.Cut(rest, "}")
			names[name] = true
		}
	}
	return names
}
