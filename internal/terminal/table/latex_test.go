package table

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
)

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

func TestRealLaTeXSetsEveryKindOfCell(t *testing.T) {
	hostile := sample()
	for _, s := range []string{"[x]", "*x", `\end{tabular}`, "100% & ~ ^ # _ $ { } < > | ` \" '", "a--b", "中文", "†—×±≤≥√·αθ−–"} {
		hostile.Rows = append(hostile.Rows, []Cell{
			Text(s), Text("(4, 0.48)"), Missing(), Number(-1).Bold(), Missing(), Text(s).Marked("†")})
		hostile.Notes = append(hostile.Notes, s)
	}
	var b bytes.Buffer
	if err := LaTeX(&b, hostile, "command: a%b\nc"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hostile.tex")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	golden.Compile(t, os.Getenv("SPECEVAL_CI") != "", golden.Document([]string{path}))
}

func TestEscapePrintsSpecialCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"math_100__model=qwen": `math\_100\_\_model=qwen`,
		"50% & #1 {x} $":       `50\% \& \#1 \{x\} \$`,
		`a\b^c~d`:              `a\textbackslash{}b\textasciicircum{}c\textasciitilde{}d`,
		"HBN-async, a--b---c":  `HBN-async, a-{}-b-{}-{}-c`,
		"two\nlines\tand 中":    `two lines and [U+4E2D]`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzEscape holds escaped text to what makes it safe in a tabular: printable
// ASCII on one line, balanced braces, an even number of dollars, and no bare
// character that ends a cell, a line or the rest of a line.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a_b", `\input{x}`, "100%", "a&b\\\\", "--", "$$", "\x00\xff中", "{", "†—"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		depth, dollars := 0, 0
		for i := 0; i < len(got); i++ {
			switch c := got[i]; {
			case c < ' ' || c > '~':
				t.Fatalf("Escape(%q) = %q: byte %#x", s, got, c)
			case c == '\\':
				if i++; i == len(got) || got[i] == '\\' {
					t.Fatalf("Escape(%q) = %q: a backslash that prints nothing", s, got)
				}
			case c == '{':
				depth++
			case c == '}':
				depth--
			case c == '$':
				dollars++
			case strings.ContainsRune("%&#_^~<>|`", rune(c)):
				t.Fatalf("Escape(%q) = %q: bare %q", s, got, c)
			}
			if depth < 0 {
				t.Fatalf("Escape(%q) = %q: unbalanced braces", s, got)
			}
		}
		if depth != 0 || dollars%2 != 0 {
			t.Fatalf("Escape(%q) = %q: unbalanced", s, got)
		}
	})
}
