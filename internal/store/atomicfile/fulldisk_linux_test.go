package atomicfile

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk fills a real file system of 64 KiB.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })

	path := filepath.Join(dir, "file")
	put(t, path, "old")
	err := Write(path, func(w io.Writer) error {
		w.Write(make([]byte, 1<<20)) // as a careless caller: the error is dropped
		return nil
	})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("got %v, want a full disk and what to do about it", err)
	}
	wantContent(t, path, "old")
	wantNoLeftovers(t, dir)
	put(t, path, "room again")
}
