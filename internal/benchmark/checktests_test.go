package benchmark

import (
	"strings"
	"testing"
)

// A task has as many tests as fit into memory.
func TestRoomForTests(t *testing.T) {
	long := Test{Kind: "stdin", Input: strings.Repeat("x", 1<<25)}
	check := testCheck{faults: newFaults("tests")}
	for range maxTestsSize >> 25 {
		check.test(long)
	}
	if err := check.room(); err != nil {
		t.Errorf("of %d bytes: %v", check.size, err)
	}
	check.test(Test{Kind: "stdin", Output: "x"})
	if err := check.room(); err == nil || !strings.Contains(err.Error(), "more than 1024 MiB") {
		t.Errorf("of %d bytes: %v", check.size, err)
	}
}
