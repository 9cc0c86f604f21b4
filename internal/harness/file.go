package harness

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"speceval/internal/files"
)

const (
	headBytes = 64 << 10 // by which a format is recognised
	maxFiles  = 200_000  // in a folder
)

// file is a file that may be a log, or a part of one.
type file struct {
	path   string
	size   int64
	head   []byte // its first bytes while it is recognised, nil otherwise
	digest string // "" until it is asked for: several logs may be in one file
}

// base is the file's name, without its folders.
func (f *file) base() string { return filepath.Base(f.path) }

// folder is the name of the n-th folder above the file, 0 the one that it is in; "" if
// the path does not name it.
func (f *file) folder(n int) string {
	dir := filepath.Dir(f.path)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	for range n {
		dir = filepath.Dir(dir)
	}
	if dir = filepath.Base(dir); dir == string(filepath.Separator) {
		return ""
	}
	return dir
}

// named reports whether the file's name ends so.
func (f *file) named(suffix string) bool { return strings.HasSuffix(f.path, suffix) }

// has reports whether all of the words are among the file's first bytes, as keys or
// texts of JSON.
func (f *file) has(words ...string) bool {
	head := f.first()
	for _, word := range words {
		if !bytes.Contains(head, []byte(`"`+word+`"`)) {
			return false
		}
	}
	return true
}

// first is the file's first bytes. What cannot be read has none.
func (f *file) first() []byte {
	if f.head != nil {
		return f.head
	}
	head, _ := f.load()
	return head
}

// load reads the file's first bytes.
func (f *file) load() ([]byte, error) {
	head := make([]byte, min(headBytes, f.size))
	err := f.reader(func(r io.Reader) error {
		n, err := io.ReadFull(r, head)
		head = head[:n]
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	})
	return head, err
}

// sha256 is the digest of the whole file, in lower-case hex.
func (f *file) sha256() (string, error) {
	if f.digest != "" {
		return f.digest, nil
	}
	err := f.reader(func(r io.Reader) error {
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return err
		}
		f.digest = hex.EncodeToString(sum.Sum(nil))
		return nil
	})
	return f.digest, err
}

// starts reports whether the file is JSON that begins with a byte.
func (f *file) starts(with byte) bool {
	text := bytes.TrimLeft(f.first(), " \t\r\n")
	return len(text) > 0 && text[0] == with
}

// reader reads the file.
func (f *file) reader(read func(r io.Reader) error) error {
	disk, err := files.OpenInput(f.path, files.Log)
	if err != nil {
		return err
	}
	defer disk.Close()
	return read(disk)
}

// find is the file at path, or the regular files of the folder there, by their paths.
// Links are not followed, and what begins with a dot is passed over.
func find(path string) (files []*file, folder bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		f, err := newFile(path, info)
		return []*file{f}, false, err
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return filepath.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "."):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("%s has more than %d files: name the folders of logs in it", path, maxFiles)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !logLike(name) {
			return nil
		}
		f, err := newFile(name, info)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, true, err
}

// logLike reports whether a file of a folder may be a log at all.
func logLike(name string) bool {
	switch filepath.Ext(name) {
	case ".eval", ".json", ".jsonl", ".parquet":
		return true
	}
	return false
}

// newFile checks the file at a path and returns it.
func newFile(path string, info fs.FileInfo) (*file, error) {
	if err := files.CheckInput(path, files.Log); err != nil {
		return nil, err
	}
	return &file{path: path, size: info.Size()}, nil
}

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
	disk, err := files.OpenInput(name, files.Log)
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
func (m *limits) read(f *zip.File, read func(p *pullReader) error) error {
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer content.Close()
	bounded := &boundedReader{reader: content, left: min(m.member, m.all)}
	p := newPullReader(bounded)
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
