package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/internal/table/textest"
	"speceval/internal/typeset"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
)

var required = os.Getenv("SPECEVAL_CI") != ""

// overfullPoints is how far a line may stick out.
const overfullPoints = 2

// compiled sets the report of an output folder as an author would, from where it
// stands, and returns the path of the PDF.
func compiled(t *testing.T, out string) string {
	t.Helper()
	pdf, log := textest.CompileFolder(t, required, out, texFile)
	textest.CheckLog(t, log, overfullPoints)
	textest.CheckFonts(t, required, pdf)
	return pdf
}

func TestTheDocumentOfThePaperIsReadyForPrint(t *testing.T) {
	s := paperStudy(t)
	swap(variance.TunedEN, 100, 64, 54, 0.0002)(&s)
	dir := t.TempDir()
	with := settings(t, s)
	with.Systems = true
	with.Configuration = map[string]string{"experiment.seed": "42", "model": `[{"ID":"a"},{"ID":"b"}]`}
	stages := []dag.Stage{replayed(s), systems(withFleet(paperCosts(t, s))), Stage(with)}
	dagtest.Run(t, stages, dir)
	compiled(t, dir)
	text := contents(t, dir, texFile)
	for _, want := range []string{
		"numbers of the paper that are compared here agree.", `\input{tables/table4_benefit.tex}`, `\specHBNReductionLeast{} to \specHBNReductionMost{}`,
		`\verdict{20 of 20 numbers agree`, "tie within noise (54 for the paper's 55;", `\begin{longtable}`, "experiment.\\allowbreak{}seed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("report.tex lacks %q", want)
		}
	}
	if n := strings.Count(text, `\verdict{`); n < 8 {
		t.Errorf("%d verdicts, want those of all tables that the paper has", n)
	}
}

func contents(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hostile is a study whose names are all that TeX takes for something else.
func hostile(t *testing.T) (stored, Settings) {
	t.Helper()
	names := []string{`50%_&_#1`, `{$x^2$}~\end{document}`, `--"été" 中文 <|>` + "`'", strings.Repeat("long_", 14) + "name"}
	s := smallStudy()
	var ratios []variance.Ratio
	set := Settings{Targets: data.PaperTargets(), Budgets: []int{8, 12},
		Configuration: map[string]string{`a_%#&\{~^$`: `["\\x{}$","` + strings.Repeat("y", 200) + `"]`}}
	for i, name := range names {
		model := names[len(names)-1-i]
		for _, r := range s.Ratios {
			if r.Benchmark == "aime24" {
				r.Benchmark, r.Model = name, model
				ratios = append(ratios, r)
			}
		}
		p := profile.Profile{Benchmark: name, Model: model, Scorer: "test", TestedK: 10}
		for i := range 30 {
			p.TaskIDs, p.PassCounts = append(p.TaskIDs, fmt.Sprint(i)), append(p.PassCounts, 5)
		}
		set.Pairs = append(set.Pairs, pair.Known(p))
	}
	s.Ratios = ratios
	var archs bytes.Buffer
	if err := table.CSV(&archs, flopTable(s.architectures, nil).Data); err != nil {
		t.Fatal(err)
	}
	set.Architectures = archs.Bytes()
	return s, set
}

func TestADocumentOfWhatThereIs(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	stages := []dag.Stage{replayed(s), Stage(settings(t, s))}
	dagtest.Select(t, stages, dir, dag.Selection{Stages: []string{"report"}})
	text := contents(t, dir, texFile)
	for _, want := range []string{"has no rows yet. Not all is here: the replay stage has not run.", "belong to stages that have not run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the document of a report alone lacks %q", want)
		}
	}
	compiled(t, dir)
}

// engine is the TeX of this machine.
func engine(t *testing.T) *typeset.Engine {
	t.Helper()
	e, err := typeset.Find(t.Context(), exec.LookPath, os.Environ())
	if err != nil {
		if required {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return e
}

// TestHostileNamesAreSet holds report.pdf to what an author gets who sets
// report.tex elsewhere, byte for byte.
func TestHostileNamesAreSet(t *testing.T) {
	s, set := hostile(t)
	set.TeX = engine(t)
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{replayed(s), Stage(set)}, dir)
	made := contents(t, dir, pdfFile)
	if !strings.HasPrefix(made, "%PDF-") {
		t.Errorf("not a PDF: %.20q", made)
	}
	again, err := os.ReadFile(compiled(t, dir))
	if err != nil || set.TeX.Name == "pdflatex" && string(again) != made {
		t.Errorf("two runs in two folders differ: %v", err)
	}
	_, body, _ := strings.Cut(contents(t, dir, texFile), `\begin{document}`)
	for _, not := range []string{`\verdict{`, "published}", "agree"} {
		if strings.Contains(body, not) {
			t.Errorf("a document of other profiles than the paper's has %q", not)
		}
	}
	if u := unitNamed(t, set, "pdf"); !hasSource(u, "TeX engine: "+set.TeX.Version) {
		t.Errorf("the version of the engine is no source: %v", u.Sources)
	}
}

func unitNamed(t *testing.T, s Settings, id string) dag.Unit {
	t.Helper()
	for _, u := range Stage(s).Units {
		if u.ID == id {
			return u
		}
	}
	t.Fatalf("there is no unit %s", id)
	return dag.Unit{}
}

// TestAFailureOfTeXLeavesTheRest has an engine that finds fault with everything.
func TestAFailureOfTeXLeavesTheRest(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "pdflatex")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho './report.tex:5: LaTeX Error: File `booktabs.sty'\\'' not found.'\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, set := hostile(t)
	set.TeX = &typeset.Engine{Name: "pdflatex", Path: broken, Version: "TeX that fails"}
	err := dagtest.Try(t, []dag.Stage{replayed(s), Stage(set)}, dir, dag.Selection{})
	if err == nil || !strings.Contains(err.Error(), "report.tex:5: LaTeX Error") || !strings.Contains(err.Error(), "apt-get install texlive-latex-recommended") {
		t.Errorf("error %v", err)
	}
	if contents(t, dir, texFile) == "" || contents(t, dir, numbersFile) == "" {
		t.Error("other outputs are gone")
	}
	if _, err := os.Stat(filepath.Join(dir, pdfFile)); err == nil {
		t.Error("there is a PDF")
	}
}

func TestThereIsNoPDFWithoutAnEngine(t *testing.T) {
	for _, u := range Stage(Settings{Targets: data.PaperTargets()}).Units {
		if u.ID == "pdf" {
			t.Error("there is a unit for report.pdf")
		}
	}
}

var digests = regexp.MustCompile(`[0-9a-f]{32}(\\newline )?[0-9a-f]{32}`)

// TestDocumentsMatchGoldenFiles are of the small study, with made-up verdicts of
// every kind.
func TestDocumentsMatchGoldenFiles(t *testing.T) {
	paper := paperTargets(t)
	for name, p := range map[string]*Targets{"paper": &paper, "own": nil} {
		d := smallDocument(t, p)
		text, err := d.tex()
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join(name, texFile), digests.ReplaceAll([]byte(text), []byte("DIGEST")))
	}
}

func smallDocument(t *testing.T, paper *Targets) document {
	t.Helper()
	s := smallStudy()
	macros, err := numbers(s.Results)
	if err != nil {
		t.Fatal(err)
	}
	d := document{
		Experiment: Experiment{Published: paper != nil, Budgets: []int32{8, 12}},
		settings:   Settings{Published: paper != nil, Systems: true},
		origin:     "command: c; commit: d; key: e", quoted: map[string]bool{}, tables: map[string]table.Printed{},
		columns:       map[string][]string{"table1_variance": {"budget", "hbn", "hbn_se", "paper_hbn"}, "robustness": {"budget", "worst_ratio"}},
		figures:       []plate{{"figure1_pair_distribution", "Caption of $b$.", "fig:pairs"}, {"figure9_own", "A figure that no chapter names.", "fig:own"}},
		inputs:        [][2]string{{"replay/designs.parquet", strings.Repeat("0f", 32)}},
		configuration: map[string]string{"experiment.seed": "7"},
	}
	for _, m := range macros {
		d.quoted[m.name] = true
	}
	for _, sheet := range sheets(t, s, smallCosts(s), paper) {
		var b bytes.Buffer
		if err := table.LaTeX(&b, sheet.Print, "command: c; commit: d; key: "+strings.Repeat("a1", 32)); err != nil {
			t.Fatal(err)
		}
		if d.tables[sheet.Base], err = table.ReadLaTeX(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if paper == nil {
		return d
	}
	half, other := 0.5, 0.612
	d.verdicts = Verdicts{Published: true, Skipped: "not compared: budgets [64] of the paper are not part of this experiment", Cells: []Cell{
		compare(Estimate{Value: 0.8725, SE: 0.0004}, 0.872, rule{decimals: 3}).in("table1_variance", "b=8", "hbn"),
		compare(Estimate{Value: 0.4, SE: 0}, 0.41, rule{decimals: 2}).in("table1_variance", "b=8", "oracle"),
		compare(Estimate{Value: 0.8741, SE: 0.0004}, 0.873, rule{decimals: 3}).in("table1_variance", "b=12", "hbn"),
		absent(0.9, 2, "not replayed").in("table1_variance", "b=12", "tuned_ibn"),
		choice(beside(3, 4, 0), 0.0001, 0.001).noted("the paper's (m, w) has a risk 0.000100 higher").in("table5_hbn_schedule", "N=30 b=8", "m"),
		{Table: "table5_hbn_schedule", Row: "N=100 b=8", Column: "w", Paper: &half, Verdict: NotRun, Note: "the replay stage has not run", decimals: 2},
		{Table: "table3_time", Row: "measured b=8", Column: "sync_time", Obtained: &other, Paper: &half, Verdict: Shown, decimals: 2},
		{Table: "robustness", Row: "b=8", Column: "worst_profile", ObtainedName: "a_b__model=c", PaperName: "d__model=e", Verdict: Differs},
	}}
	return d
}
