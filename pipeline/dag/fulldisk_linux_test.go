package dag

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk runs out of a real file system of 256 KiB in the middle of a
// rerun, and goes on when there is room again.
func TestFullDisk(t *testing.T) {
	l := crossing(t)
	if err := syscall.Mount("tmpfs", l.dir, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(l.dir, 0) })
	l.run(Selection{})
	before := l.contents()

	made := l.unit("score/a").Run
	l.unit("score/a").Run = func(_ context.Context, j *Job) error {
		return j.Write("score/a.txt", -1, func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
			return err
		})
	}
	_, err := l.try(Selection{Force: true})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "score/a: write ") || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("error %v does not name the unit, the file and what to do", err)
	}
	if !maps.Equal(l.contents(), before) {
		t.Errorf("files %v, before %v", l.contents(), before)
	}

	l.unit("score/a").Run = made
	l.run(Selection{Force: true})
	if !maps.Equal(l.contents(), before) {
		t.Errorf("files %v with room again, before %v", l.contents(), before)
	}
}
