package report

import (
	"errors"
	"fmt"
	"strings"

	"speceval/internal/figure"
	"speceval/internal/page"
	"speceval/pipeline/dag"
)

// figure is a figure of the report as the page shows it.
func (b pageBuilder) figure(kind figureKind) (page.Figure, error) {
	ref := ownRef(kind.base)
	p := page.Figure{ID: kind.base, Name: placeName(kind.base), Chain: b.chain(ref), Files: b.files(ref)}
	var lacking []string
	f, err := kind.make(b.in.noting(&lacking))
	var absent *dag.AbsentError
	switch {
	case errors.As(err, &absent):
		p.Absent = "not run: " + absent.Stage
		return p, nil
	case err != nil:
		return p, err
	case len(f.Data.Rows) == 0 && len(lacking) > 0:
		p.Absent, p.Title = "not run: "+strings.Join(lacking, ", "), f.Title
		return p, nil
	}
	var drawn strings.Builder
	if err := figure.Inline(&drawn, f); err != nil {
		return p, err
	}
	p.SVG, p.Width, p.Caption = drawn.String(), f.Width, plainCaption(f.Caption)
	for _, stage := range lacking {
		p.Caption += fmt.Sprintf(" Not all is here: the %s stage has not run.", stage)
	}
	return p, nil
}

// plainCaption is a LaTeX caption of ours in plain text. Captions have no
// commands but those that stand for characters, and symbols in formulas.
func plainCaption(tex string) string { return captionWords.Replace(tex) }

var captionWords = strings.NewReplacer(
	`\%`, "%", `\&`, "&", `\#`, "#", `\$`, "$", `\_`, "_", `\{`, "{", `\}`, "}",
	`\textbackslash{}`, `\`, `\textasciitilde{}`, "~", `\textasciicircum{}`, "^", `\textless{}`, "<", `\textgreater{}`, ">",
	"$", "", "~", "\u00a0", "---", "—", "--", "–", "{}", "",
)
