package files_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"speceval/internal/files"
)

func TestFaultsAreTold(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	recorded, err := files.DigestOf(dir, "a")
	if err != nil || recorded.Bytes != 7 || len(recorded.SHA256) != 64 {
		t.Fatalf("%+v, %v", recorded, err)
	}
	w := files.NewDigestWriter(io.Discard)
	io.WriteString(w, "cont")
	io.WriteString(w, "ent")
	if w.File("a") != recorded {
		t.Errorf("written %+v, read %+v", w.File("a"), recorded)
	}
	if fault := recorded.Fault(dir); fault != "" {
		t.Errorf("fault %q of what it was", fault)
	}
	for want, spoil := range map[string]func() error{
		"is missing":          func() error { return nil },
		"8 bytes, recorded 7": func() error { return os.WriteFile(path, []byte("contents"), 0o666) },
		"sha256":              func() error { return os.WriteFile(path, []byte("Content"), 0o666) },
		"is now a symbolic link": func() error {
			if err := os.WriteFile(path+"2", []byte("content"), 0o666); err != nil {
				return err
			}
			return os.Symlink(path+"2", path)
		},
		"is now a pipe":      func() error { return syscall.Mkfifo(path, 0o666) },
		"is now a directory": func() error { return os.Mkdir(path, 0o777) },
	} {
		os.RemoveAll(path)
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if fault := recorded.Fault(dir); !strings.Contains(fault, want) {
			t.Errorf("fault %q, want %q", fault, want)
		}
	}
	for _, outside := range []string{"../a", "/etc/passwd", ""} {
		if fault := (files.Digest{Path: outside}).Fault(dir); fault == "" {
			t.Errorf("%q is taken for a file of the folder", outside)
		}
	}
	// A file that is large beyond any reading is not read.
	os.RemoveAll(path)
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err == nil {
		if fault := recorded.Fault(dir); !strings.Contains(fault, "recorded 7") {
			t.Errorf("fault %q", fault)
		}
	}
}
