package generate

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/rollout"
	"speceval/pipeline/dag"
)

// store keeps the rollouts of a corpus: each in the log of answers while it comes in,
// in the journal of its part when it has arrived, and the part in its file when that
// is complete. What may be called concurrently says so.
type store struct {
	rollouts *sampledRollouts
	job      *dag.Job
	dir      string // of the journals
	parts    []*part
	log      *sampler.Partials // of answers that are under way; nil until the parts are open
	before   int               // rollouts that were there when it was opened
	redo     bool              // a complete corpus is sampled again

	writers sync.WaitGroup
	turn    sync.Mutex      // one part is written at a time, to bound memory
	mine    map[string]bool // files that are there under this key

	mu       sync.Mutex
	stored   int
	versions []string // of all servers that were asked, sorted
	err      error    // of writers
}

// openStore takes up what earlier attempts at the same key have left, but for
// parts if the unit was asked for again.
func openStore(c *sampledRollouts, job *dag.Job) (_ *store, err error) {
	s := &store{rollouts: c, job: job, mine: make(map[string]bool)}
	for from := 0; from < c.total(); from += partRows {
		s.parts = append(s.parts, &part{store: s, output: c.output(from / partRows), from: from, to: min(from+partRows, c.total())})
	}
	if s.dir, err = job.Scratch(); err != nil {
		return nil, err
	}
	if job.Redo() {
		if err := atomicfile.WriteText(filepath.Join(s.dir, redoFile), ""); err != nil {
			return nil, err
		}
	}
	redo, err := s.noted(redoFile)
	s.redo = redo != nil
	if err != nil {
		return nil, err
	}
	versions, err := s.noted(versionsFile)
	if err != nil {
		return nil, err
	}
	s.versions = strings.Fields(string(versions))
	for _, p := range s.parts {
		n, err := p.open()
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.stored += n
	}
	s.versions = slices.Compact(slices.Sorted(slices.Values(s.versions)))
	for _, p := range s.parts { // now that all files are known that must stay
		p.writeIfComplete()
	}
	damaged := 0
	s.log, damaged, err = sampler.OpenPartials(s.dir, sampler.PartialsSettings{
		Clock: c.Clock, Keep: s.storeRollout, Sync: s.syncParts,
		Has: func(id rollout.ID) bool {
			place := c.place(id)
			return s.parts[place/partRows].has(place)
		},
	})
	if damaged > 0 {
		job.Note("%d lines of the journal of partial answers were damaged; answers that they were of are begun again", damaged)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.before = s.count()
	return s, nil
}

// missing gives the places whose rollouts are not there, in order. Each place is checked
// when it is reached.
func (s *store) missing() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, p := range s.parts {
			for place := p.from; place < p.to; place++ {
				if !p.has(place) && !yield(place) {
					return
				}
			}
		}
	}
}

// storeRollout stores a rollout. When it is the last of its part, the part is written in the
// background. It may be called concurrently.
func (s *store) storeRollout(r *rollout.Rollout) error {
	if err := s.parts[s.rollouts.place(r.ID())/partRows].storeRollout(r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored++
	return s.err
}

// count is how many rollouts are stored. It may be called concurrently.
func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

// sync makes the journals survive a machine that stops. It may be called
// concurrently.
func (s *store) sync() error { return errors.Join(s.log.Sync(), s.syncParts()) }

func (s *store) syncParts() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.sync())
	}
	return errors.Join(errs...)
}

// clear moves what other settings have left out of the folder, once there is
// something to take its place.
func (s *store) clear() error {
	return s.job.Clear(func(name, _ string) bool { return s.mine[name] })
}

// close waits for the parts that are being written, and closes the journals.
func (s *store) close() error {
	var errs []error
	if s.log != nil { // which stores rollouts to the last
		errs = append(errs, s.log.Close())
	}
	s.writers.Wait()
	errs = append(errs, s.err)
	for _, p := range s.parts {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// noted is the content of a file of the scratch folder; nil if it is not there.
func (s *store) noted(file string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// redoFile stands in the scratch folder while a corpus is sampled again, though
// it was complete: its old parts are not wanted back then.
const redoFile = "redo"

// versionsKey is the footer key under which a part names the versions of the
// servers that its corpus came from.
const versionsKey = "speceval.vllm"

// versionsFile names, in the scratch folder, the versions of the servers that
// earlier attempts have asked.
const versionsFile = "versions"

// asked notes the versions of the servers that are going to be asked.
func (s *store) asked(versions []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = slices.Compact(slices.Sorted(slices.Values(slices.Concat(versions, s.versions))))
	return atomicfile.WriteText(filepath.Join(s.dir, versionsFile), strings.Join(s.versions, "\n")+"\n")
}

// provenance is measured unless any of the servers asked was an imitation, as
// its version tells.
func (s *store) provenance() string {
	if slices.ContainsFunc(s.versions, func(v string) bool { return strings.Contains(v, "+simulated") }) {
		return simulated
	}
	return measured
}

// footer is the footer of a part.
func (s *store) footer() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	footer := maps.Clone(s.job.Footer(rollout.Schema))
	footer[versionsKey] = strings.Join(s.versions, " ")
	footer["speceval.provenance"] = s.provenance()
	return footer
}
