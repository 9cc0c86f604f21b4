package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

// part is a range of places, whose rollouts are in a journal until all are
// there and then in a file. Its methods may be called concurrently, but for
// open and close.
type part struct {
	store    *store
	output   string
	from, to int

	mu       sync.Mutex
	complete bool             // every rollout is there
	journal  *rollout.Journal // nil until one arrives, and when the file is written
}

func (p *part) rows() int { return p.to - p.from }

// open finds out how many rollouts there are: in the file, or in a journal.
func (p *part) open() (stored int, err error) {
	there, err := p.find()
	if err != nil {
		return 0, err
	}
	if there {
		p.complete = true
		p.store.mine[p.output] = true
		err := os.Remove(p.journalPath()) // left by a kill between file and removal
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		return p.rows(), p.store.job.Keep(p.output, p.rows())
	}
	if _, err := os.Stat(p.journalPath()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	if err := p.openJournal(); err != nil {
		return 0, err
	}
	return p.journal.Len(), nil
}

// find looks for the file, made under this key: where it belongs, or where it
// went when it made room for one of another setting. One that is not the bytes that
// were written counts as not there.
func (p *part) find() (bool, error) {
	job := p.store.job
	if job.Redo() {
		return false, nil
	}
	asWritten, err := p.asWritten()
	if err != nil {
		return false, err
	}
	good := func(path string) bool {
		footer, err := rollout.CheckPart(path, job.Key(), p.rows())
		if err == nil {
			p.store.versions = append(p.store.versions, strings.Fields(footer[versionsKey])...)
		}
		return err == nil
	}
	if there := asWritten && good(job.Path(p.output)); there || p.store.redo {
		return there, nil
	}
	if _, footer, err := rowfile.ReadFooter(job.Path(p.output)); err != nil || footer["speceval.key"] == job.Key() {
		if err := job.SetAside(p.output); err != nil { // otherwise it is of another setting, and whole as far as anybody knows
			return false, err
		}
	}
	return job.Restore(p.output, good)
}

// asWritten reports whether the file has the content that an attempt of this run's noted
// when it wrote it. Without such a note it must not differ from a manifest of this key, if
// one is left.
func (p *part) asWritten() (bool, error) {
	want, err := p.store.noted(filepath.Base(p.scratch(sumSuffix)))
	if want == nil || err != nil {
		return !p.store.job.Damaged(p.output), err
	}
	is, err := files.DigestOf(p.store.job.Path("."), p.output)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is.SHA256 == string(want), err
}

// sumSuffix ends the names of the files that hold the digests of parts, until there
// is a manifest.
const sumSuffix = ".sha256"

// scratch is where something of the part is kept until the unit is done.
func (p *part) scratch(suffix string) string {
	return filepath.Join(p.store.dir, fmt.Sprintf("part-%04d%s", p.from/partRows, suffix))
}

func (p *part) journalPath() string { return p.scratch(rollout.JournalSuffix) }

func (p *part) openJournal() error {
	journal, damaged, err := rollout.OpenJournal(p.journalPath())
	if err != nil {
		return err
	}
	if damaged > 0 {
		p.store.job.Note("%d lines of %s were damaged; their rollouts are sampled again", damaged, p.journalPath())
	}
	p.journal = journal
	return nil
}

// has reports whether the rollout at a place is stored.
func (p *part) has(place int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complete || p.journal != nil && p.journal.Has(p.store.rollouts.id(place))
}

// storeRollout stores a rollout.
func (p *part) storeRollout(r *rollout.Rollout) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.journal == nil {
		if err := p.openJournal(); err != nil {
			return err
		}
	}
	if err := p.journal.Append(r); err != nil {
		return err
	}
	p.writeIfComplete()
	return nil
}

// writeIfComplete starts writing the file once every rollout is there.
func (p *part) writeIfComplete() {
	if p.complete || p.journal == nil || p.journal.Len() < p.rows() {
		return
	}
	p.complete = true
	s := p.store
	s.writers.Go(func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		if err := p.write(); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.err = errors.Join(s.err, err)
		}
	})
}

// write makes the file of the journal and removes that.
func (p *part) write() error {
	if err := p.store.clear(); err != nil {
		return err
	}
	p.store.mine[p.output] = true
	var as *files.DigestWriter
	err := p.store.job.Write(p.output, p.rows(), func(w io.Writer) error {
		as = files.NewDigestWriter(w)
		return rollout.WritePart(as, p.rollouts(), p.store.footer())
	})
	if err != nil {
		return err
	}
	if err := atomicfile.WriteText(p.scratch(sumSuffix), as.File(p.output).SHA256); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	journal := p.journal
	p.journal = nil
	return journal.Remove()
}

// rollouts reads the rollouts of a complete journal, in order.
func (p *part) rollouts() iter.Seq2[*rollout.Rollout, error] {
	ids := make([]rollout.ID, p.rows())
	for k := range ids {
		ids[k] = p.store.rollouts.id(p.from + k)
	}
	return p.journal.Records(ids)
}

func (p *part) sync() error {
	p.mu.Lock()
	journal := p.journal
	p.mu.Unlock()
	if journal == nil {
		return nil
	}
	err := journal.Sync()
	if errors.Is(err, fs.ErrClosed) {
		return nil // its file has been written meanwhile
	}
	return err
}

func (p *part) close() error {
	if p.journal == nil {
		return nil
	}
	err := errors.Join(p.journal.Sync(), p.journal.Close())
	p.journal = nil
	return err
}

// resume sets from where a request goes on, for which servers have worked so long
// already. It is an error if the rollout would have to be asked for again and must not.
func (f *sampling) resume(request *vllm.Request, id rollout.ID) (took time.Duration, err error) {
	keeps := sampler.Keeps(f.OnLoss, f.servers)
	took, _, err = f.store.log.Resume(request, id, f.OnLoss, keeps)
	if err != nil {
		return 0, fmt.Errorf("rollout %d of %s: %w: set serving.on_loss to %q to ask for it again", id.Rollout, f.benchmark.Tasks[id.Task].ID, err, vllm.Continue)
	}
	if request.Prefix != nil {
		f.continued.Add(1)
	}
	f.store.log.Asked(id, keeps)
	return took, nil
}

// send asks for an answer, or for the rest of it.
func (f *sampling) send(ctx context.Context, request vllm.Request, id rollout.ID) (vllm.Completion, string, error) {
	log := f.store.log
	if !sampler.Keeps(f.OnLoss, f.servers) {
		answer, server, err := f.servers.Stream(ctx, request, nil)
		if failure, ok := errors.AsType[*vllm.Error](err); ok && !failure.Worked() {
			log.Torn(id, false)
		}
		if answer.Again > 0 {
			log.Forget(id)
		}
		return answer, server, err
	}
	answer, server, err := f.servers.Stream(ctx, request, func(p vllm.Piece) {
		if p.Anew {
			log.Forget(id)
		}
		log.Saw(id, p)
	})
	if answer.Continued > 0 && request.Prefix == nil {
		f.continued.Add(1)
	}
	return answer, server, err
}
