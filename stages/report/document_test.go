package report_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/typeset"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/report"
	"speceval/stages/report/figures"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

var requiresTeX = os.Getenv("SPECEVAL_CI") != ""

// compiled sets the report of an output folder as an author would, from where it
// stands, and returns the path of the PDF.
func (f folder) compiled(t *testing.T) string {
	t.Helper()
	const overfullPoints = 2 // how far a line may stick out
	pdf, log := golden.CompileFolder(t, requiresTeX, f.dir, "report.tex")
	golden.CheckLog(t, log, overfullPoints)
	golden.CheckFonts(t, requiresTeX, pdf)
	return pdf
}

func (f folder) content(t *testing.T, file string) string {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(file))))
	return string(text)
}

// with is the folder with other settings of the report.
func (f folder) with(change func(*stored.Settings)) folder {
	change(&f.settings)
	f.stages[len(f.stages)-1] = report.Stage(f.settings)
	return f
}

func TestTheDocumentOfThePaperIsReadyForPrint(t *testing.T) {
	s := fleetStudy(t)
	swap(policy.EN.Name, 100, 64, 54, 0.0002)(&s)
	f := s.reported(t)
	f.compiled(t)
	text := f.content(t, "report.tex")
	for _, want := range []string{
		"Of the numbers of the paper that are compared here: computed 174 of 174 agree; re-aggregated 56 of 56 agree;", `\input{tables/table4_benefit.tex}`, `\specHBNReductionLeast{} to \specHBNReductionMost{}`,
		`\verdict{Computed 20 of 20 agree.`, "tie within noise (54 for the paper's 55;", `\begin{longtable}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("report.tex lacks %q", want)
		}
	}
	if n := strings.Count(text, `\verdict{`); n < 8 {
		t.Errorf("%d verdicts, want those of all tables that the paper has", n)
	}
}

// hostile is a study whose names are all that TeX takes for something else.
func hostile(t *testing.T) folder {
	t.Helper()
	names := []string{`50%_&_#1`, `{$x^2$}~\end{document}`, `--"été" 中文 <|>` + "`'", strings.Repeat("long_", 14) + "name"}
	s := smallStudy()
	s.costs, s.pairs = costs{}, nil
	var ratios []variance.Ratio
	for i, name := range names {
		model := names[len(names)-1-i]
		for _, r := range s.ratios {
			if r.Benchmark == "aime24" {
				r.Benchmark, r.Model = name, model
				ratios = append(ratios, r)
			}
		}
		p := profile.Profile{Benchmark: name, Model: model, Scorer: "test", TestedK: 10}
		for i := range 30 {
			p.TaskIDs, p.PassCounts = append(p.TaskIDs, fmt.Sprint(i)), append(p.PassCounts, 5)
		}
		s.pairs = append(s.pairs, pair.Known(p))
	}
	s.ratios = ratios
	return s.folder(t)
}

// engine is the TeX of this machine.
func engine(t *testing.T) *typeset.Engine {
	t.Helper()
	e, err := typeset.Find(t.Context(), exec.LookPath, os.Environ())
	if err != nil {
		if requiresTeX {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return e
}

// TestHostileNamesAreSet holds report.pdf to what an author gets who sets
// report.tex elsewhere, byte for byte.
func TestHostileNamesAreSet(t *testing.T) {
	tex := engine(t)
	f := hostile(t).with(func(set *stored.Settings) { set.TeX = tex })
	dagtest.Run(t, f.stages, f.dir)
	made := f.content(t, "report.pdf")
	if !strings.HasPrefix(made, "%PDF-") {
		t.Errorf("not a PDF: %.20q", made)
	}
	again, err := os.ReadFile(f.compiled(t))
	if err != nil || string(again) != made {
		t.Errorf("two runs in two folders differ: %v", err)
	}
	_, body, _ := strings.Cut(f.content(t, "report.tex"), `\begin{document}`)
	for _, not := range []string{`\verdict{`, "published}", "agree"} {
		if strings.Contains(body, not) {
			t.Errorf("a document of other profiles than the paper's has %q", not)
		}
	}
	engineNamed := func(s dag.Source) bool { return s.Name == "TeX engine: "+tex.Version }
	if u := unitOf(t, f.settings, "pdf"); !slices.ContainsFunc(u.Sources, engineNamed) {
		t.Errorf("the version of the engine is no source: %v", u.Sources)
	}
}

// unitOf is a unit of the report.
func unitOf(t *testing.T, set stored.Settings, id string) dag.Unit {
	t.Helper()
	for _, u := range report.Stage(set).Units {
		if u.ID == id {
			return u
		}
	}
	t.Fatalf("there is no unit %s", id)
	return dag.Unit{}
}

// TestAFailureOfTeXLeavesTheRest has an engine that finds fault with everything.
func TestAFailureOfTeXLeavesTheRest(t *testing.T) {
	f := hostile(t)
	broken := filepath.Join(f.dir, "pdflatex")
	ok(t, os.WriteFile(broken, []byte("#!/bin/sh\necho './report.tex:5: LaTeX Error: File `booktabs.sty'\\'' not found.'\nexit 1\n"), 0o755))
	f = f.with(func(set *stored.Settings) {
		set.TeX = &typeset.Engine{Path: broken, Version: "TeX that fails"}
	})
	err := dagtest.Try(t, f.stages, f.dir, dag.Selection{})
	if err == nil || !strings.Contains(err.Error(), "report.tex:5: LaTeX Error") || !strings.Contains(err.Error(), "apt-get install texlive-latex-base") {
		t.Errorf("error %v", err)
	}
	if f.content(t, "report.tex") == "" || f.content(t, "tables/numbers.tex") == "" {
		t.Error("other outputs are gone")
	}
	if _, err := os.Stat(filepath.Join(f.dir, "report.pdf")); err == nil {
		t.Error("there is a PDF")
	}
}

func TestThereIsNoPDFWithoutAnEngine(t *testing.T) {
	for _, u := range report.Stage(hostile(t).settings).Units {
		if u.ID == "pdf" {
			t.Error("there is a unit for report.pdf")
		}
	}
}

// TestDocumentsMatchGoldenFiles are of the small study, with made-up verdicts of
// every kind.
func TestDocumentsMatchGoldenFiles(t *testing.T) {
	for folder, published := range map[string]bool{"paper": true, "own": false} {
		d := smallDocument(t, published)
		golden.Check(t, filepath.Join(folder, "report.tex"), []byte(documentText(t, d)))
	}
}

func documentText(t *testing.T, d report.Document) string {
	t.Helper()
	text := must(report.LaTeX(d))
	return text
}

func smallDocument(t *testing.T, published bool) report.Document {
	t.Helper()
	s := smallStudy()
	s.Published = published
	d := report.Document{
		Experiment: stored.Experiment{Published: published, Budgets: []int32{8, 12}},
		Comment:    "command: c; commit: d; key: e", Macros: map[string]bool{},
	}
	for _, of := range []*model.Table{tables.Variance, tables.Robustness} { // no text quotes the others
		macros := must(of.Macros(s.source(t)))
		for _, m := range macros {
			d.Macros[m.Name] = true
		}
	}
	set := s.settings(t)
	for _, of := range tables.Of(&set) {
		if of != tables.TSNeyman { // it is not there
			sheet := s.sheet(t, of)
			d.Exhibits = append(d.Exhibits, report.Exhibit{Table: of, Caption: sheet.Title, Sheet: sheet})
		}
	}
	pairs := *figures.Pairs.Table
	pairs.Label = "fig:pairs"
	d.Exhibits = append(d.Exhibits,
		report.Exhibit{Table: &pairs, Caption: "Caption of b."},
		report.Exhibit{Table: &model.Table{Base: "figure9_own", Label: "fig:own"}, Caption: "A figure that no chapter names."})
	if published {
		d.Verdicts = someVerdicts()
	}
	return d
}

// someVerdicts has a comparison of every kind.
func someVerdicts() report.Verdicts {
	half, other := 0.5, 0.612
	compare := func(value, se, theirs float64, decimals int) agreement.Comparison {
		return agreement.Compare(agreement.Estimate{Value: value, SE: se}, theirs, decimals, 0)
	}
	tie := agreement.Choice(agreement.Beside(3, 4, 0), 0.0001, 0.001).Noted("the paper's (m, w) has a risk 0.000100 higher")
	v := report.Verdicts{Published: true, Skipped: "not compared: budgets [64] of the paper are not part of this experiment", Cells: []agreement.Comparison{
		compare(0.8725, 0.0004, 0.872, 3).In("table1_variance", "b=8", "hbn"),
		compare(0.4, 0, 0.41, 2).In("table1_variance", "b=8", "oracle"),
		compare(0.8741, 0.0004, 0.873, 3).In("table1_variance", "b=12", "hbn"),
		agreement.Lacking(0.9, 2, "not replayed").In("table1_variance", "b=12", "tuned_ibn"),
		tie.In("table5_hbn_schedule", "N=30 b=8", "m"),
		{Table: "table5_hbn_schedule", Row: "N=100 b=8", Column: "w", Paper: &half, Verdict: agreement.NotRun, Note: "the replay stage has not run", Decimals: 2},
		{Table: "table3_time", Row: "measured b=8", Column: "sync_time", Obtained: &other, Paper: &half, Verdict: agreement.Shown, Decimals: 2},
		{Table: "robustness", Row: "b=8", Column: "worst_profile", ObtainedName: "a_b__model=c", PaperName: "d__model=e", Verdict: agreement.Differs},
		agreement.Foretold(agreement.Forecast{Mean: 0.25, SD: 0.02}, agreement.Forecast{Mean: 0.02}, 0.3373, 4).As(agreement.Predicted).In("table3_time", "simulated b=8", "sync_time"),
	}}
	for i := range v.Cells {
		v.Cells[i].Class = cmp.Or(v.Cells[i].Class, agreement.Computed)
		if strings.HasPrefix(v.Cells[i].Row, "measured") {
			v.Cells[i].Class = agreement.Measured
		}
	}
	return v
}
