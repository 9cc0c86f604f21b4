package dag

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

// memories are the entries of an index file, packed. What many units share, a
// configuration for one, is unpacked once.
type memories struct {
	maps    []map[string]string
	origins []Origin
	entries []string // by unit; "" where there is none
}

// memoriesHead begins an index file: one of another program is not read. A sum
// of the rest follows, and the rest.
var memoriesHead = fmt.Sprintf("speceval index 1, manifests %d, keys %d\n", manifestFormat, keyFormat)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readMemories reads an index file. One that is not there, damaged, or of
// another program has nothing to say.
func readMemories(g *Graph, path string) memories {
	file, err := os.Open(path)
	if err != nil {
		return memories{}
	}
	defer file.Close()
	var text strings.Builder
	if info, err := file.Stat(); err == nil {
		text.Grow(int(info.Size()))
	}
	if _, err := io.Copy(&text, file); err != nil {
		return memories{}
	}
	return unpackMemories(g, text.String())
}

func unpackMemories(g *Graph, text string) memories {
	rest, ours := strings.CutPrefix(text, memoriesHead)
	if !ours || len(rest) < crc32.Size {
		return memories{}
	}
	sum, rest := rest[:crc32.Size], rest[crc32.Size:]
	if checksum(rest) != binary.LittleEndian.Uint32([]byte(sum)) {
		return memories{}
	}
	return unpackBody(g, rest)
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

func unpackBody(g *Graph, text string) memories {
	p := &packed{rest: text}
	m := memories{entries: make([]string, len(g.nodes))}
	n, _ := p.count()
	for range n {
		m.maps = append(m.maps, p.pairs())
	}
	n, _ = p.count()
	for range n {
		var origin Origin
		if json.Unmarshal([]byte(p.text()), &origin) != nil {
			return memories{}
		}
		m.origins = append(m.origins, origin)
	}
	n, _ = p.count()
	next := 0 // mostly, the units are those of the scan that wrote the index
	for range n {
		entry := p.text()
		head := packed{rest: entry}
		ref := Ref{head.text(), head.text()}
		i, known := next, next < len(g.nodes) && g.ref(next) == ref
		if !known {
			i, known = g.index[ref]
		}
		if known {
			m.entries[i], next = head.rest, i+1
		}
	}
	if p.failed {
		return memories{}
	}
	return m
}

// of unpacks the entry of unit i.
func (m *memories) of(i int) sighted {
	if m.entries == nil || m.entries[i] == "" {
		return sighted{}
	}
	p := packed{rest: m.entries[i]}
	s := sighted{manifest: &Manifest{Format: manifestFormat}, stamp: p.stamp()}
	m.manifest(&p, s.manifest)
	n, _ := p.count()
	s.outputs = make([]content, n)
	for k := range s.outputs {
		s.outputs[k] = content{output: p.text(), stamp: p.stamp(), sum: p.text()}
	}
	if p.failed || p.rest != "" {
		return sighted{}
	}
	return s
}

// manifest unpacks all of a manifest but its format.
func (m *memories) manifest(p *packed, into *Manifest) {
	into.Key, into.Provenance = p.text(), p.text()
	into.Parts = Parts{
		Format: int(p.int()), Stage: p.text(), Version: int(p.int()), Unit: p.text(), Seed: p.text(),
		Config: m.shared(p), Sources: m.shared(p),
	}
	into.Inputs, into.Outputs = p.files(), p.files()
	into.Parts.Inputs = inputSums(into.Inputs)
	if p.uint() == 1 {
		into.Parts.Inputs = p.pairs()
	}
	into.Seeds, into.Notes = p.texts(), p.texts()
	if at := p.uint(); at < uint64(len(m.origins)) {
		into.Origin = m.origins[at]
	} else {
		p.fail()
	}
	if into.Start.UnmarshalBinary([]byte(p.text())) != nil {
		p.fail()
	}
	into.WallSeconds, into.CPUSeconds, into.PeakBytes = p.float(), p.float(), p.int()
}

func (m *memories) shared(p *packed) map[string]string {
	at := p.uint()
	if at >= uint64(len(m.maps)) {
		p.fail()
		return nil
	}
	return m.maps[at]
}

// inputSums is what the inputs of a manifest put into its key, as a rule.
func inputSums(inputs []File) map[string]string {
	sums := make(map[string]string, len(inputs))
	for _, f := range inputs {
		sums[f.Path] = f.SHA256
	}
	return sums
}

// packer packs memories.
type packer struct {
	body    []byte // entries
	count   int
	maps    sharing
	origins sharing
}

// sharing gives equal texts one number.
type sharing struct {
	number map[string]uint64
	texts  []string
}

func (s *sharing) of(text []byte) uint64 {
	if n, known := s.number[string(text)]; known {
		return n
	}
	if s.number == nil {
		s.number = make(map[string]uint64)
	}
	n := uint64(len(s.texts))
	s.number[string(text)] = n
	s.texts = append(s.texts, string(text))
	return n
}

// add packs what was found of a unit.
func (k *packer) add(ref Ref, s sighted) error {
	b := packText(packText(nil, ref.Stage), ref.Unit)
	b = packStamp(b, s.stamp)
	b, err := k.manifest(b, s.manifest)
	if err != nil {
		return err
	}
	b = packCount(b, len(s.outputs), false)
	for _, c := range s.outputs {
		b = packText(packStamp(packText(b, c.output), c.stamp), c.sum)
	}
	k.body = packText(k.body, string(b))
	k.count++
	return nil
}

func (k *packer) manifest(b []byte, m *Manifest) ([]byte, error) {
	b = packText(packText(b, m.Key), m.Provenance)
	b = packText(binary.AppendVarint(b, int64(m.Parts.Format)), m.Parts.Stage)
	b = packText(binary.AppendVarint(b, int64(m.Parts.Version)), m.Parts.Unit)
	b = packText(b, m.Parts.Seed)
	b = binary.AppendUvarint(b, k.maps.of(packPairs(nil, m.Parts.Config)))
	b = binary.AppendUvarint(b, k.maps.of(packPairs(nil, m.Parts.Sources)))
	b = packFiles(packFiles(b, m.Inputs), m.Outputs)
	usual := packPairs(nil, inputSums(m.Inputs))
	if inputs := packPairs(nil, m.Parts.Inputs); bytes.Equal(inputs, usual) {
		b = append(b, 0)
	} else {
		b = append(append(b, 1), inputs...)
	}
	b = packTexts(packTexts(b, m.Seeds), m.Notes)
	origin, err := json.Marshal(m.Origin)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, k.origins.of(origin))
	start, err := m.Start.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b = packText(b, string(start))
	b = packFloat(packFloat(b, m.WallSeconds), m.CPUSeconds)
	return binary.AppendVarint(b, m.PeakBytes), nil
}

// file is the index file of what was added.
func (k *packer) file() []byte {
	b := packCount(nil, len(k.maps.texts), false)
	for _, pairs := range k.maps.texts {
		b = append(b, pairs...)
	}
	b = packTexts(b, k.origins.texts)
	b = packCount(b, k.count, false)
	sum := crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, k.body)
	head := binary.LittleEndian.AppendUint32([]byte(memoriesHead), sum)
	return append(append(head, b...), k.body...)
}
