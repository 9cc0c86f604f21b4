package measurement

import "speceval/internal/rowfile"

// LengthsKey is the footer key of File that says, with the value LengthsDrawn,
// that servers were told how long their answers are. Without it models ended them.
const (
	LengthsKey   = "speceval.lengths"
	LengthsDrawn = "drawn"
)

// AreDrawn reports whether the answers behind the runs on servers in the file at
// path had drawn lengths.
func AreDrawn(path string) (bool, error) {
	_, footer, err := rowfile.ReadFooter(path)
	return footer[LengthsKey] == LengthsDrawn, err
}
