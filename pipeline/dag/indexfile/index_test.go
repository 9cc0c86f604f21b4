package indexfile

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// note is a manifest for tests.
type note struct{ text, owner string }

// folder has the units of one stage, each with the files unit.json and unit.txt.
type folder struct {
	t      *testing.T
	dir    string
	units  []string
	owners []string // as shared by the notes of the index file
}

func (f *folder) Len() int                    { return len(f.units) }
func (f *folder) Name(i int) (string, string) { return "s", f.units[i] }

func (f *folder) Find(stage, unit string) (int, bool) {
	i := slices.Index(f.units, unit)
	return i, stage == "s" && i >= 0
}

func (f *folder) Pack(p *Packer, n *note) error {
	p.Text(n.text)
	p.SharedText([]byte(n.owner))
	return nil
}

func (f *folder) Share(owners []string) bool { f.owners = owners; return true }

func (f *folder) Unpack(u *Unpacker) *note {
	n := &note{text: u.Text()}
	if at := u.Uint(); at < uint64(len(f.owners)) {
		n.owner = f.owners[at]
	} else {
		u.Fail()
	}
	return n
}

func (f *folder) put(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// newFolder has three units, in files that the clock has left behind.
func newFolder(t *testing.T) *folder {
	f := &folder{t: t, dir: t.TempDir(), units: []string{"a", "b", "c"}}
	for _, unit := range f.units {
		f.put(unit+".json", "note "+unit)
		f.put(unit+".txt", "text "+unit)
	}
	f.tick()
	return f
}

// tick waits until the clock of the file system has moved on.
func (f *folder) tick() {
	f.t.Helper()
	var first, now stamp
	for now.changed == first.changed {
		f.put("tick", "")
		if now, _ = statStamp(filepath.Join(f.dir, "tick")); first.inode == 0 {
			first = now
		}
	}
}

// scan is what is in the files, by the index; reads is how many it had to read.
func (f *folder) scan() (contents map[string]string, reads int64) {
	f.t.Helper()
	x := Open(filepath.Join(f.dir, ".index"), "notes 1", f, 0)
	if x == nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			f.t.Fatal("the file system of temporary files keeps no index")
		}
		f.t.Skip("the file system of temporary files keeps no index")
	}
	defer x.Close()
	contents = make(map[string]string)
	for i, unit := range f.units {
		e := x.Entry(i)
		n, data, err := e.Manifest(filepath.Join(f.dir, unit+".json"))
		if err != nil {
			continue
		}
		if n == nil {
			n = &note{string(data), "owner"}
		}
		contents[unit+".json"] = n.text
		sum, err := e.Sum(filepath.Join(f.dir, unit+".txt"), unit+".txt", func(file *os.File) (string, error) {
			text, err := io.ReadAll(file)
			return string(text), err
		})
		if err == nil {
			contents[unit+".txt"] = sum
		}
		if n.owner != "owner" {
			f.t.Errorf("the owner of %s is %q", unit, n.owner)
		}
		e.Keep(n)
	}
	x.Write()
	return contents, x.Reads()
}

// wantScan compares a scan with the files, and the number of those that it reads.
func (f *folder) wantScan(what string, reads int64) {
	f.t.Helper()
	got, read := f.scan()
	want := make(map[string]string)
	for _, unit := range f.units {
		for _, name := range []string{unit + ".json", unit + ".txt"} {
			if data, err := os.ReadFile(filepath.Join(f.dir, name)); err == nil {
				want[name] = string(data)
			}
		}
	}
	if !maps.Equal(got, want) || reads >= 0 && read != reads {
		f.t.Fatalf("%s: %d files read, %v; want %d, %v", what, read, got, reads, want)
	}
}

func TestNothingIsReadTwice(t *testing.T) {
	f := newFolder(t)
	f.wantScan("new", 6)
	f.wantScan("known", 0)
	f.units = []string{"new", "c", "a"}
	f.wantScan("other units in another order", 0)
	f.put("a.txt", "edited")
	f.put("c.json", "edited")
	f.tick()
	f.wantScan("edited", 2)
	f.wantScan("edited and known", 0)
	os.Remove(filepath.Join(f.dir, "c.txt"))
	f.wantScan("removed", 0)
}

// TestWhatChangesAtOnceIsSeen changes a file in the same tick of the clock in
// which it was made and read, often enough to hit it.
func TestWhatChangesAtOnceIsSeen(t *testing.T) {
	f := newFolder(t)
	for i := range 300 {
		f.put("a.txt", fmt.Sprintf("%04d", i))
		f.wantScan("put", -1)
		f.put("a.txt", fmt.Sprintf("%04d", i+5000))
		f.wantScan(fmt.Sprint("edit ", i), -1)
	}
}

func TestDamagedIndexIsWrittenAgain(t *testing.T) {
	f := newFolder(t)
	f.scan()
	path := filepath.Join(f.dir, ".index")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 3))
	for i := range 200 {
		data := slices.Clone(whole)
		switch i % 3 {
		case 0:
			data = data[:r.IntN(len(data))]
		case 1:
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		case 2:
			data = []byte(strings.Replace(string(whole), "notes 1", "notes 2", 1))
		}
		f.put(".index", string(data))
		f.wantScan(fmt.Sprint("damage ", i), 6)
		if got, _ := os.ReadFile(path); string(got) != string(whole) {
			t.Fatalf("damage %d: another index was written", i)
		}
	}
}

func TestFolderThatCannotBeWrittenIsRead(t *testing.T) {
	f := newFolder(t)
	if err := os.Mkdir(filepath.Join(f.dir, ".index.new"), 0o777); err != nil { // the next index file cannot be made
		t.Fatal(err)
	}
	for range 2 {
		f.wantScan("no index can be written", 6)
	}
	if _, err := os.Stat(filepath.Join(f.dir, ".index")); err == nil {
		t.Error("there is an index")
	}
}
