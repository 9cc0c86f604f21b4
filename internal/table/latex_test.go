package table

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"speceval/internal/golden"
)

func TestRealLaTeXSetsEveryKindOfCell(t *testing.T) {
	hostile := sample()
	for _, s := range []string{"[x]", "*x", `\end{tabular}`, "100% & ~ ^ # _ $ { } < > | ` \" '", "a--b", "中文", "†—×±≤≥√·αθ−–"} {
		hostile.Rows = append(hostile.Rows, []Cell{
			Text(s), Pair(4, 0.48), Missing(), Number(-1).Bold(), Missing(), Text(s).Marked("†")})
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
