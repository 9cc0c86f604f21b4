package runlog

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestFullDiskTearsNoLaterLine fills a real file system of 64 KiB while a log is
// written, makes room, and goes on.
func TestFullDiskTearsNoLaterLine(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("cannot mount a small file system here (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	ballast := filepath.Join(dir, "ballast")
	ok(t, os.WriteFile(ballast, make([]byte, 32<<10), 0o666))
	file := must(create(dir, noon, 7))
	defer file.Close()
	warnings := 0
	log := New(file, func() time.Time { return noon }, "n1", "12_3")
	log.Warn = func(error) { warnings++ }
	for range 1000 {
		log.Log(Of(Started, unit, "abc"))
	}
	if warnings != 1 || !log.torn {
		t.Fatalf("%d warnings, torn %v: want one, and a line cut off", warnings, log.torn)
	}
	ok(t, os.Remove(ballast))
	log.Log(Of(Stopped, unit, "later"))
	text := must(os.ReadFile(file.Name()))
	events, err := (&Reader{Path: file.Name()}).Next()
	if err != nil || len(events) < 50 || events[len(events)-1].Key != "later" {
		t.Errorf("%d events, %v: the last line is %s", len(events), err, text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:])
	}
}
