package upstream_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"speceval/internal/benchmark"
	"speceval/internal/upstream"
)

func readCases(r io.Reader, function string) (tests []benchmark.Test, err error) {
	err = upstream.ReadTestCases(r, function, func(test benchmark.Test) error {
		tests = append(tests, test)
		return nil
	})
	return tests, err
}

func compressed(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func packed(pickle []byte) string { return base64.StdEncoding.EncodeToString(compressed(pickle)) }

// pickled writes a string the way a pickler does; its protocol and opcode are
// free.
func pickled(protocol byte, opcode byte, text, memo string) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	width := map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8}[opcode]
	body := append([]byte{opcode}, length[:width]...)
	return append([]byte{0x80, protocol}, append(body, text+memo+"."...)...)
}

// framed puts what follows the protocol into a frame that is said to be so much
// longer than it is.
func framed(pickle []byte, more int) []byte {
	frame := binary.LittleEndian.AppendUint64([]byte{0x80, 4, 0x95}, uint64(len(pickle)-2+more))
	return append(frame, pickle[2:]...)
}

// What CPython 3.11 packs: base64.b64encode(zlib.compress(pickle.dumps(s, protocol))).
func TestReadWhatPythonPacked(t *testing.T) {
	two := []benchmark.Test{{Kind: "stdin", Input: "2 3\n", Output: "5\n"}, {Kind: "stdin", Input: "40 2\n", Output: "42\n"}}
	for name, c := range map[string]struct {
		text string
		want []benchmark.Test
	}{
		"protocol 2": {"eJxrYIooY2BgiK5WyswrKC1RslJQMlIwjslT0lFQyi8tgQqZQgRKUotLSioLUkFCxSUpmXlKtToKSDpNDBSM0LWaGOHUG1vIoAcAN6klaA==", two},
		"protocol 3": {"eJxrYI4oY2BgiK5WyswrKC1RslJQMlIwjslT0lFQyi8tgQqZQgRKUotLSioLUkFCxSUpmXlKtToKSDpNDBSM0LWaGOHUG1vIoAcAOCglaQ==", two},
		"protocol 4": {"eJxrYJlaxQABPWXR1UqZeQWlJUpWCkpGCsYxeUo6Ckr5pSVQIVOIQElqcUlJZUEqSKi4JCUzT6lWRwFJp4mBghG6VhMjnHpjp+gBALdgJtA=", two},
		"functional": {"eJxrYJlqxwABPVbR1UqZeQWlJUpWCkqGSjoKSvmlJVDu4ZUgfklqcUlJZUEqSCStNC+5JDM/LzFHqTZ2ih4A1AkWAQ==",
			[]benchmark.Test{{Kind: "function", Function: "f", Input: "1", Output: "é"}}},
	} {
		if got, err := readCases(strings.NewReader(c.text), "f"); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	const list = `[{"input":"[1, 2]\n3","output":"true","testtype":"functional"}, {"testtype":"functional","output":"\u00e9🙂","input":""}]`
	want := []benchmark.Test{{Kind: "function", Function: "solve", Input: "[1, 2]\n3", Output: "true"}, {Kind: "function", Function: "solve", Output: "é🙂"}}
	long := strings.Repeat(" ", 1<<17) + list + "\n"
	for name, text := range map[string]string{
		"a list":               list,
		"a list amid blanks":   " \n" + list + "\n",
		"protocol 2":           packed(pickled(2, 'X', list, "q\x00")),
		"protocol 3":           packed(pickled(3, 'X', list, "r\x00\x00\x00\x00")),
		"protocol 4":           packed(framed(pickled(4, 0x8c, list, "\x94"), 0)),
		"no frame":             packed(pickled(4, 'X', long, "\x94")),
		"a frame of a long":    packed(framed(pickled(4, 'X', long, ""), 0)),
		"the longest one":      packed(pickled(4, 0x8d, long, "\x94")),
		"a line at the end":    packed(pickled(2, 'X', list, "")) + "\n",
		"packed in many bytes": base64.StdEncoding.EncodeToString(stored(pickled(2, 'X', long, ""))) + strings.Repeat(" ", 1<<14),
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(text), "in pieces": iotest.OneByteReader(strings.NewReader(text))} {
			if got, err := readCases(r, "solve"); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %+v, %v", name, how, got, err)
			}
		}
	}
	for _, nothing := range []string{"", " \n", "[]", packed(pickled(2, 'X', "", "")), packed(pickled(4, 0x8c, "[]", "\x94"))} {
		if got, err := readCases(strings.NewReader(nothing), "solve"); err != nil || got != nil {
			t.Errorf("%q: %+v, %v", nothing, got, err)
		}
	}
}

// stored is a zlib stream in blocks that are not compressed (RFC 1950 and 1951).
func stored(data []byte) []byte {
	stream := []byte{0x78, 0x01}
	for rest, last := data, byte(0); last == 0; {
		n := min(len(rest), 1<<16-1)
		if n == len(rest) {
			last = 1
		}
		stream = binary.LittleEndian.AppendUint16(append(stream, last), uint16(n))
		stream = append(binary.LittleEndian.AppendUint16(stream, ^uint16(n)), rest[:n]...)
		rest = rest[n:]
	}
	return binary.BigEndian.AppendUint32(stream, adler32.Checksum(data))
}

func TestReadRefuses(t *testing.T) {
	const stdin = `[{"input":"1","output":"2","testtype":"stdin"}]`
	const noPickle = "pickle of one string"
	good := pickled(4, 0x8c, stdin, "\x94")
	zipped := compressed(good)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-1] ^= 1
	encoded := base64.StdEncoding.EncodeToString
	// A piece of base64 that is decoded at once is of 4096 characters.
	many := stored(pickled(2, 'X', stdin+strings.Repeat(" ", 1<<14), ""))
	for _, c := range []struct{ name, text, want string }{
		{"no output", `[{"input":"1","testtype":"stdin"}]`, "item 0: lacks its input or output"},
		{"another type", `[{"input":"1","output":"2","testtype":"other"}]`, "must be stdin or functional"},
		{"no type", `[{"input":"1","output":"2"}]`, "must be stdin or functional"},
		{"another key", `[{"input":"1","output":"2","testtype":"stdin","time":"1"}]`, `"time" is none of the keys`},
		{"a number", `[{"input":1,"output":"2","testtype":"stdin"}]`, "item 0: input: must be a text, is a number"},
		{"an object", `{}`, "neither a JSON list nor one that is packed: base64"},
		{"bytes", "[{\"input\":\"\xff\"}]", "UTF-8"},
		{"half a character", `[{"input":"\ud800"}]`, "surrogate"},
		{"a list that is cut off", stdin[:20], "unexpected EOF"},
		{"two lists", stdin + stdin, "more follows"},
		{"no base64", "not base64!", "base64"},
		{"base64 with line breaks", packed(good)[:4] + "\n" + packed(good)[4:], "base64: a line break at character 4"},
		{"base64 with blanks", packed(good)[:4] + " " + packed(good)[4:], "base64"},
		{"base64 in two parts", encoded(many[:3072]) + "  " + encoded(many[3072:]), "base64: after character 4096"},
		{"base64 after blanks that end a piece", encoded(many[:3069]) + "    " + encoded(many[3069:]), "base64: after character 4092: something follows"},
		{"base64 after padding that ends a piece", encoded(many[:3071]) + encoded(many[3071:]), "base64: after character 4096: something follows"},
		{"base64 after padding", encoded([]byte("x")) + packed(good), "base64"},
		{"base64 that is cut off", strings.TrimRight(packed(good), "=")[:21], "base64"},
		{"base64 for URLs", "eJ_-", "base64"},
		{"base64 with bits that are not used", "eJx=", "base64"},
		{"no zlib", encoded([]byte("no zlib")), "zlib"},
		{"zlib that is cut off", encoded(zipped[:len(zipped)-5]), "unexpected EOF"},
		{"zlib without a checksum", encoded(zipped[:len(zipped)-4]), "unexpected EOF"},
		{"zlib with another checksum", encoded(flipped), "checksum"},
		{"zlib with something behind", encoded(append(bytes.Clone(zipped), "more"...)), "something follows the compressed tests"},
		{"two of zlib", encoded(append(bytes.Clone(zipped), zipped...)), "something follows the compressed tests"},
		{"a call of protocol 0", packed([]byte("cos\nsystem\n(S'true'\ntR.")), noPickle},
		{"a call", packed([]byte("\x80\x04cos\nsystem\n\x94.")), noPickle},
		{"a call after the string", packed(pickled(4, 0x8c, stdin, "\x94cos\nsystem\n\x85R")), noPickle},
		{"no end", packed(good[:len(good)-1]), noPickle},
		{"two ends", packed(append(bytes.Clone(good), '.')), noPickle},
		{"protocol 5", packed(pickled(5, 0x8c, stdin, "\x94")), noPickle},
		{"an opcode of protocol 4 in 2", packed(pickled(2, 0x8c, stdin, "")), noPickle},
		{"a memo of protocol 4 in 2", packed(pickled(2, 'X', stdin, "\x94")), noPickle},
		{"a frame in protocol 3", packed([]byte("\x80\x03" + string(framed(pickled(4, 'X', stdin, ""), 0)[2:]))), noPickle},
		{"something after the frame", packed(append(framed(good, 0), 'x')), noPickle},
		{"a frame too long", packed(framed(good, 1)), noPickle},
		{"a frame too short", packed(framed(good, -1)), noPickle},
		{"a frame without the end", packed(framed(good, -2)), noPickle},
		{"a frame of a part", packed(framed(good, -3)), noPickle},
		{"a frame of another length", packed(framed(good, 1000)), noPickle},
		{"a string that is cut off", packed(good[:20]), noPickle},
		{"a string longer than it is", packed(bytes.Replace(good, []byte{byte(len(stdin))}, []byte{byte(len(stdin)) + 1}, 1)), "more follows"},
		{"blanks that are missing", packed(pickled(2, 'X', stdin+strings.Repeat(" ", 70000), "")[:69000]), noPickle},
		{"too long", packed([]byte{0x80, 4, 0x8d, 1, 0, 0, 0x40, 0, 0, 0, 0, '['}), "1073741825 bytes"},
		{"far too long", packed([]byte{0x80, 4, 0x8d, 255, 255, 255, 255, 255, 255, 255, 255, '.'}), "18446744073709551615 bytes"},
		{"hardly anything", packed([]byte{0x80, 4}), noPickle},
		{"nothing", packed(nil), noPickle},
	} {
		if got, err := readCases(strings.NewReader(c.text), "f"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
}

func TestErrorsOfOthersAreReturned(t *testing.T) {
	const list = `[{"input":"1","output":"2","testtype":"stdin"}]`
	broken := errors.New("broken")
	for _, text := range []string{list, packed(pickled(4, 'X', list, "")), base64.StdEncoding.EncodeToString(stored(pickled(2, 'X', list+strings.Repeat(" ", 1<<18), "")))} {
		for n := 0; n <= len(text); n += 1 + n/8 {
			for _, want := range []error{broken, io.ErrUnexpectedEOF} {
				if _, err := readCases(io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(want)), ""); !errors.Is(err, want) {
					t.Fatalf("%.20q, broken after %d: %v", text, n, err)
				}
			}
		}
		if err := upstream.ReadTestCases(strings.NewReader(text), "", func(benchmark.Test) error { return broken }); err != broken {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := readCases(strings.NewReader(fmt.Sprint(list, "x")), ""); err == nil {
		t.Error("the x was not seen")
	}
}

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
	err := upstream.ReadTestCases(r, "", func(test benchmark.Test) error {
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
		if err := upstream.ReadTestCases(r, "", func(benchmark.Test) error { return nil }); !strings.Contains(fmt.Sprint(err), c.want) {
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
		if err := upstream.ReadTestCases(file, "", func(benchmark.Test) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
