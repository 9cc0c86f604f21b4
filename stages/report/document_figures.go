package report

import (
	"fmt"

	"speceval/pipeline/dag"
)

// plate is a figure as the document places it.
type plate struct {
	base    string // file name in figures/, without extension
	caption string // raw LaTeX
	label   string
}

// plates are the units of the figures.
func (s Settings) plates() []dag.Ref {
	var refs []dag.Ref
	for _, kind := range s.figures() {
		refs = append(refs, ownRef(kind.base))
	}
	return refs
}

// readFigures are the figures with their captions, which are made of stored
// results.
func (s Settings) readFigures(in locate) ([]plate, error) {
	var all []plate
	for _, kind := range s.figures() {
		f, err := kind.make(in)
		if err != nil {
			return nil, fmt.Errorf("caption of %s: %w", kind.base, err)
		}
		all = append(all, plate{kind.base, f.Caption, f.Label})
	}
	return all, nil
}
