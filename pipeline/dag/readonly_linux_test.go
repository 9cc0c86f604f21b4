package dag

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// TestReadOnlyFolder asks for the lock of a folder on a read-only file system.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	for _, out := range []string{dir, dir + "/out"} {
		_, err := Acquire(out, "me")
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), out) || !strings.Contains(err.Error(), "choose another output folder") {
			t.Errorf("error %v does not name %s, the cause and what to do", err, out)
		}
	}
}
