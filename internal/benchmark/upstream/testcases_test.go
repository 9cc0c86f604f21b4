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
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/upstream"
)

func readCases(r io.Reader, function string) (tests []benchmark.Test, err error) {
	err = upstream.ReadTestCases(r, function, func(test benchmark.Test) error {
		tests = append(tests, test)
		return nil
	})
	return tests, err
}

// packed is bytes as they are published: compressed, in base64.
func packed(pickle string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	io.WriteString(w, pickle)
	w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// pickled is a text as a pickle of protocol 4 with a long length.
func pickled(text string) string {
	return string(binary.LittleEndian.AppendUint64([]byte("\x80\x04\x8d"), uint64(len(text)))) + text + "\x94."
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
	for name, text := range map[string]string{"a list": list, "packed": packed(pickled(list)), "a long one": packed(pickled(long)), "a line at the end": packed(pickled(list)) + "\n"} {
		if got, err := readCases(iotest.HalfReader(strings.NewReader(text)), "solve"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, nothing := range []string{"", "[]", packed(pickled("")), packed(pickled("[]"))} {
		if got, err := readCases(strings.NewReader(nothing), "solve"); err != nil || got != nil {
			t.Errorf("%q: %+v, %v", nothing, got, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const stdin = `[{"input":"1","output":"2","testtype":"stdin"}]`
	good := packed(pickled(stdin))
	zipped := must(base64.StdEncoding.DecodeString(good))
	encoded := base64.StdEncoding.EncodeToString
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-1] ^= 1
	for _, c := range []struct{ name, text, want string }{
		{"no output", `[{"input":"1","testtype":"stdin"}]`, "item 0: lacks its input or output"},
		{"another type", `[{"input":"1","output":"2","testtype":"other"}]`, "must be stdin or functional"},
		{"another key", `[{"input":"1","output":"2","testtype":"stdin","time":"1"}]`, `time: is none of the keys`},
		{"a number", `[{"input":1,"output":"2","testtype":"stdin"}]`, "[0].input: must be a text, is a number"},
		{"an object", `{}`, "neither a JSON list nor one in zlib and base64"},
		{"bytes", "[{\"input\":\"\xff\"}]", "UTF-8"},
		{"a list that is cut off", stdin[:20], "unexpected EOF"},
		{"two lists", stdin + stdin, "more follows"},
		{"base64 that is cut off", good[:20], "EOF"},
		{"no zlib", encoded([]byte("no zlib")), "zlib"},
		{"zlib that is cut off", encoded(zipped[:len(zipped)-5]), "unexpected EOF"},
		{"zlib without a checksum", encoded(zipped[:len(zipped)-4]), "unexpected EOF"},
		{"zlib with another checksum", encoded(flipped), "checksum"},
		{"a call of protocol 0", packed("cos\nsystem\n(S'true'\ntR."), "not the pickle of one text"},
		{"a call", packed("\x80\x04cos\nsystem\n\x94."), "not the pickle of one text"},
		{"a text that is cut off", packed(pickled(stdin)[:20]), "unexpected EOF"},
		{"a length that is cut off", packed(pickled(stdin)[:6]), "a pickle that is cut off"},
		{"nothing", packed(""), "a pickle that is cut off"},
	} {
		if got, err := readCases(strings.NewReader(c.text), "f"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
	broken := errors.New("broken")
	for _, text := range []string{stdin, good} {
		if err := upstream.ReadTestCases(strings.NewReader(text), "", func(benchmark.Test) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// list is a long JSON list: a piece n times between head and tail.
type list struct {
	head, piece string
	n           int
	tail        string
}

// pack writes the list as it is published. Each part is compressed once.
func (l list) pack(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	io.WriteString(encoder, "\x78\x01")
	sum := adler32.New()
	write := func(part string, n int) (err error) {
		// Blocks of a compressed stream that refer to none before.
		var zipped bytes.Buffer
		deflate := must(flate.NewWriter(&zipped, flate.DefaultCompression))
		io.WriteString(deflate, part)
		deflate.Flush()
		for ; n > 0 && err == nil; n-- {
			sum.Write([]byte(part))
			_, err = encoder.Write(zipped.Bytes())
		}
		return err
	}
	pickle := binary.LittleEndian.AppendUint32([]byte("\x80\x04X"), uint32(len(l.head)+l.n*len(l.piece)+len(l.tail)))
	err := errors.Join(write(string(pickle)+l.head, 1), write(l.piece, l.n), write(l.tail+"\x94.", 1))
	encoder.Write(sum.Sum([]byte("\x01\x00\x00\xff\xff"))) // after an empty block, the last
	return errors.Join(err, encoder.Close(), out.Flush())
}

// What is small when packed and large in truth is left off in time.
func TestBombs(t *testing.T) {
	for name, c := range map[string]struct{ head, piece, want string }{
		"one test":   {`[{"input":"`, "x", "is longer than 64 MiB"},
		"blanks":     {"[", " ", "is longer than 64 MiB"},
		"many lists": {"[", "[", "[0]: must be an object"},
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
