package table

import "strconv"

// Float is the value of a Number; ok is false for any other cell.
func (c Cell) Float() (v float64, ok bool) { return c.number, c.kind == number }

// IsMissing reports whether the cell has no value.
func (c Cell) IsMissing() bool { return c.kind == missing }

// IsText reports whether the cell is a name or a phrase.
func (c Cell) IsText() bool { return c.kind == text }

// Value is the number in the cell, a count among them; nil where there is none.
func (c Cell) Value() *float64 {
	if v, err := strconv.ParseFloat(c.Exact(), 64); err == nil && !c.IsText() {
		return &v
	}
	return nil
}
