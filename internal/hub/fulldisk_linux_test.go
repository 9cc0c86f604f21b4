package hub_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk fetches to a real file system of 256 KiB, then to a larger one. It is
// skipped where none can be mounted, except under SPECEVAL_CI=1.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })

	l := lay(t, 600_000, large)
	l.path = filepath.Join(dir, "rows.jsonl")
	err := l.wantFault("the disk is full", "bytes (0.", "still missing, what came is kept")
	kept := len(l.file(".part"))
	if !errors.Is(err, syscall.ENOSPC) || kept < 100_000 || len(l.clock.slept) > 0 {
		t.Fatalf("%d bytes are kept, error %v", kept, err)
	}
	l.wantFault(fmt.Sprint(600_000-kept, " bytes"))

	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	before := len(l.Requests())
	l.wantWhole()
	if sent := l.sentSince(before); sent != int64(600_000-kept) {
		t.Errorf("%d bytes were sent, %d were kept", sent, kept)
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	l := lay(t, 10, nil)
	l.path = filepath.Join(t.TempDir(), "file", "rows.jsonl")
	if err := os.WriteFile(filepath.Dir(l.path), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	l.wantFault("not a directory")
}
