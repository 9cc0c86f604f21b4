// Package made writes files in the forms in which the benchmarks of the paper are
// published, with the published ids and problems of our own, for tests and drills:
// the real ones cannot be passed on.
package made

import (
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"speceval/internal/upstream"
)

// Options are what is made.
type Options struct {
	Groups []upstream.Group
	IDs    map[string][]string // published ones of each group, in order
	Seed   uint64
	Tests  int64 // bytes of all packed tests of programs, about
	Images int   // bytes of each image
}

// Write writes the files of all sources of the groups below dir. The rows hold the
// published tasks and others that no selection takes. Of MMLU the ids are hashes of
// the real texts: its files give other ones.
func Write(dir string, o Options) error {
	fast, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		return err
	}
	m := maker{Options: o, dir: dir, random: rand.New(rand.NewPCG(o.Seed, 0)), zlib: fast}
	for i, g := range o.Groups {
		if i > 0 && o.Groups[i-1].Source == g.Source {
			continue
		}
		var err error
		switch g.Source.ID {
		case "math":
			err = m.math(g)
		case "gpqa":
			err = m.gpqa(g.Source)
		case "supergpqa":
			err = m.superGPQA(g.Source)
		case "mmlu":
			err = m.mmlu(g.Source)
		case "hle":
			err = m.hle(g)
		case "livecodebench":
			err = m.programs(g.Source)
		default:
			err = m.contest(g)
		}
		if err != nil {
			return fmt.Errorf("make files of %s: %w", g.Source.Dataset, err)
		}
	}
	return nil
}

// maker makes the files of one folder.
type maker struct {
	Options
	dir    string
	random *rand.Rand
	zlib   *zlib.Writer
}

// create makes a file of a source.
func (m *maker) create(s *upstream.Source, name string) (*os.File, error) {
	path := s.Path(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.Create(path)
}

// of are the groups of a source.
func (m *maker) of(s *upstream.Source) []upstream.Group {
	return slices.DeleteFunc(slices.Clone(m.Groups), func(g upstream.Group) bool { return g.Source != s })
}

// sum is a problem of our own, and its answer. Each is another one.
func (m *maker) sum(i int) (problem string, answer int) {
	a, b := 1000+i, m.random.IntN(9000)
	return fmt.Sprintf("Add %d and %d. (\"Sums\", <part> %d & more: ½)", a, b, i), a + b
}

// later is n ids that rank after all published ones of a group.
func later(g upstream.Group, published []string, n int) []string {
	last := ""
	for _, id := range published {
		last = max(last, upstream.RankKey(g.ID, id))
	}
	var ids []string
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("%s_other_%d", g.Part, i); upstream.RankKey(g.ID, id) > last {
			ids = append(ids, id)
		}
	}
	return ids
}

// mixed is ids in an order of chance.
func (m *maker) mixed(ids ...string) []string {
	ids = slices.Clone(ids)
	m.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}
