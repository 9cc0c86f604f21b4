package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk downloads to a file system of 256 KiB, then to a larger one. It is
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
	l := newLab(t, 600_000, true)
	l.path = filepath.Join(dir, "rows.jsonl")
	l.wantFault("the disk is full", "bytes are missing", "run again to resume")
	kept := l.kept()
	if kept < 100_000 || len(l.waits) > 0 {
		t.Fatalf("%d bytes are kept", kept)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	l.wantWhole()
	if last := l.requests[len(l.requests)-1].Header.Get("Range"); last != fmt.Sprintf("bytes=%d-", kept) {
		t.Errorf("range %s, %d were kept", last, kept)
	}
}
