package dag

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"speceval/pipeline/dag/indexfile"
)

// indexName is the index file, among the manifests.
const indexName = ".index"

// index is the index file of a graph's manifests.
type index = indexfile.Index[Manifest]

// openIndex is the index of an output folder; nil if there can be none.
func openIndex(g *Graph, dir string, settle time.Duration) *index {
	formats := fmt.Sprintf("manifests %d, keys %d", manifestFormat, keyFormat)
	return indexfile.Open(filepath.Join(dir, manifestDir, indexName), formats, &indexed{graph: g}, settle)
}

// indexed are the manifests of a graph's units, as an index file has them: all of a
// manifest but its format.
type indexed struct {
	graph   *Graph
	origins []Origin
}

func (x *indexed) Len() int { return len(x.graph.nodes) }

func (x *indexed) Name(i int) (stage, unit string) {
	ref := x.graph.ref(i)
	return ref.Stage, ref.Unit
}

func (x *indexed) Find(stage, unit string) (i int, known bool) {
	i, known = x.graph.index[Ref{stage, unit}]
	return i, known
}

func (x *indexed) Pack(p *indexfile.Packer, m *Manifest) error {
	p.Text(m.Key, m.Provenance)
	p.Int(int64(m.Parts.Format))
	p.Text(m.Parts.Stage)
	p.Int(int64(m.Parts.Version))
	p.Text(m.Parts.Unit, m.Parts.Seed)
	p.SharedPairs(m.Parts.Config)
	p.SharedPairs(m.Parts.Sources)
	packFiles(p, m.Inputs)
	packFiles(p, m.Outputs)
	if m.Parts.Inputs != nil && maps.Equal(m.Parts.Inputs, inputSums(m.Inputs)) {
		p.Uint(0) // as a rule
	} else {
		p.Uint(1)
		p.Pairs(m.Parts.Inputs)
	}
	p.Texts(m.Seeds)
	p.Texts(m.Notes)
	origin, err := json.Marshal(m.Origin)
	if err != nil {
		return err
	}
	p.SharedText(origin)
	start, err := m.Start.MarshalBinary()
	if err != nil {
		return err
	}
	p.Text(string(start))
	p.Float(m.WallSeconds)
	p.Float(m.CPUSeconds)
	p.Int(m.PeakBytes)
	return nil
}

func (x *indexed) Share(origins []string) bool {
	x.origins = make([]Origin, len(origins))
	for i, text := range origins {
		if json.Unmarshal([]byte(text), &x.origins[i]) != nil {
			return false
		}
	}
	return true
}

func (x *indexed) Unpack(u *indexfile.Unpacker) *Manifest {
	m := &Manifest{Format: manifestFormat, Key: u.Text(), Provenance: u.Text()}
	m.Parts = Parts{
		Format: int(u.Int()), Stage: u.Text(), Version: int(u.Int()), Unit: u.Text(), Seed: u.Text(),
		Config: u.SharedPairs(), Sources: u.SharedPairs(),
	}
	m.Inputs, m.Outputs = unpackFiles(u), unpackFiles(u)
	m.Parts.Inputs = inputSums(m.Inputs)
	if u.Uint() == 1 {
		m.Parts.Inputs = u.Pairs()
	}
	m.Seeds, m.Notes = u.Texts(), u.Texts()
	if at := u.Uint(); at < uint64(len(x.origins)) {
		m.Origin = x.origins[at]
	} else {
		u.Fail()
	}
	if m.Start.UnmarshalBinary([]byte(u.Text())) != nil {
		u.Fail()
	}
	m.WallSeconds, m.CPUSeconds, m.PeakBytes = u.Float(), u.Float(), u.Int()
	return m
}

// inputSums is what the inputs of a manifest put into its key, as a rule.
func inputSums(inputs []File) map[string]string {
	sums := make(map[string]string, len(inputs))
	for _, f := range inputs {
		sums[f.Path] = f.SHA256
	}
	return sums
}

func packFiles(p *indexfile.Packer, files []File) {
	p.Count(len(files), files == nil)
	for _, f := range files {
		p.Text(f.Path, f.SHA256)
		p.Int(f.Bytes)
		p.Int(int64(f.Rows))
		p.Int(f.Modified)
	}
}

func unpackFiles(u *indexfile.Unpacker) []File {
	n, null := u.Count()
	if null {
		return nil
	}
	files := make([]File, n)
	for i := range files {
		files[i] = File{Path: u.Text(), SHA256: u.Text(), Bytes: u.Int(), Rows: int(u.Int()), Modified: u.Int()}
	}
	return files
}
