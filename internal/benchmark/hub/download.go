package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
)

// download is one call of Fetch.
type download struct {
	*Client
	file     File
	url      string
	path     string
	part     string // the file of the first bytes, named by the digest of the whole
	progress func(done, total int64)
	reached  int64 // the most bytes that were ever there
}

// attempt makes the file whole, or returns the reason why it is not.
func (d *download) attempt(ctx context.Context) (Fetched, error) {
	want, err := d.describe(ctx)
	if err != nil {
		return Fetched{}, err
	}
	if d.part == "" {
		there, err := files.OpenInput(d.path, files.Upstream)
		if err == nil {
			defer there.Close()
			fetched, err := want.check(there)
			if fetched.Kept = true; !errors.Is(err, errOther) {
				return fetched, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Fetched{}, err
		}
	}
	d.part = fmt.Sprintf("%s.%.16s.part", d.path, want.digest)
	if err := os.MkdirAll(filepath.Dir(d.part), 0o777); err != nil {
		return Fetched{}, atomicfile.Advise(d.part, err)
	}
	part, err := os.OpenFile(d.part, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return Fetched{}, atomicfile.Advise(d.part, err)
	}
	defer part.Close()
	size, err := own(part)
	if err == nil && size < want.size {
		err = d.receive(ctx, part, size, want.size)
	}
	if err == nil {
		err = part.Sync()
	}
	if err != nil {
		return Fetched{}, err
	}
	fetched, err := want.check(part)
	if errors.Is(err, errOther) {
		err = errors.Join(fmt.Errorf("%w: the part is removed, run again", err), os.Remove(d.part))
	}
	if err == nil {
		err = atomicfile.Rename(d.part, d.path)
	}
	return fetched, err
}

// own locks a part for this process, and returns its size.
func own(part *os.File) (size int64, err error) {
	locked := syscall.Flock(int(part.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	info, err := part.Stat()
	if err != nil {
		return 0, err
	}
	if now, gone := os.Stat(part.Name()); errors.Is(locked, syscall.EWOULDBLOCK) || gone != nil || !os.SameFile(info, now) {
		return 0, fmt.Errorf("another process downloads to %s: wait until it is done", part.Name())
	}
	return info.Size(), nil
}

// receive appends the missing bytes to a part.
func (d *download) receive(ctx context.Context, part *os.File, done, total int64) error {
	response, err := d.send(ctx, http.MethodGet, done)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusPartialContent || !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", done)) {
		if err := part.Truncate(0); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return &transientError{error: fmt.Errorf("the service does not send the bytes from %d on (%s)", done, response.Status)}
		}
		done = 0
	}
	for buffer := make([]byte, 256<<10); ; {
		d.reached = max(d.reached, done)
		d.progress(done, total)
		n, err := response.Body.Read(buffer)
		written, full := part.Write(buffer[:min(int64(n), total-done)])
		done += int64(written)
		switch {
		case full != nil:
			return fmt.Errorf("%w (%d bytes are missing)", atomicfile.Advise(part.Name(), full), total-done)
		case done == total:
			d.progress(done, total)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return &transientError{error: fmt.Errorf("cut off after %d of %d bytes: %w", done, total, err)}
		}
	}
}

var errOther = errors.New("not the bytes that the service describes")

// check reads a file from its start; the error is an errOther if it has another content.
func (c content) check(file *os.File) (Fetched, error) {
	info, err := file.Stat()
	if err != nil {
		return Fetched{}, err
	}
	whole, blob := sha256.New(), sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", info.Size()) // as Git hashes a file
	n, err := io.Copy(io.MultiWriter(whole, blob), io.NewSectionReader(file, 0, info.Size()))
	if err != nil {
		return Fetched{}, fmt.Errorf("check %s: %w", file.Name(), err)
	}
	sum := map[int]hash.Hash{2 * sha256.Size: whole, 2 * sha1.Size: blob}[len(c.digest)]
	if got := hex.EncodeToString(sum.Sum(nil)); n != c.size || got != c.digest {
		return Fetched{}, fmt.Errorf("%w: %d bytes of digest %s, want %d of %s", errOther, n, got, c.size, c.digest)
	}
	return Fetched{Bytes: n, SHA256: hex.EncodeToString(whole.Sum(nil))}, nil
}
