package profile

import (
	"fmt"
	"strings"
)

// shownFaults is how many faults of a file are told at once.
const shownFaults = 10

// faults collects what is wrong with one file.
type faults struct {
	name  string // of the file
	shown []string
	count int
}

func (f *faults) add(format string, args ...any) {
	f.count++
	if len(f.shown) < shownFaults {
		f.shown = append(f.shown, f.name+": "+fmt.Sprintf(format, args...))
	}
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
	return fmt.Errorf("%s", text)
}
