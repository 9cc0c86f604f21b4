package indexfile

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"speceval/internal/ownfile"
)

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
	file, err := ownfile.Open(x.path)
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
