package rollout

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"sync"

	"speceval/internal/atomicfile"
)

// JournalSuffix ends the name of every journal.
const JournalSuffix = ".journal"

// Journal is an append-only file of rollouts, a checked line each:
//
//	1f0c9e3a {"benchmark":"aime24",…}
//
// Every append is one write to the operating system, so that a killed process
// loses nothing that it has appended; Sync guards against a machine that stops.
// A line that a kill or a full disk left unfinished is dropped when the journal
// is opened again. Its methods may be called concurrently.
type Journal struct {
	mu     sync.Mutex
	file   *os.File
	end    int64 // where the next line goes
	lines  map[ID]span
	broken error // why nothing can be appended any more
}

// span is where a line stands.
type span struct{ offset, size int64 }

// maxLine bounds a line: an answer of 2^20 tokens is shorter.
const maxLine = 1 << 28

// OpenJournal opens the journal at path, which is made if it is not there, and
// reads what it holds. damaged is the number of lines that cannot be read;
// their rollouts count as not there.
func OpenJournal(path string) (j *Journal, damaged int, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, 0, fmt.Errorf("open journal: %w", err)
	}
	j = &Journal{file: file, lines: make(map[ID]span)}
	if damaged, err = j.scan(); err != nil {
		file.Close()
		return nil, 0, fmt.Errorf("read journal %s: %w", path, err)
	}
	return j, damaged, nil
}

// scan indexes the lines and cuts off an unfinished one.
func (j *Journal) scan() (damaged int, err error) {
	reader := bufio.NewReaderSize(j.file, 1<<16)
	for {
		line, err := readLine(reader)
		if errors.Is(err, io.EOF) {
			return damaged, j.file.Truncate(j.end)
		}
		if err != nil {
			return 0, err
		}
		at := span{j.end, int64(len(line))}
		j.end += at.size
		if r, err := parseLine(line); err != nil {
			damaged++
		} else {
			j.lines[r.ID()] = at
		}
	}
}

// readLine reads a line with its newline. The rest of a file without one is
// io.EOF: an unfinished line.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if line = append(line, piece...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
	}
}

// parseLine reads a line and checks it.
func parseLine(line []byte) (*Rollout, error) {
	sum, text, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !found {
		return nil, errors.New("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || crc32.ChecksumIEEE(text) != uint32(want) {
		return nil, errors.New("the checksum is wrong")
	}
	r := new(Rollout)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	return r, nil
}

func formatLine(r *Rollout) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(make([]byte, 0, len(text)+10), "%08x ", crc32.ChecksumIEEE(text))
	return append(append(line, text...), '\n'), nil
}

// Append stores a rollout. After a failed write, of a full disk say, what was
// stored before is whole and every further append fails too.
func (j *Journal) Append(r *Rollout) error {
	line, err := formatLine(r)
	if err != nil {
		return fmt.Errorf("store %s: %w", r.ID(), err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return j.broken
	}
	if _, err := j.file.WriteAt(line, j.end); err != nil {
		j.broken = fmt.Errorf("store %s: %w", r.ID(), atomicfile.Advise(j.file.Name(), err))
		return errors.Join(j.broken, j.file.Truncate(j.end))
	}
	j.lines[r.ID()] = span{j.end, int64(len(line))}
	j.end += int64(len(line))
	return nil
}

// Has reports whether a rollout is stored.
func (j *Journal) Has(id ID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, there := j.lines[id]
	return there
}

// Len is the number of rollouts stored.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.lines)
}

// Read reads a rollout that is stored.
func (j *Journal) Read(id ID) (*Rollout, error) {
	j.mu.Lock()
	at, there := j.lines[id]
	j.mu.Unlock()
	if !there {
		return nil, fmt.Errorf("%s is not in the journal %s", id, j.file.Name())
	}
	line := make([]byte, at.size)
	if _, err := j.file.ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	r, err := parseLine(line)
	if err != nil {
		return nil, fmt.Errorf("read %s from the journal %s: %w", id, j.file.Name(), err)
	}
	return r, nil
}

// Sync makes what was appended survive a machine that stops.
func (j *Journal) Sync() error { return j.file.Sync() }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// Remove closes the file and removes it.
func (j *Journal) Remove() error { return errors.Join(j.file.Close(), os.Remove(j.file.Name())) }
