package testcases_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/upstream/testcases"
)

// list is a long JSON list: a piece n times between head and tail.
type list struct {
	head, piece string
	n           int
	tail        string
}

func (l list) length() int { return len(l.head) + l.n*len(l.piece) + len(l.tail) }

// pack writes the list as it is published. Each part is compressed once.
func (l list) pack(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	io.WriteString(encoder, "\x78\x01")
	sum := adler32.New()
	write := func(part string, n int) (err error) {
		text, zipped := []byte(part), deflated(part)
		for ; n > 0 && err == nil; n-- {
			sum.Write(text)
			_, err = encoder.Write(zipped)
		}
		return err
	}
	pickle := binary.LittleEndian.AppendUint32([]byte("\x80\x04X"), uint32(l.length()))
	err := errors.Join(write(string(pickle)+l.head, 1), write(l.piece, l.n), write(l.tail+"\x94.", 1))
	encoder.Write(sum.Sum([]byte("\x01\x00\x00\xff\xff"))) // after an empty block, the last
	return errors.Join(err, encoder.Close(), out.Flush())
}

// deflated is a text as blocks of a compressed stream that refer to none before.
func deflated(text string) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, text)
	w.Flush()
	return b.Bytes()
}

// live is how much memory is in use, without what is left to be collected.
func live() uint64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// Packed tests of 300 MB are read in the memory of a few of them: 100 kB each.
func TestMemory(t *testing.T) {
	const n = 3000
	test := `{"input":"` + strings.Repeat(`1 2 3 4 5\n`, 9000) + `","output":"` + strings.Repeat("7", 1000) + `","testtype":"stdin"}`
	r, w := io.Pipe()
	go func() { w.CloseWithError(list{"[", test + ",", n - 1, test + "]"}.pack(w)) }()
	before, most, read, size := live(), uint64(0), 0, 0
	err := testcases.Read(r, "", func(test benchmark.Test) error {
		read, size = read+1, size+len(test.Input)+len(test.Output)
		if read%200 == 0 {
			most = max(most, live())
		}
		return nil
	})
	if err != nil || read != n || size != n*91000 {
		t.Fatalf("%d tests of %d bytes, %v", read, size, err)
	}
	t.Logf("%.1f MB in memory, %.1f MB before", float64(most)/1e6, float64(before)/1e6)
	if most > before+3e6 {
		t.Errorf("%.1f MB in memory, %.1f MB before", float64(most)/1e6, float64(before)/1e6)
	}
}

// What is small when packed and large in truth is left off in time.
func TestBombs(t *testing.T) {
	for name, c := range map[string]struct{ head, piece, want string }{
		"one test":   {`[{"input":"`, "x", "item 0: is longer than 64 MiB"},
		"blanks":     {"[", " ", "item 0: is longer than 64 MiB"},
		"many lists": {"[", "[", "item 0: must be an object"},
	} {
		r, w := io.Pipe()
		go func() { w.CloseWithError(list{c.head, strings.Repeat(c.piece, 1<<20), 1000, "]"}.pack(w)) }()
		if err := testcases.Read(r, "", func(benchmark.Test) error { return nil }); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
		r.Close()
		var now runtime.MemStats
		if runtime.ReadMemStats(&now); now.HeapSys > 1<<30 {
			t.Errorf("%s: %d MiB of memory", name, now.HeapSys>>20)
		}
	}
}

// BenchmarkRead reads tests of numbers, as most are; MB are those of the JSON.
func BenchmarkRead(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var input strings.Builder
	for input.Len() < 1<<20 {
		fmt.Fprintf(&input, `%d %d\n`, r.IntN(1e9), r.IntN(1e9))
	}
	test := `{"input":"` + input.String() + `","output":"1","testtype":"stdin"}`
	file, err := os.Create(b.TempDir() + "/packed")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := (list{"[", test + ",", 31, test + "]"}).pack(file); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(32 * int64(len(test)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		if err := testcases.Read(file, "", func(benchmark.Test) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
