package benchmark

import (
	"errors"
	"fmt"
	"strings"
)

// shownFaults is how many faults of a file are told at once.
const shownFaults = 20

// faults collects what is wrong with one file: at most one fault for every
// place and key of a record, so that a value that could not be read is not called
// missing as well.
type faults struct {
	name   string            // of the file
	most   int               // that are told
	called map[string]string // what the record at hand calls a key
	seen   map[[2]string]bool
	shown  []string
	count  int
}

func newFaults(name string) *faults {
	return &faults{name: name, most: shownFaults, seen: map[[2]string]bool{}}
}

// next begins a record.
func (f *faults) next() {
	clear(f.seen)
	f.called = nil
}

// add notes a fault of a key ("" for none) at a place ("line 3"; "" for none).
func (f *faults) add(place, key, format string, args ...any) {
	if name, other := f.called[key]; other {
		key = name
	}
	if f.seen[[2]string{place, key}] {
		return
	}
	f.seen[[2]string{place, key}] = true
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
