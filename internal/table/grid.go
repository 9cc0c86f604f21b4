package table

import (
	"io"
	"strings"
)

// Grid is a table of words for a terminal.
type Grid struct {
	Title string
	Heads []string // "<" before one sets its column to the left
	Rows  [][]string
	Notes []string
}

// None stands for an empty field of a Grid.
const None = "—"

// Add adds a row.
func (g *Grid) Add(row ...string) { g.Rows = append(g.Rows, row) }

// Write writes the grid as WriteText does, and nothing if it is empty.
func (g *Grid) Write(w io.Writer) error {
	if len(g.Rows)+len(g.Notes) == 0 {
		return nil
	}
	t := Table{Title: g.Title, Notes: g.Notes}
	for _, head := range g.Heads {
		c := Column{Name: strings.TrimPrefix(head, "<")}
		if c.Name != head {
			c.Align = Left
		}
		t.Columns = append(t.Columns, c)
	}
	for _, row := range g.Rows {
		cells := make([]Cell, len(row))
		for i, word := range row {
			cells[i] = Text(word)
		}
		t.Rows = append(t.Rows, cells)
	}
	return WriteText(w, t)
}
