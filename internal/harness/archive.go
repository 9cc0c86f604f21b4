package harness

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"speceval/internal/harness/pull"
	"speceval/internal/inputfile"
)

// limits bound what is read of one archive.
type limits struct {
	directory int64 // bytes of the list of members
	member    int64 // bytes of one member, decompressed
	all       int64 // and of all that are read
}

// honest is what honest logs stay within: a million samples, whose list takes some
// 350 MB of memory.
var honest = limits{directory: 96 << 20, member: 4 << 30, all: 8 << 30}

// zstdMethod is how zip numbers zstd.
const zstdMethod = 93

// zip reads a log in the .eval form: of its members only the header and the summaries
// of samples, or the journal of a run that did not come to its end.
func (l *inspectLog) zip(name string, most limits) error {
	disk, err := inputfile.Open(name, inputfile.Log)
	if err != nil {
		return err
	}
	defer disk.Close()
	info, err := disk.Stat()
	if err != nil {
		return err
	}
	return l.archive(disk, info.Size(), most)
}

func (l *inspectLog) archive(r io.ReaderAt, size int64, most limits) error {
	rationed := &rationed{reader: r, left: most.directory}
	archive, err := zip.NewReader(rationed, size)
	switch {
	case rationed.err != nil:
		return rationed.err
	case err != nil:
		return fmt.Errorf("the zip is cut short or broken: %w", err)
	}
	rationed.left = -1
	archive.RegisterDecompressor(zstdMethod, zstd.ZipDecompressor(zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)))
	members, journal := members(archive)
	if header := members["header.json"]; header != nil {
		if err := most.read(header, l.header); err != nil {
			return err
		}
	} else if start := members["_journal/start.json"]; start != nil {
		l.status = "started"
		if err := most.read(start, l.header); err != nil {
			return err
		}
		l.note("the run did not come to its end: what its journal has counts")
	} else {
		return errors.New("it has neither header.json nor _journal/start.json: it is no log of Inspect")
	}
	if summaries := members["summaries.json"]; summaries != nil {
		journal = []*zip.File{summaries}
	}
	for _, summaries := range journal {
		if err := most.read(summaries, l.samples); err != nil {
			return err
		}
	}
	return nil
}

// members are those that are read, by their names, and the parts of the journal by
// their numbers. Of several of one name the last counts.
func members(archive *zip.Reader) (byName map[string]*zip.File, journal []*zip.File) {
	byName = make(map[string]*zip.File)
	var numbers []int
	parts := make(map[int]*zip.File)
	for _, f := range archive.File {
		switch f.Name {
		case "header.json", "summaries.json", "_journal/start.json":
			byName[f.Name] = f
			continue
		}
		digits, is := strings.CutPrefix(f.Name, "_journal/summaries/")
		n, err := strconv.Atoi(strings.TrimSuffix(digits, ".json"))
		if !is || err != nil || path.Ext(digits) != ".json" {
			continue
		}
		if parts[n] == nil {
			numbers = append(numbers, n)
		}
		parts[n] = f
	}
	slices.SortFunc(numbers, cmp.Compare)
	for _, n := range numbers {
		journal = append(journal, parts[n])
	}
	return byName, journal
}

// read reads a member as JSON.
func (m *limits) read(f *zip.File, read func(p *pull.Reader) error) error {
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer content.Close()
	bounded := &boundedReader{reader: content, left: min(m.member, m.all)}
	p := pull.New(bounded)
	if err = read(p); err == nil {
		err = p.End()
	}
	m.all -= bounded.read
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// boundedReader ends with an error where there is more than is allowed.
type boundedReader struct {
	reader     io.Reader
	read, left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it decompresses to more than %.1f MiB: that is no log", float64(b.read)/(1<<20))
	}
	n, err := b.reader.Read(p[:min(int64(len(p)), b.left)])
	b.read, b.left = b.read+int64(n), b.left-int64(n)
	return n, err
}

// rationed lets some bytes through: as many as the list of a zip's members may have.
type rationed struct {
	reader io.ReaderAt
	left   int64 // −1: no bound any more
	err    error
}

func (r *rationed) ReadAt(p []byte, at int64) (int, error) {
	if r.left >= 0 {
		if r.left -= int64(len(p)); r.left < 0 {
			r.left = 0
			r.err = errors.New("the zip's list of members is longer than any log's")
			return 0, r.err
		}
	}
	return r.reader.ReadAt(p, at)
}
