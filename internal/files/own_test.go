package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/files"
)

// planted makes what is not ours at a path, beside a file of somebody's.
var planted = map[string]func(path, victim string) error{
	"a symbolic link": func(path, victim string) error { return os.Symlink(victim, path) },
	"a pipe":          func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
	"a directory":     func(path, _ string) error { return os.Mkdir(path, 0o777) },
	"hard links":      func(path, victim string) error { return os.Link(victim, path) },
}

// within fails where a call takes longer than opening a file may.
func withinOwn(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the other end of a pipe")
		return nil
	}
}

func TestWhatIsPlantedIsNotOpened(t *testing.T) {
	for is, plant := range planted {
		t.Run(is, func(t *testing.T) {
			dir := t.TempDir()
			victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "a.journal")
			if err := os.WriteFile(victim, []byte("precious"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := plant(path, victim); err != nil {
				t.Fatal(err)
			}
			for _, flag := range []int{os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_APPEND, os.O_RDONLY} {
				err := withinOwn(t, func() error {
					file, err := files.OpenOwnFile(path, flag, 0o666)
					if err == nil {
						file.Truncate(0)
						file.Close()
					}
					return err
				})
				var alien *files.AlienError
				if !errors.As(err, &alien) || alien.Path != path || !strings.Contains(err.Error(), is) {
					t.Errorf("flag %#x: error %v", flag, err)
				}
			}
			text, err := os.ReadFile(victim)
			if err != nil || string(text) != "precious" {
				t.Errorf("the other file has %q, %v", text, err)
			}
			_, err = files.ReadOwn(path, 1<<20)
			if single := is == "hard links"; (err == nil) != single {
				t.Errorf("to read it: %v", err)
			}
		})
	}
}

func TestFilesOfOursAreOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	file, err := files.OpenOwnFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("12345678"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if text, err := files.ReadOwn(path, 8); err != nil || string(text) != "12345678" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := files.ReadOwn(path, 7); err == nil {
		t.Error("a file that is too long is read")
	}
	if _, err := files.OpenOwnFile(path, os.O_RDWR|os.O_TRUNC, 0o666); err == nil {
		t.Error("a file is emptied before it is looked at")
	}
	if _, err := files.ReadOwn(path+".absent", 8); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
	if _, err := files.ReadOwn("/dev/zero", 8); err == nil || !strings.Contains(err.Error(), "a device") {
		t.Errorf("error %v", err)
	}
}

func TestFoldersAreNoLinks(t *testing.T) {
	dir := t.TempDir()
	elsewhere, out := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "out")
	if err := os.Mkdir(elsewhere, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, out); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time all are there
		if err := files.MakeOwnFolder(out, filepath.Join(out, "a", "b")); err != nil {
			t.Fatalf("in a folder that the user links: %v", err)
		}
	}
	if err := files.MakeOwnFolder(out, out); err != nil {
		t.Error(err)
	}
	if err := os.Symlink(dir, filepath.Join(out, "a", "link")); err != nil {
		t.Fatal(err)
	}
	var alien *files.AlienError
	if err := files.MakeOwnFolder(out, filepath.Join(out, "a", "link", "c")); !errors.As(err, &alien) || alien.Path != filepath.Join(out, "a", "link") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "c")); err == nil {
		t.Error("a folder is made elsewhere")
	}
	if err := files.MakeOwnFolder(out, dir); err == nil {
		t.Error("a folder above the root is made")
	}
}
