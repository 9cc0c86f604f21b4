package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/files"
	"speceval/internal/seed"
)

// Waits between attempts.
const (
	longestWait  = time.Minute      // of our own accord
	longestAsked = 10 * time.Minute // that a service may ask for
)

// download is one call of Fetch.
type download struct {
	*Client
	file     File
	path     string
	progress func(done, total int64)

	looked  bool  // at the file that was there before
	reached int64 // the most bytes that were ever there
}

// transientError is a fault that may be gone at the next attempt.
type transientError struct {
	err   error
	asked time.Duration // to wait, by the service
}

func (e *transientError) Error() string { return e.err.Error() }

func (e *transientError) Unwrap() error { return e.err }

// run tries until the file is there, a fault will not pass, or too many attempts
// in a row have brought no new byte.
func (d *download) run(ctx context.Context) (Fetched, error) {
	fruitless := 0
	for {
		before := d.reached
		fetched, err := d.attempt(ctx)
		if err == nil {
			return fetched, nil
		}
		if ctx.Err() != nil {
			return Fetched{}, fmt.Errorf("%w%s", context.Cause(ctx), d.left())
		}
		var fault *transientError
		if !errors.As(err, &fault) {
			return Fetched{}, err
		}
		if d.reached > before {
			fruitless = 0
		}
		fruitless++
		if fruitless >= d.options.Attempts {
			return Fetched{}, fmt.Errorf("given up after %d attempts without a new byte: %w%s", fruitless, err, d.left())
		}
		if fault.asked > longestAsked {
			return Fetched{}, fmt.Errorf("%w; the service asks to come back in %v%s", err, fault.asked.Round(time.Second), d.left())
		}
		wait := max(d.wait(fruitless), fault.asked)
		d.report(d.file, "%v; trying again in %v", err, wait.Round(time.Millisecond))
		if d.options.Clock.Sleep(ctx, wait) != nil {
			return Fetched{}, fmt.Errorf("%w, while waiting to try again after: %w%s", context.Cause(ctx), err, d.left())
		}
	}
}

// left says what is kept of a file that is not whole.
func (d *download) left() string {
	info, err := os.Stat(d.path + partSuffix)
	if err != nil || info.Size() == 0 {
		return ""
	}
	return fmt.Sprintf("; %d bytes are kept in %s, run again to go on from there", info.Size(), info.Name())
}

// wait is the time after some attempts in a row without a new byte. A random
// half of it is left out, so that many who failed together do not come back
// together.
func (d *download) wait(fruitless int) time.Duration {
	whole := min(d.options.Wait<<min(fruitless-1, 20), longestWait)
	stream := seed.Root(d.options.Seed).Child("hub").Child(d.file.Dataset).Child(d.file.Name).Index(fruitless).Stream()
	return whole - time.Duration(stream.Float64()*float64(whole)/2)
}

// attempt asks what the file is, brings what is missing of it, and checks it.
func (d *download) attempt(ctx context.Context) (Fetched, error) {
	want, err := d.describe(ctx)
	if err != nil {
		return Fetched{}, err
	}
	if !d.looked {
		if fetched, err := d.kept(ctx, want); err != nil || fetched.Kept {
			return fetched, err
		}
		d.looked = true
	}
	part, err := openPart(d.path, note{d.file, want})
	if err != nil {
		return Fetched{}, err
	}
	defer part.close()
	d.tell(part.size, want.Size)
	if part.size < want.Size {
		if err := d.receive(ctx, want, part); err != nil {
			return Fetched{}, err
		}
	}
	return part.finish(ctx)
}

func (d *download) tell(done, total int64) {
	d.reached = max(d.reached, done)
	d.progress(done, total)
}

// kept looks at the file that is there already, if there is one.
func (d *download) kept(ctx context.Context, want content) (Fetched, error) {
	there, err := exists(d.path)
	if err != nil || !there {
		return Fetched{}, err
	}
	file, err := files.OpenInput(d.path, files.Upstream)
	if err != nil {
		return Fetched{}, err
	}
	defer file.Close()
	fetched, err := want.verify(ctx, file)
	if other := (*otherBytes)(nil); errors.As(err, &other) {
		d.report(d.file, "the file that is there is another (%v); fetching it again", other)
		return Fetched{}, nil
	}
	if err != nil {
		return Fetched{}, fmt.Errorf("check %s: %w", d.path, err)
	}
	fetched.Kept = true
	if begun, err := exists(d.path + partSuffix); err == nil && !begun {
		os.Remove(d.path + noteSuffix) // of a process that ended while it tidied up
	}
	d.tell(fetched.Bytes, fetched.Bytes)
	d.report(d.file, "is there already, checked by %s", fetched.Verified)
	return fetched, nil
}

// receive adds to a part what is missing of it.
func (d *download) receive(ctx context.Context, want content, part *part) error {
	ctx, heard, stop := d.listen(ctx)
	defer stop()
	response, said, err := d.ask(ctx, http.MethodGet, d.file, part.size)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := want.agrees(said); err != nil {
		return part.restart(err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		if part.size > 0 {
			d.report(d.file, "the service does not send from the middle; starting over")
			if err := part.reset(); err != nil {
				return err
			}
		}
	case http.StatusPartialContent:
		if err := checkRange(response.Header.Get("Content-Range"), part.size, want.Size); err != nil {
			return part.restart(err)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		return part.restart(fmt.Errorf("the service has nothing after byte %d", part.size))
	}
	return d.copy(ctx, response.Body, want, part, heard)
}

// copy writes a body behind a part.
func (d *download) copy(ctx context.Context, body io.Reader, want content, part *part, heard func()) error {
	buffer := make([]byte, 256<<10)
	for {
		n, err := body.Read(buffer)
		heard()
		if part.size+int64(n) > want.Size {
			return part.restart(fmt.Errorf("the service sends more than the %d bytes that it spoke of", want.Size))
		}
		if n > 0 {
			if err := part.write(buffer[:n]); err != nil {
				return full(err, want.Size-part.size)
			}
			d.tell(part.size, want.Size)
		}
		switch {
		case err == io.EOF && part.size == want.Size:
			return nil
		case err != nil:
			return &transientError{err: fmt.Errorf("cut off after %d of %d bytes: %w", part.size, want.Size, d.broken(ctx, err))}
		}
	}
}

// full says how many bytes a full disk has no room for.
func full(err error, missing int64) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w; %d bytes (%.1f MiB) are still missing, what came is kept", err, missing, float64(missing)/(1<<20))
	}
	return err
}

// Files next to one that is being downloaded.
const (
	partSuffix = ".part"      // its first bytes
	noteSuffix = ".part.json" // of what file they are
)

// note says of what file a part is.
type note struct {
	File
	content
}

// part is the first bytes of a file that is coming in. It belongs to one
// process at a time.
type part struct {
	note note
	path string // of the file that it becomes
	file *os.File
	size int64
}

// openPart resumes the part of the file that a note describes, and starts
// over if what is there is of another.
func openPart(path string, of note) (*part, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, atomicfile.Advise(path, err)
	}
	file, err := os.OpenFile(path+partSuffix, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, atomicfile.Advise(path+partSuffix, err)
	}
	p := &part{note: of, path: path, file: file}
	if err := p.take(); err != nil {
		file.Close()
		return nil, err
	}
	return p, nil
}

// take makes the part this process's own and finds out how much is there.
func (p *part) take() error {
	err := syscall.Flock(int(p.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	info, unknown := p.file.Stat()
	now, gone := os.Stat(p.file.Name())
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK), gone != nil, unknown == nil && !os.SameFile(info, now):
		return fmt.Errorf("another process is fetching %s: wait until it is done", p.path)
	case unknown != nil:
		return unknown
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is there and is no file: move it away", p.file.Name())
	}
	// Where files cannot be locked, what two processes write at once is found
	// wrong at the end.
	if readNote(p.path+noteSuffix) != p.note || info.Size() > p.note.Size {
		return p.reset()
	}
	p.size = info.Size()
	_, err = p.file.Seek(p.size, io.SeekStart)
	return err
}

// readNote reads a note. One that cannot be read is of no file.
func readNote(path string) note {
	var n note
	text, err := files.ReadInput(path, files.Settings)
	if err != nil || json.Unmarshal(text, &n) != nil {
		return note{}
	}
	return n
}

// reset drops what is there.
func (p *part) reset() error {
	p.size = 0
	if err := p.file.Truncate(0); err != nil {
		return atomicfile.Advise(p.file.Name(), err)
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := json.MarshalIndent(p.note, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteText(p.path+noteSuffix, string(text)+"\n")
}

// restart drops what is there because of a fault, and returns that as one that
// may pass.
func (p *part) restart(fault error) error {
	if err := p.reset(); err != nil {
		return err
	}
	return &transientError{err: fault}
}

// write adds bytes. Those that were written before an error count.
func (p *part) write(b []byte) error {
	n, err := p.file.Write(b)
	p.size += int64(n)
	if err != nil {
		return atomicfile.Advise(p.file.Name(), err)
	}
	return nil
}

// finish checks a part that has all bytes and makes it the file. One that has
// wrong bytes is removed.
func (p *part) finish(ctx context.Context) (Fetched, error) {
	if err := p.file.Sync(); err != nil {
		return Fetched{}, atomicfile.Advise(p.file.Name(), err)
	}
	fetched, err := p.note.verify(ctx, p.file)
	if other := (*otherBytes)(nil); errors.As(err, &other) {
		err = fmt.Errorf("what came is not the file: %w; it was removed, run again to fetch it anew", err)
		return Fetched{}, errors.Join(err, os.Remove(p.file.Name()), os.Remove(p.path+noteSuffix))
	}
	if err != nil {
		return Fetched{}, fmt.Errorf("check %s: %w", p.file.Name(), err)
	}
	if err := atomicfile.Rename(p.file.Name(), p.path); err != nil {
		return Fetched{}, err
	}
	return fetched, os.Remove(p.path + noteSuffix)
}

// close keeps the part for a later process.
func (p *part) close() { p.file.Close() }
