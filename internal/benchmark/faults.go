package benchmark

import (
	"fmt"

	"speceval/internal/store/files"
)

// shownFaults is how many faults of a file are reported at once.
const shownFaults = 20

// faults collects what is wrong with one file.
type faults struct{ files.Faults }

func newFaults(name string) *faults { return &faults{files.Faults{Name: name, Most: shownFaults}} }

// addFault notes a fault of a key ("" for none) at a place ("line 3"; "" for none).
func (f *faults) addFault(place, key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, part := range []string{key, place} {
		if part != "" {
			text = part + ": " + text
		}
	}
	f.Add("%s", text)
}
