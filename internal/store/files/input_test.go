package files_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/store/files"
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
		"is now a pipe":       func() error { return syscall.Mkfifo(path, 0o666) },
		"is now a directory":  func() error { return os.Mkdir(path, 0o777) },
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

var small = files.Kind{Name: "a small file", MaxBytes: 1 << 20}

// place is a folder with one of everything.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("content"), 0o666),
		os.Symlink("file", at("link")),
		os.Mkdir(at("folder"), 0o777),
		syscall.Mkfifo(at("pipe"), 0o666),
		os.Symlink("pipe", at("link to a pipe")),
		os.Symlink("/dev/zero", at("link to a device")),
		os.Symlink("nothing", at("link to nothing")),
		os.Symlink("loop", at("loop")),
		os.WriteFile(at("long"), nil, 0o666),
		os.Truncate(at("long"), 1<<40),
		os.WriteFile(at("just"), bytes.Repeat([]byte("x"), 1<<20), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatIsOpened(t *testing.T) {
	dir := place(t)
	cases := []struct{ name, want string }{
		{"file", ""},
		{"link", ""},
		{"just", ""},
		{"folder", "is a directory"},
		{"pipe", "is a pipe, and a small file is wanted"},
		{"link to a pipe", "is a pipe"},
		{"link to a device", "is a device"},
		{"socket", "socket"},
		{"long", "is longer than 1 MiB"},
		{"loop", "too many levels"},
		{"link to nothing", "no such file"},
		{"nothing", "no such file"},
		{"/dev/null", "is a device"},
		{"/dev/zero", "is a device"},
		{"/proc/self/maps/x", "not a directory"},
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range cases {
		path := c.name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		ways := map[string]func() error{
			"Read": func() error { _, err := files.ReadInput(path, small); return err },
		}
		if !filepath.IsAbs(c.name) {
			ways["Folder"] = func() error { _, err := fs.ReadFile(files.InputFolder(dir, small), c.name); return err }
			if !strings.Contains(c.name, "device") { // it leads out of the folder
				ways["OpenIn"] = func() error {
					file, err := files.OpenInputIn(root, c.name, small)
					if err == nil {
						file.Close()
					}
					return err
				}
			}
		}
		for way, try := range ways {
			err := within(t, time.Second, try)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) && !(way == "OpenIn" && c.name == "loop")) {
				t.Errorf("%s %s: %v, want %q", way, c.name, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("%s %s: %v does not name it", way, c.name, err)
			}
		}
	}
	if _, err := files.OpenInput(filepath.Join(dir, "nothing"), small); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

// within is the outcome of what must not block.
func within(t *testing.T, most time.Duration, try func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- try() }()
	select {
	case err := <-done:
		return err
	case <-time.After(most):
		t.Fatal("it blocks")
		return nil
	}
}

// A stream, or a file that grows while it is read, is no longer than its kind either.
func TestStreamsAreBounded(t *testing.T) {
	text, err := files.ReadAll(strings.NewReader("abc"), "standard input", small)
	if err != nil || string(text) != "abc" {
		t.Errorf("got %q, %v", text, err)
	}
	endless, err := os.Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer endless.Close()
	if _, err := files.ReadAll(endless, "standard input", small); err == nil || !strings.Contains(err.Error(), "standard input is longer than 1 MiB") {
		t.Errorf("endless: %v", err)
	}
}
