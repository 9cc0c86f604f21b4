package report

import (
	"slices"
	"strings"
	"testing"

	"speceval/internal/results/agreement"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// sheet is a made-up table with so many rows.
func sheet(base, chapter string, rows int) Exhibit {
	s := &model.Sheet{Rows: rows, Title: "Rows of " + base, Notes: []string{"A note."},
		Table: &model.Table{Base: base, Label: "tab:" + base, Chapter: chapter, Remarks: []string{"<ref " + base + "> is made up."}}}
	s.Add(model.Column{Name: "budget", Words: "The budget.",
		Head: table.Head{Plain: "b"}, Cell: func(i int) table.Cell { return table.Integer(8 + i) }},
		model.Column{Name: base + "_value", Words: "A value of " + base + ".", Head: table.Head{Plain: "Value"}, Cell: func(int) table.Cell { return table.Number(0.5) }})
	return TableExhibit(s)
}

// text is the document, which must have some lines in this order, and some not.
func text(t *testing.T, d Document, inOrder, without []string) {
	t.Helper()
	tex, err := LaTeX(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range without {
		if strings.Contains(tex, s) {
			t.Errorf("the document has %q", s)
		}
	}
	rest := tex
	for _, s := range inOrder {
		_, after, ok := strings.Cut(rest, s)
		if !ok {
			t.Fatalf("the document lacks %q, after what comes before it:\n%s", s, tex)
		}
		rest = after
	}
}

func TestChaptersShowTablesAndThenFigures(t *testing.T) {
	text(t, Document{
		Exhibits: []Exhibit{sheet("own", "", 2), sheet("table3_time", "What speculation costs", 1), sheet("table1_variance", "Variance", 1),
			sheet("many", "Profiles, one by one", 40), sheet("none", "Profiles, one by one", 0), sheet("other", "", 40),
			{Base: "figure1_pairs", Chapter: "Variance", Label: "fig:pairs", Remarks: []string{"<ref figure1_pairs> is drawn.", "<ref table9_absent> is not.", "<ref none> is not."}}},
	}, []string{
		`\section{Variance}`, `Table~\ref{tab:table1_variance} is made up.`, `\input{tables/table1_variance.tex}`, `Figure~\ref{fig:pairs} is drawn.`, `figures/figure1_pairs.pdf`,
		`\section{What speculation costs}`, "Times and computation are summed", `Table~\ref{tab:table3_time}`, `\setcounter{table}{2}`, `\input{tables/table3_time.tex}`,
		`\section{Profiles, one by one}`, `Table~\ref{tab:many} is made up.`, `It runs over pages`, `tables/none.tex} has no rows yet. A note.`,
		`\section{More results}`, `\input{tables/own.tex}`,
		`\section{Profile by profile}`, `tables/many.tex, over pages`, `\begin{longtable}{@{}rr@{}}`, `Table~\ref{tab:other} is made up.`, `tables/other.tex, over pages`,
	}, []string{"table9_absent", `\input{tables/many.tex}`, `\input{tables/none.tex}`, `\section{Designs and constants}`, `Table~\ref{tab:none}`, "{tab:other} is made up.\nIt runs"})
}

func TestSentencesWithoutTheirNumbersAreLeftOut(t *testing.T) {
	p := Document{Experiment: stored.Experiment{Budgets: []int32{64, 8}}, Macros: map[string]bool{"specABSixFour": true}}
	got := p.sayable([]string{`It is \specA<HIGH>{} at $b=<high>$.`, `It is \specA<LOW>{} at $b=<low>$.`, "From <low>."})
	if want := []string{`It is \specABSixFour{} at $b=64$.`, "From 8."}; !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}

// TestTablesHaveThePapersNumbers leaves out tables of the paper: the others keep
// the numbers by which formulas name them.
func TestTablesHaveThePapersNumbers(t *testing.T) {
	p, got := &Document{}, []string{}
	for _, base := range []string{"table1_variance", "table5_hbn_schedule", "table6_en_schedule", "robustness", "", "table7_flop_coefficients", "profile_ratios"} {
		if counter := p.number(base); counter != "" {
			got = append(got, counter)
		}
	}
	want := []string{`\setcounter{table}{4}`, `\setcounter{table}{8}`, `\setcounter{table}{6}`, `\setcounter{table}{10}`}
	if !slices.Equal(got, want) {
		t.Errorf("counters %q, want %q", got, want)
	}
}

func TestVerdictsInWords(t *testing.T) {
	exact := func(v float64) agreement.Estimate { return agreement.Estimate{Value: v} }
	const computed = agreement.Computed
	cells := []agreement.Comparison{
		agreement.Compare(exact(0.872), 0.872, 3, 0).As(computed), agreement.Compare(agreement.Estimate{Value: 0.8741, SE: 0.0004}, 0.873, 3, 0).As(computed),
		agreement.Compare(exact(-0.5), 0.5, 1, 0).As(computed).In("a_table", "b=8", "x_y"), agreement.Lacking(0.9, 2, "not replayed").As(computed).In("a_table", "b=8", "z"),
		{Verdict: agreement.Shown}, {Verdict: agreement.NotRun},
	}
	want := "Computed 2 of 4 agree; 1 of stages that have not run (1 within noise). Shown without a verdict: 1. " +
		`b=8, x\_y: differs ($-$0.5 for the paper's 0.5); b=8, z: missing (nothing for the paper's 0.90; not replayed).`
	if got := verdictText(cells); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for range listed {
		cells = append(cells, cells[2])
	}
	if got := verdictText(cells); !strings.HasSuffix(got, `; 2 more, which \texttt{speceval verify} lists.`) {
		t.Errorf("of many: %s", got)
	}
	measured, predicted := 2.5, 2.0
	live := []agreement.Comparison{{Live: true, Class: agreement.Measured, Obtained: &measured, Predicted: &predicted, Verdict: agreement.Differs, Row: "b=8", Column: "seconds", Decimals: 1}}
	if got, want := verdictText(live), "Measured 0 of 1 agree with their predictions. b=8, seconds: differs (2.5, where 2.0 was predicted)."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestVerdictsStandBeneathWhatTheyAreOf(t *testing.T) {
	half := 0.5
	text(t, Document{
		Experiment: stored.Experiment{Published: true},
		Exhibits:   []Exhibit{{Base: "figure2_case", Chapter: "Variance", Judged: "case_study"}},
		Verdicts: Verdicts{Published: true, Cells: []agreement.Comparison{
			agreement.Compare(agreement.Estimate{Value: 0.5}, half, 1, 0).As(agreement.Computed).In("case_study", "b=8", "hbn_ratio"),
			{Class: agreement.Measured, Table: "prediction", Row: "b=8", Column: "seconds", Live: true, Obtained: &half, Predicted: &half, Verdict: agreement.Agrees, Decimals: 1},
		}},
	}, []string{"Of the numbers of the paper that are compared here: computed 1 of 1 agree.", "Of the measured numbers that are held against a prediction: measured 1 of 1 agree with their predictions.", `\includegraphics{figures/figure2_case.pdf}`, `\verdict{Computed 1 of 1 agree`, `\end{figure}`}, nil)
}
