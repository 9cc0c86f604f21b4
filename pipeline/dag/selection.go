package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Selection says which stages may run. The zero value selects all of them.
type Selection struct {
	Stages []string // by name; empty = all, or the range below
	From   string   // this stage and all later ones
	Until  string   // this stage and all earlier ones
	Force  bool     // run every unit selected, though fresh
}

// UnknownStageError says that there is no stage of a name.
type UnknownStageError struct {
	Name  string
	Known []string
}

func (e *UnknownStageError) Error() string {
	return fmt.Sprintf("there is no stage %q: stages are %s", e.Name, strings.Join(e.Known, ", "))
}

// Check finds what is wrong with a selection: an *UnknownStageError, names
// together with a range, or a range that ends before it begins.
func (g *Graph) Check(sel Selection) error {
	_, err := g.selected(sel)
	return err
}

// selected marks the selected stages.
func (g *Graph) selected(sel Selection) ([]bool, error) {
	if len(sel.Stages) > 0 && (sel.From != "" || sel.Until != "") {
		return nil, fmt.Errorf("name stages, or give a range with --from and --until, not both")
	}
	names := g.names
	from, until := cmp.Or(sel.From, names[0]), cmp.Or(sel.Until, names[len(names)-1])
	for _, name := range append([]string{from, until}, sel.Stages...) {
		if !slices.Contains(names, name) {
			return nil, &UnknownStageError{Name: name, Known: names}
		}
	}
	first, last := slices.Index(names, from), slices.Index(names, until)
	if first > last {
		return nil, fmt.Errorf("--until %s comes before --from %s: stages are %s", until, from, strings.Join(names, ", "))
	}
	marks := make([]bool, len(names))
	for i, name := range names {
		marks[i] = first <= i && i <= last && (len(sel.Stages) == 0 || slices.Contains(sel.Stages, name))
	}
	return marks, nil
}
