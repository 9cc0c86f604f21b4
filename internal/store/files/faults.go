package files

import (
	"errors"
	"fmt"
	"strings"
)

// Faults collects what is wrong with one file.
type Faults struct {
	Name  string // of the file
	Most  int    // that are reported
	Count int
	shown []string
}

// Add notes a fault.
func (f *Faults) Add(format string, args ...any) {
	f.Count++
	if len(f.shown) < f.Most {
		f.shown = append(f.shown, f.Name+": "+fmt.Sprintf(format, args...))
	}
}

// Err is nil without faults, and otherwise has the first ones, a line each, and how many
// more there are.
func (f *Faults) Err() error {
	if f.Count == 0 {
		return nil
	}
	text := strings.Join(f.shown, "\n")
	if more := f.Count - len(f.shown); more > 0 {
		text += fmt.Sprintf("\n%s: and %d more faults", f.Name, more)
	}
	return errors.New(text)
}
