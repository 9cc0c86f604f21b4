// Package journal keeps records one by one while they come in, so that no kill
// loses one that has arrived.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"speceval/internal/store/atomicfile"
)

// Suffix ends the name of every journal.
const Suffix = ".journal"

// Journal is an append-only file of records of type T, a checked line of JSON
// each:
//
//	1f0c9e3a {"benchmark":"aime24",…}
//
// A record has an id, by which it is found again; of several with the same id
// the last one counts. Every append is one write to the operating system, so
// that a killed process loses nothing that it has appended; Sync guards against
// a machine that stops. A line that a kill or a full disk left unfinished is
// dropped when the journal is opened again. Its methods may be called
// concurrently.
type Journal[T any, K comparable] struct {
	id     func(*T) K
	mu     sync.Mutex
	file   *os.File
	end    int64 // where the next line goes
	lines  map[K]span
	broken error // why nothing can be appended any more
}

// span is where a line stands.
type span struct{ offset, size int64 }

// Open opens the journal at path, which is made if it is not there, and reads
// what it holds. id tells the id of a record; errors show it with %v. damaged
// is the number of lines that cannot be read; their records count as not there.
func Open[T any, K comparable](path string, id func(*T) K) (j *Journal[T, K], damaged int, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, 0, fmt.Errorf("open journal: %w", err)
	}
	j = &Journal[T, K]{id: id, file: file, lines: make(map[K]span)}
	if damaged, err = j.scan(); err != nil {
		file.Close()
		return nil, 0, fmt.Errorf("read journal %s: %w", path, err)
	}
	return j, damaged, nil
}

// scan indexes the lines and cuts off an unfinished one.
func (j *Journal[T, K]) scan() (damaged int, err error) {
	for line, err := range lines(j.file) {
		if err != nil {
			return 0, err
		}
		at := span{j.end, int64(len(line))}
		j.end += at.size
		if record, err := parseLine[T](line); err != nil {
			damaged++
		} else {
			j.lines[j.id(record)] = at
		}
	}
	return damaged, j.file.Truncate(j.end)
}

// lines reads the lines of a file; one without its end is unfinished and left out. An
// error ends them.
func lines(file *os.File) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		reader := bufio.NewReaderSize(file, 1<<16)
		for {
			line, err := reader.ReadBytes('\n')
			if errors.Is(err, io.EOF) || !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// Append stores a record. After a failed write, of a full disk say, what was
// stored before is whole and every further append fails too.
func (j *Journal[T, K]) Append(record *T) error {
	id := j.id(record)
	line, err := formatLine(record)
	if err != nil {
		return fmt.Errorf("store %v: %w", id, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return j.broken
	}
	if _, err := j.file.WriteAt(line, j.end); err != nil {
		j.broken = fmt.Errorf("store %v: %w", id, atomicfile.Advise(j.file.Name(), err))
		return errors.Join(j.broken, j.file.Truncate(j.end))
	}
	j.lines[id] = span{j.end, int64(len(line))}
	j.end += int64(len(line))
	return nil
}

// Has reports whether a record is stored.
func (j *Journal[T, K]) Has(id K) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, there := j.lines[id]
	return there
}

// Len is the number of ids stored.
func (j *Journal[T, K]) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.lines)
}

// Size of the journal in bytes.
func (j *Journal[T, K]) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// IDs are the ids of all records, in no order.
func (j *Journal[T, K]) IDs() []K {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Keys(j.lines))
}

// Read reads a record that is stored.
func (j *Journal[T, K]) Read(id K) (*T, error) {
	j.mu.Lock()
	at, there := j.lines[id]
	j.mu.Unlock()
	if !there {
		return nil, fmt.Errorf("%v is not in the journal %s", id, j.file.Name())
	}
	line := make([]byte, at.size)
	if _, err := j.file.ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("read %v: %w", id, err)
	}
	record, err := parseLine[T](line)
	if err != nil {
		return nil, fmt.Errorf("read %v from the journal %s: %w", id, j.file.Name(), err)
	}
	return record, nil
}

// Records reads stored records in the order of their ids. An error ends it.
func (j *Journal[T, K]) Records(ids []K) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for _, id := range ids {
			r, err := j.Read(id)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Sync makes what was appended survive a machine that stops.
func (j *Journal[T, K]) Sync() error { return j.file.Sync() }

// Close closes the file.
func (j *Journal[T, K]) Close() error { return j.file.Close() }

// Write puts a journal of these records in the place of what is at path, whole or
// not at all. No Journal of that path may be used any more.
func Write[T any](path string, records iter.Seq[*T]) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		for record := range records {
			line, err := formatLine(record)
			if err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// Remove closes the file and removes it.
func (j *Journal[T, K]) Remove() error {
	return errors.Join(j.file.Close(), os.Remove(j.file.Name()))
}

// Records reads the records of the journal at path in the order in which they
// were appended, and skips lines that are damaged or unfinished. It changes
// nothing, so that it may look at what another process writes or has left. An
// error ends it.
func Records[T any](path string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		for line, err := range lines(file) {
			if err != nil {
				yield(nil, fmt.Errorf("read journal %s: %w", path, err))
				return
			}
			if record, err := parseLine[T](line); err == nil && !yield(record, nil) {
				return
			}
		}
	}
}

// parseLine reads a line and checks it.
func parseLine[T any](line []byte) (*T, error) {
	sum, text, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !found {
		return nil, errors.New("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || crc32.ChecksumIEEE(text) != uint32(want) {
		return nil, errors.New("the checksum is wrong")
	}
	record := new(T)
	if err := json.Unmarshal(text, record); err != nil {
		return nil, err
	}
	return record, nil
}

func formatLine[T any](record *T) ([]byte, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(make([]byte, 0, len(text)+10), "%08x ", crc32.ChecksumIEEE(text))
	return append(append(line, text...), '\n'), nil
}

// Convert writes a journal of the rows that are taken, in another form, as Write does.
func Convert[From, To any](path string, rows iter.Seq2[*From, error], take func(*From) (*To, bool)) (fault error) {
	err := Write(path, func(yield func(*To) bool) {
		for r, err := range rows {
			if fault = err; err != nil {
				return
			}
			if to, taken := take(r); taken && !yield(to) {
				return
			}
		}
	})
	return errors.Join(fault, err)
}
