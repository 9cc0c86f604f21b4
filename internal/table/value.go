package table

// Float is the value of a Number; ok is false for any other cell.
func (c Cell) Float() (v float64, ok bool) { return c.number, c.kind == number }

// IsMissing reports whether the cell has no value.
func (c Cell) IsMissing() bool { return c.kind == missing }

// IsText reports whether the cell is a name or a phrase.
func (c Cell) IsText() bool { return c.kind == text }
