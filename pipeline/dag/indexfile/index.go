// Package indexfile keeps what was read of the files of an output folder, so that
// a file that has not changed is not read again.
//
// For each unit the index file holds its manifest, the SHA-256 of its outputs, and
// the stamp of each of these files: size, times and inode. One of the times is that
// of the last change, which no program can set. A file that still has its stamp is
// not read. A file that was edited, replaced, damaged or removed has another stamp,
// or none.
//
// The index is never needed. Where there is none, or none that can be used or
// written, every file is read. Changes that leave a stamp as it was are not seen:
// those of a decaying disk, of a program that writes to the device itself or sets
// the clock back to the nanosecond, and of a program that maps the file into memory
// and writes there while it is read. To have every byte read again, remove the file.
package indexfile

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"speceval/internal/files"
)

// Settle is how long a file must have been as it is before its stamp is kept. The
// clocks of the file systems that are trusted move in steps of a second at most: a
// later change gives another stamp.
const Settle = 2 * time.Second

// Manifests are the units of an index, by number from 0, and how the manifest of
// one is packed. M is the type of a manifest.
type Manifests[M any] interface {
	// Len is the number of units.
	Len() int
	// Name is the name of unit i.
	Name(i int) (stage, unit string)
	// Find is the number of a unit; known is false if there is none of that name.
	Find(stage, unit string) (i int, known bool)

	// Pack packs a manifest. The index file is not written if there is an error.
	Pack(p *Packer, m *M) error
	// Share takes the texts that were packed once, by their numbers, before any
	// manifest is unpacked. It reports whether they can be used.
	Share(texts []string) bool
	// Unpack is the manifest that Pack has packed. It may be called concurrently.
	Unpack(u *Unpacker) *M
}

// Index is an index file, and what one scan of its folder finds. A nil Index knows
// nothing and keeps nothing. [Index.Entry] may be called concurrently; so may the
// methods of the entries of different units.
type Index[M any] struct {
	units  Manifests[M]
	path   string
	head   string
	trust  trust
	settle time.Duration

	known table          // of earlier scans
	found []*findings[M] // by unit; nil: as known

	begin sync.Once
	next  *os.File     // the next index file, locked; nil: none
	since int64        // time of the file system when next was made, in nanoseconds since 1970
	news  atomic.Bool  // an element of found is not nil
	reads atomic.Int64 // files
}

// findings are what was found of a unit.
type findings[M any] struct {
	manifest *M // nil: nothing is known
	stamp    stamp
	outputs  []output
}

// output is what was found in an output.
type output struct {
	name  string
	stamp stamp
	sum   string // SHA-256 in hex
}

// Open reads the index file at path. It is nil where the file system keeps no
// stamps that can be trusted. formats are the versions of what is packed: a file of
// others is not used. settle is [Settle], but for tests.
func Open[M any](path, formats string, units Manifests[M], settle time.Duration) *Index[M] {
	trust := trustIn(filepath.Dir(path))
	if trust == untrusted {
		return nil
	}
	x := &Index[M]{units: units, path: path, head: head(formats), trust: trust, settle: settle, found: make([]*findings[M], units.Len())}
	x.known = x.readTable()
	return x
}

// Reads is the number of files read so far because they were not known; 0 for a nil
// Index, which does not count.
func (x *Index[M]) Reads() int64 {
	if x == nil {
		return 0
	}
	return x.reads.Load()
}

// Entry is what an index knows of a unit, and what a scan finds of it. Its methods
// are called in this order: Manifest, Sum for each output, Keep.
type Entry[M any] struct {
	index *Index[M]
	unit  int
	known findings[M]
	found findings[M]
}

// Entry is that of unit i.
func (x *Index[M]) Entry(i int) Entry[M] {
	if x == nil {
		return Entry[M]{}
	}
	return Entry[M]{index: x, unit: i, known: x.recall(i)}
}

// Manifest is the manifest in the file at path if the index knows it, and else the
// content of the file.
func (e *Entry[M]) Manifest(path string) (known *M, data []byte, err error) {
	if e.known.manifest != nil && e.index.unchanged(path, e.known.stamp) {
		e.found.stamp = e.known.stamp
		return e.known.manifest, nil, nil
	}
	file, err := files.OpenOwn(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	e.found.stamp = e.index.stamp(file)
	data, err = io.ReadAll(file)
	return nil, data, err
}

// Sum is the SHA-256 of the named output, a file at path. hash reads it if the index
// does not know it.
func (e *Entry[M]) Sum(path, name string, hash func(*os.File) (string, error)) (string, error) {
	at := slices.IndexFunc(e.known.outputs, func(o output) bool { return o.name == name })
	if at >= 0 && e.index.unchanged(path, e.known.outputs[at].stamp) {
		e.found.outputs = append(e.found.outputs, e.known.outputs[at])
		return e.known.outputs[at].sum, nil
	}
	file, err := files.OpenOwn(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	stamp := e.index.stamp(file)
	sum, err := hash(file)
	if err == nil && stamp.inode != 0 {
		e.found.outputs = append(e.found.outputs, output{name, stamp, sum})
	}
	return sum, err
}

// Keep notes what was found of the unit for the next index file: its manifest, which
// is the known one or was parsed from the data of Manifest, and the sums.
func (e *Entry[M]) Keep(manifest *M) {
	if e.index == nil || e.found.stamp.inode == 0 || manifest == e.known.manifest && slices.Equal(e.found.outputs, e.known.outputs) {
		return
	}
	e.index.found[e.unit] = &findings[M]{manifest, e.found.stamp, e.found.outputs}
	e.index.news.Store(true)
}

// unchanged reports whether the file at path still has a stamp.
func (x *Index[M]) unchanged(path string, was stamp) bool {
	now, ok := x.trust.stampAt(path)
	return ok && now == was
}

// stamp is the stamp of a file that is about to be read, or zero if what is read
// cannot be kept.
func (x *Index[M]) stamp(file *os.File) stamp {
	if x == nil {
		return stamp{}
	}
	x.reads.Add(1)
	x.begin.Do(x.start)
	at, ok := openStamp(file)
	if !ok || x.next == nil || at.changed >= x.since-int64(x.settle) {
		return stamp{}
	}
	return at
}

// nextMark ends the name of an index file that is being written.
const nextMark = ".new"

// start makes the next index file, if this process may write it and no other is
// writing one. That file tells the time of the file system.
func (x *Index[M]) start() {
	file, err := files.OpenOwnFile(x.path+nextMark, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return // the folder cannot be written
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && inPlace(file) {
		if _, err := file.WriteAt([]byte{'\n'}, 0); err == nil {
			if at, ok := openStamp(file); ok {
				x.next, x.since = file, at.changed
				return
			}
		}
	}
	file.Close()
}

// inPlace reports whether an open file is still the one of its name: another process
// may have renamed or removed it before it was locked.
func inPlace(file *os.File) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(file.Name())
	return err == nil && os.SameFile(open, named)
}

// Write replaces the index file, if the scan has found news. That it cannot is no
// error: the files are read again then. The file is not synced: what a crash of the
// machine leaves has a wrong checksum.
func (x *Index[M]) Write() {
	if x == nil || x.next == nil || !x.news.Load() {
		return
	}
	data, err := x.pack()
	if err != nil || x.next.Truncate(0) != nil {
		return
	}
	if _, err := x.next.WriteAt(data, 0); err != nil {
		return
	}
	if os.Rename(x.next.Name(), x.path) == nil {
		x.next.Close()
		x.next = nil
	}
}

// Close removes the next index file, if there is one that has not replaced the last.
func (x *Index[M]) Close() {
	if x == nil || x.next == nil {
		return
	}
	os.Remove(x.next.Name())
	x.next.Close()
	x.next = nil
}

// table are the entries of an index file, packed. What many units share, such as a
// configuration, is unpacked once.
type table struct {
	maps    []map[string]string
	entries []string // by unit; "" where there is none
}

// head begins an index file: one of another program is not used. A checksum of the
// rest follows, and the rest.
func head(formats string) string { return "speceval index 1, " + formats + "\n" }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readTable reads the index file. The table is empty if the file is not there,
// damaged, or of another program.
func (x *Index[M]) readTable() table {
	file, err := files.OpenOwn(x.path)
	if err != nil {
		return table{}
	}
	defer file.Close()
	var text strings.Builder
	if info, err := file.Stat(); err == nil {
		text.Grow(int(info.Size()))
	}
	if _, err := io.Copy(&text, file); err != nil {
		return table{}
	}
	rest, ours := strings.CutPrefix(text.String(), x.head)
	if !ours || len(rest) < crc32.Size {
		return table{}
	}
	sum, rest := rest[:crc32.Size], rest[crc32.Size:]
	if checksum(rest) != binary.LittleEndian.Uint32([]byte(sum)) {
		return table{}
	}
	return x.unpackTable(rest)
}

// checksum is that of a long text, copied piece by piece.
func checksum(text string) uint32 {
	sum := uint32(0)
	var piece [1 << 15]byte
	for len(text) > 0 {
		n := copy(piece[:], text)
		sum, text = crc32.Update(sum, castagnoli, piece[:n]), text[n:]
	}
	return sum
}

func (x *Index[M]) unpackTable(text string) table {
	u := &Unpacker{rest: text}
	t := table{entries: make([]string, x.units.Len())}
	n, _ := u.Count()
	for range n {
		t.maps = append(t.maps, u.Pairs())
	}
	if !x.units.Share(u.Texts()) {
		return table{}
	}
	n, _ = u.Count()
	next := 0 // mostly, the units are those of the scan that wrote the index
	for range n {
		entry := Unpacker{rest: u.Text()}
		if i, known := x.find(entry.Text(), entry.Text(), next); known {
			t.entries[i], next = entry.rest, i+1
		}
	}
	if u.failed {
		return table{}
	}
	return t
}

// find is the number of a unit, which is probably next.
func (x *Index[M]) find(stage, unit string, next int) (i int, known bool) {
	if next < x.units.Len() {
		if s, u := x.units.Name(next); u == unit && s == stage {
			return next, true
		}
	}
	return x.units.Find(stage, unit)
}

// recall is what earlier scans found of unit i; zero if nothing.
func (x *Index[M]) recall(i int) findings[M] {
	if x.known.entries == nil || x.known.entries[i] == "" {
		return findings[M]{}
	}
	u := &Unpacker{rest: x.known.entries[i], maps: x.known.maps}
	f := findings[M]{stamp: u.stamp(), manifest: x.units.Unpack(u)}
	n, _ := u.Count()
	f.outputs = make([]output, n)
	for k := range f.outputs {
		f.outputs[k] = output{name: u.Text(), stamp: u.stamp(), sum: u.Text()}
	}
	if u.failed || u.rest != "" {
		return findings[M]{}
	}
	return f
}

// pack is the index file of all that is known now.
func (x *Index[M]) pack() ([]byte, error) {
	var body Packer
	entry := Packer{maps: new(sharing), texts: new(sharing)}
	count := 0
	for i, f := range x.found {
		if f == nil {
			known := x.recall(i)
			f = &known
		}
		if f.manifest == nil {
			continue
		}
		entry.bytes = entry.bytes[:0]
		if err := x.packEntry(&entry, i, f); err != nil {
			return nil, err
		}
		body.Uint(uint64(len(entry.bytes)))
		body.bytes = append(body.bytes, entry.bytes...)
		count++
	}
	var shared Packer
	shared.Count(len(entry.maps.texts), false)
	for _, pairs := range entry.maps.texts {
		shared.bytes = append(shared.bytes, pairs...)
	}
	shared.Texts(entry.texts.texts)
	shared.Count(count, false)
	sum := crc32.Update(crc32.Checksum(shared.bytes, castagnoli), castagnoli, body.bytes)
	return slices.Concat(binary.LittleEndian.AppendUint32([]byte(x.head), sum), shared.bytes, body.bytes), nil
}

// packEntry packs what was found of unit i.
func (x *Index[M]) packEntry(p *Packer, i int, f *findings[M]) error {
	stage, unit := x.units.Name(i)
	p.Text(stage, unit)
	p.stamp(f.stamp)
	if err := x.units.Pack(p, f.manifest); err != nil {
		return err
	}
	p.Count(len(f.outputs), false)
	for _, o := range f.outputs {
		p.Text(o.name)
		p.stamp(o.stamp)
		p.Text(o.sum)
	}
	return nil
}
