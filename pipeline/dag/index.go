package dag

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// indexName is the file among the manifests that holds the index.
const indexName = ".index"

// settled is how long a file must have been as it is before its stamp is kept.
// The clocks of the file systems that are trusted move in steps of a second at
// most: a later change gives another stamp.
const settled = 2 * time.Second

// index is what earlier scans of an output folder found in its files, under the
// stamps that these had. A file with the same stamp is not read again: one that
// was edited, replaced, damaged or removed has another stamp, or none. The index
// is never needed. Where there is none, or none that can be used or written,
// everything is read.
//
// Changes that give a file no other stamp stay unseen: those of a disk that
// decays, of whoever writes to the device itself or sets the clock back to the
// nanosecond, and of a program that maps the file into its memory and goes on
// writing there while it is read. Without the index (remove the file) they are
// seen.
//
// A nil index knows nothing and keeps nothing. Methods for units may be called
// concurrently, each unit once.
type index struct {
	graph  *Graph
	path   string
	how    coherence
	settle time.Duration

	known memories   // of earlier scans
	found []*sighted // by unit: what is to be known; nil: as before

	begin sync.Once
	next  *os.File    // the index to come, locked; nil: none
	since int64       // time of the file system when next was begun, in nanoseconds since 1970
	news  atomic.Bool // something of found is not nil
}

// sighted is what was found of a unit.
type sighted struct {
	manifest *Manifest // nil: nothing is known
	stamp    stamp     // of the manifest
	outputs  []content
}

// content is what was found in an output.
type content struct {
	output string
	stamp  stamp
	sum    string // SHA-256 in hex
}

// openIndex is the index of an output folder. There may be none.
func openIndex(g *Graph, dir string, settle time.Duration) *index {
	folder := filepath.Join(dir, manifestDir)
	how := coherenceOf(folder)
	if how == untrusted {
		return nil
	}
	x := &index{graph: g, path: filepath.Join(folder, indexName), how: how, settle: settle, found: make([]*sighted, len(g.nodes))}
	x.known = readMemories(g, x.path)
	return x
}

// recall is what earlier scans found of unit i; zero if nothing.
func (x *index) recall(i int) sighted {
	if x == nil {
		return sighted{}
	}
	return x.known.of(i)
}

// unchanged tells whether the file at path still has a stamp.
func (x *index) unchanged(path string, was stamp) bool {
	if x == nil {
		return false
	}
	now, ok := x.how.stampAt(path)
	return ok && now == was
}

// stamp is the stamp of a file that is about to be read, or zero if what is read
// cannot be kept.
func (x *index) stamp(file *os.File) stamp {
	if x == nil {
		return stamp{}
	}
	x.begin.Do(x.start)
	at, ok := openStamp(file)
	if !ok || x.next == nil || at.changed >= x.since-int64(x.settle) {
		return stamp{}
	}
	return at
}

// keep notes what was found of unit i, and is not as known. Without a stamp of
// the manifest there is nothing to note.
func (x *index) keep(i int, found sighted) {
	if x == nil || found.manifest == nil || found.stamp == (stamp{}) {
		return
	}
	x.found[i] = &found
	x.news.Store(true)
}

// content finds what is known of an output.
func (s *sighted) content(output string) (content, bool) {
	for _, c := range s.outputs {
		if c.output == output {
			return c, true
		}
	}
	return content{}, false
}
