package table

import (
	"strings"
	"testing"
)

func TestTextThatMayBreak(t *testing.T) {
	if got := Typewriter("a_b.c" + strings.Repeat("x", 17)); got != `\texttt{a\_\allowbreak{}b.\allowbreak{}cxxxxxxxxxxxxxxx\allowbreak{}xx}` {
		t.Error(got)
	}
	if got := BreakFiles(`a/b \texttt{x/y\_z.csv}`); got != `a/b \texttt{x/\allowbreak{}y\_\allowbreak{}z.csv}` {
		t.Error(got)
	}
}

func TestLongTablesFitThePage(t *testing.T) {
	for characters, want := range map[int]string{
		50: `{\scriptsize\setlength{\tabcolsep}{4pt}`, 119: `{\scriptsize\setlength{\tabcolsep}{2.2pt}`,
		150: "\\begin{landscape}\n{\\scriptsize", 200: "\\begin{landscape}\n{\\tiny",
	} {
		p, err := Print(Table{Title: "Wide.", Columns: Named("a", "b"), Rows: [][]Cell{{Text(strings.Repeat("x", characters)), Text("y")}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Fitted(); !strings.HasPrefix(got, want) || strings.HasSuffix(got, `\end{landscape}`) != strings.HasPrefix(got, `\begin{landscape}`) {
			t.Errorf("%d characters: %s", characters, got)
		}
	}
}

func TestPlainUndoesEscape(t *testing.T) {
	const text = `50% of a_b & #1 {x} \ ~ ^ < >`
	if got := Plain(Escape(text)); got != text {
		t.Errorf("%q, want %q", got, text)
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{"plain": "plain", "\x1b[2J": `"\x1b[2J"`, strings.Repeat("ä", 121): strings.Repeat("ä", 119) + "…"} {
		if got := Visible(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestValuesOfCells(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want float64
	}{{Number(0.5), 0.5}, {Integer(-3), -3}} {
		if v := c.cell.Value(); v == nil || *v != c.want {
			t.Errorf("%v, want %v", v, c.want)
		}
	}
	if Text("7").Value() != nil || Missing().Value() != nil {
		t.Error("what is no number has a value")
	}
}

func TestReadCSV(t *testing.T) {
	var b strings.Builder
	if err := CSV(&b, Table{Columns: Named("x", "y"), Rows: [][]Cell{{Number(0.5), Missing()}, {Text("a,\"b"), Integer(2)}}}); err != nil {
		t.Fatal(err)
	}
	columns, rows, err := ReadCSV([]byte("\ufeff" + b.String()))
	if err != nil || strings.Join(columns, " ") != "x y" || len(rows) != 2 || rows[0][1] != "" || rows[1][0] != `a,"b` {
		t.Errorf("%q %q %v", columns, rows, err)
	}
}
