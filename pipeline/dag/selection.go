package dag

import (
	"fmt"
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
	place := func(name string) (int, error) {
		i, known := g.member[name]
		if !known {
			return 0, &UnknownStageError{Name: name, Known: g.StageNames()}
		}
		return i, nil
	}
	marks := make([]bool, len(g.stages))
	for _, name := range sel.Stages {
		i, err := place(name)
		if err != nil {
			return nil, err
		}
		marks[i] = true
	}
	if len(sel.Stages) > 0 {
		return marks, nil
	}
	first, last := 0, len(g.stages)-1
	var err error
	if sel.From != "" {
		if first, err = place(sel.From); err != nil {
			return nil, err
		}
	}
	if sel.Until != "" {
		if last, err = place(sel.Until); err != nil {
			return nil, err
		}
	}
	if sel.From != "" && sel.Until != "" && first > last {
		return nil, fmt.Errorf("--until %s comes before --from %s: stages are %s", sel.Until, sel.From, strings.Join(g.StageNames(), ", "))
	}
	for i := range marks {
		marks[i] = first <= i && i <= last
	}
	return marks, nil
}
