package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What somebody else has put where a file comes in is neither followed nor waited for.
func TestWhatIsPlantedWhereFilesComeIn(t *testing.T) {
	for what, plant := range map[string]func(path, victim string) error{
		"a link":          func(path, victim string) error { return os.Symlink(victim, path+".part") },
		"a link to none":  func(path, victim string) error { return os.Symlink(victim+".new", path+".part") },
		"a pipe":          func(path, _ string) error { return syscall.Mkfifo(path+".part", 0o666) },
		"a pipe there":    func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
		"a pipe's notice": func(path, _ string) error { return syscall.Mkfifo(path+".part.json", 0o666) },
	} {
		l := lay(t, 1000, nil)
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("content"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(l.path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := plant(l.path, victim); err != nil {
			t.Fatal(err)
		}
		_, err := l.fetch(t.Context(), nil)
		if what == "a pipe's notice" { // which is replaced
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "move it away") && !strings.Contains(err.Error(), "which speceval has not made") {
			t.Errorf("%s: %v", what, err)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "content" {
			t.Errorf("%s: the victim has %q, %v", what, text, err)
		}
		if _, err := os.Stat(victim + ".new"); err == nil {
			t.Errorf("%s: a file was made outside", what)
		}
	}
}
