package csvfile

import (
	"bytes"
	"fmt"
)

const (
	// MaxCells is how many cells a row may have: each takes many times the memory of
	// the comma that it may be.
	MaxCells = 1 << 14
	// MaxRecords is how many rows a file that [Parse] reads may have.
	MaxRecords = 1 << 19
	// maxFaults is how many faults are collected before a file is given up.
	maxFaults = 1000
)

// crowded is where a row begins that has too many cells to be read, an error with its
// line; nil if none has. Quotes are paired as all readers of CSV do, so that what it
// takes for a row never is longer than one.
func crowded(data []byte) error {
	line, begins, commas := 1, 1, 0
	quoted := false
	for i := 0; i < len(data); {
		n := bytes.IndexAny(data[i:], ",\"\n")
		if n < 0 {
			return nil
		}
		i += n
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\n':
			line++
			if !quoted {
				begins, commas = line, 0
			}
		case !quoted:
			if commas++; commas >= MaxCells {
				return fmt.Errorf("line %d: a row has more than %d cells", begins, MaxCells)
			}
		}
		i++
	}
	return nil
}
