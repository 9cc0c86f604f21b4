package indexfile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder has the units of a stage, with a file each for the manifest and the output.
type folder struct {
	t     *testing.T
	dir   string
	units []string
}

func (f *folder) Len() int                           { return len(f.units) }
func (f *folder) Name(i int) (string, string)        { return "s", f.units[i] }
func (f *folder) Pack(p *Packer, text *string) error { p.Text(*text); return nil }
func (f *folder) Share([]string) bool                { return true }
func (f *folder) Unpack(u *Unpacker) *string         { text := u.Text(); return &text }
func (f *folder) Find(_, unit string) (int, bool) {
	i := slices.Index(f.units, unit)
	return i, i >= 0
}

func (f *folder) file(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) put(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(f.file(name), []byte(content), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// get is the content of a file; "" if there is none.
func (f *folder) get(name string) string {
	data, _ := os.ReadFile(f.file(name))
	return string(data)
}

// newFolder has three units, in files that the clock has left behind.
func newFolder(t *testing.T) *folder {
	f := &folder{t: t, dir: t.TempDir(), units: []string{"a", "b", "c"}}
	for _, unit := range f.units {
		f.put(unit+".json", "manifest "+unit)
		f.put(unit+".txt", "output "+unit)
	}
	f.tick()
	return f
}

// tick waits until the clock of the file system has moved on.
func (f *folder) tick() {
	var first, now stamp
	for now.changed == first.changed {
		f.put("tick", "")
		if now, _ = statStamp(f.file("tick")); first.inode == 0 {
			first = now
		}
	}
}

// scan compares what the index finds with the files, and the number of files that it
// reads with reads, if that is not negative.
func (f *folder) scan(what string, reads int64) {
	f.t.Helper()
	x := Open(f.file(".index"), "notes 1", f, 0)
	if x == nil && os.Getenv("SPECEVAL_CI") == "1" {
		f.t.Fatal("the file system of temporary files keeps no index")
	}
	if x == nil {
		f.t.Skip("the file system of temporary files keeps no index")
	}
	defer x.Close()
	for i, unit := range f.units {
		e := x.Entry(i)
		manifest, data, err := e.Manifest(f.file(unit + ".json"))
		if text := string(data); manifest == nil {
			manifest = &text
		}
		output, _ := e.Sum(f.file(unit+".txt"), unit, func(file *os.File) (string, error) {
			text, err := io.ReadAll(file)
			return string(text), err
		})
		e.Keep(manifest)
		if err != nil || *manifest != f.get(unit+".json") || output != f.get(unit+".txt") {
			f.t.Fatalf("%s: %s is %q, %q, %v", what, unit, *manifest, output, err)
		}
	}
	x.Write()
	if reads >= 0 && x.Reads() != reads {
		f.t.Fatalf("%s: %d files read, want %d", what, x.Reads(), reads)
	}
}

func TestNothingIsReadTwice(t *testing.T) {
	f := newFolder(t)
	f.scan("new", 6)
	f.scan("known", 0)
	f.units = []string{"c", "a"}
	f.scan("other units in another order", 0)
	f.put("a.txt", "edited")
	f.put("c.json", "edited")
	f.tick()
	f.scan("edited", 2)
	f.scan("edited and known", 0)
	os.Remove(f.file("c.txt"))
	f.scan("removed", 0)
}

// TestWhatChangesAtOnceIsSeen changes a file in the same tick of the clock in
// which it was made and read, often enough to hit it.
func TestWhatChangesAtOnceIsSeen(t *testing.T) {
	f := newFolder(t)
	for i := range 300 {
		f.put("a.txt", fmt.Sprintf("%04d", i))
		f.scan("put", -1)
		f.put("a.txt", fmt.Sprintf("%04d", i+5000))
		f.scan(fmt.Sprint("edit ", i), -1)
	}
}

func TestDamagedIndexIsWrittenAgain(t *testing.T) {
	f := newFolder(t)
	f.scan("new", 6)
	whole := f.get(".index")
	r := rand.New(rand.NewPCG(1, 3))
	for i := range 200 {
		data := []byte(whole)
		switch i % 3 {
		case 0:
			data = data[:r.IntN(len(data))]
		case 1:
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		case 2:
			data = []byte(strings.Replace(whole, "notes 1", "notes 2", 1))
		}
		f.put(".index", string(data))
		f.scan(fmt.Sprint("damage ", i), 6)
		if f.get(".index") != whole {
			t.Fatalf("damage %d: another index was written", i)
		}
	}
}

func TestFolderThatCannotBeWrittenIsRead(t *testing.T) {
	f := newFolder(t)
	if err := os.Mkdir(f.file(".index.new"), 0o777); err != nil { // the next index file cannot be made
		t.Fatal(err)
	}
	for range 2 {
		f.scan("no index can be written", 6)
	}
	if _, err := os.Stat(f.file(".index")); err == nil {
		t.Error("there is an index")
	}
}
