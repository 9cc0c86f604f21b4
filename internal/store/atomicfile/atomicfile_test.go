package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func put(t *testing.T, path, content string) {
	t.Helper()
	err := Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

func wantNoLeftovers(t *testing.T, dir string) {
	t.Helper()
	left, err := Sweep(dir, ".lock")
	if err != nil || len(left) > 0 {
		t.Fatalf("left over: %v, %v", left, err)
	}
}

func TestWriteMakesFoldersAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "file.csv")
	put(t, path, "old")
	put(t, path, "new")
	wantContent(t, path, "new")
	wantNoLeftovers(t, dir)
}

func TestModesAreTheUmasks(t *testing.T) {
	for mask, want := range map[int]os.FileMode{0o022: 0o644, 0o002: 0o664, 0o077: 0o600} {
		path := filepath.Join(t.TempDir(), "file")
		before := syscall.Umask(mask)
		put(t, path, "old")
		put(t, path, "new")
		syscall.Umask(before)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("umask %03o: %v, %v", mask, info.Mode(), err)
		}
	}
}

func TestNothingIsSeenBeforeCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "old")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "half of the n"); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "old")
	f.Discard()
	wantContent(t, path, "old")
	wantNoLeftovers(t, filepath.Dir(path))
}

// TestFailingWriterLeavesTheOldFile injects a disk that is full after some
// bytes, as a writer between the content and the file would see it.
func TestFailingWriterLeavesTheOldFile(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"full disk", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "free some space and run again"},
		{"quota", syscall.EDQUOT, "free some space and run again"},
		{"forbidden", syscall.EACCES, "choose another output folder"},
		{"read-only", syscall.EROFS, "file system is read-only"},
		{"the content's own error", errors.New("row 7 is odd"), "row 7 is odd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			put(t, path, "old")
			err := Write(path, func(w io.Writer) error {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1000)); err != nil {
					return err
				}
				return test.err
			})
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not name the file, the cause and what to do (%q)", err, test.want)
			}
			wantContent(t, path, "old")
			wantNoLeftovers(t, filepath.Dir(path))
		})
	}
}

func TestSweepTakesLeftoversOnly(t *testing.T) {
	dir := t.TempDir()
	keep := filepath.Join(dir, "deep", "kept.partial.csv")
	put(t, keep, "kept")
	gone := filepath.Join(dir, "deep", "file.123"+Suffix)
	if err := os.WriteFile(gone, []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(dir, "evaluate", "one", "file.0"+Suffix)
	put(t, filepath.Join(dir, "evaluate", "one", ".lock"), "a process that writes there")
	put(t, theirs, "half")
	removed, err := Sweep(dir, ".lock")
	wantContent(t, theirs, "half")
	if err != nil || len(removed) != 1 || removed[0] != gone {
		t.Fatalf("removed %v, %v; want %s alone", removed, err, gone)
	}
	wantContent(t, keep, "kept")
}

func TestSweepOfNoFolderIsNothing(t *testing.T) {
	wantNoLeftovers(t, filepath.Join(t.TempDir(), "never made"))
}

func TestSweepFollowsOnlyTheRoot(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	for _, folder := range []string{root, outside} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "a.1"+Suffix), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(dir, "linked")
	for link, to := range map[string]string{filepath.Join(root, "link"): outside, linked: root} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if removed, err := Sweep(linked, ".lock"); err != nil || len(removed) != 1 || removed[0] != filepath.Join(linked, "a.1"+Suffix) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if there, err := os.ReadDir(outside); err != nil || len(there) != 1 {
		t.Errorf("outside are %v, %v", there, err)
	}
}
