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
	"strconv"

	"speceval/internal/ownfile"
)

const (
	bufferSize = 1 << 16
	maxLine    = 1 << 28 // bounds a line: an answer of 2^20 tokens is shorter
)

// Records reads the records of the journal at path in the order in which they
// were appended, and skips lines that are damaged or unfinished. It changes
// nothing, so that it may look at what another process writes or has left. An
// error ends it.
func Records[T any](path string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		file, err := ownfile.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		reader := bufio.NewReaderSize(file, bufferSize)
		for {
			line, err := readLine(reader)
			if errors.Is(err, io.EOF) {
				return
			}
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
