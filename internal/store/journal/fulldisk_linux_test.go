package journal_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk fills a real file system, and goes on when there is room again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })

	path := filepath.Join(dir, "a.journal")
	j, _ := open(t, path)
	stored := 0
	var err error
	for ; err == nil && stored < 1000; stored++ {
		err = j.Append(some(0, stored))
	}
	stored-- // the last one failed
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("got %v, want a full disk and what to do about it", err)
	}
	if again := j.Append(some(0, 2000)); again == nil || j.Len() != stored {
		t.Errorf("%d notes and error %v, want %d and another error", j.Len(), again, stored)
	}
	j.Close()

	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	j, damaged := open(t, path)
	if j.Len() != stored || damaged != 0 {
		t.Fatalf("%d notes and %d damaged lines, want %d", j.Len(), damaged, stored)
	}
	appendAll(t, j, some(1, 1))
	for _, want := range []*note{some(0, stored-1), some(1, 1)} {
		if got, err := j.Read(want.key()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, %v", got, err)
		}
	}
}
