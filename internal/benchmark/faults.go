package benchmark

import (
	"errors"
	"fmt"
	"strings"
)

// shownFaults is how many faults of a file are reported at once.
const shownFaults = 20

// faults collects what is wrong with one file.
type faults struct {
	name  string // of the file
	most  int    // that are reported
	shown []string
	count int
}

func newFaults(name string) *faults { return &faults{name: name, most: shownFaults} }

// add notes a fault of a key ("" for none) at a place ("line 3"; "" for none).
func (f *faults) add(place, key, format string, args ...any) {
	f.count++
	if len(f.shown) == f.most {
		return
	}
	text := f.name + ": "
	for _, part := range []string{place, key} {
		if part != "" {
			text += part + ": "
		}
	}
	f.shown = append(f.shown, text+fmt.Sprintf(format, args...))
}

// err is nil without faults, and otherwise tells the first ones and how many
// more there are.
func (f *faults) err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.shown, "\n")
	if more := f.count - len(f.shown); more > 0 {
		text += fmt.Sprintf("\n%s: and %d more faults", f.name, more)
	}
	return errors.New(text)
}
