package benchmark_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/benchmark"
)

// byPython are two tests as CPython's pickle, zlib and base64 pack them.
const byPython = "eJxrYJlaxQABPWXR1UqZeQWlJUpWCkpGCsYxeUo6Ckr5pSVQIVOIQElqcUlJZUEqSKi4JCUzT6lWRwFJp4mBghG6VhMjnHpjp+gBALdgJtA="

func packed(pickle []byte) string {
	var buffer bytes.Buffer
	writer := zlib.NewWriter(&buffer)
	writer.Write(pickle)
	writer.Close()
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

// pickled writes a string the way a pickler does; its protocol and opcode are
// free.
func pickled(protocol byte, opcode byte, text, memo string) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	width := map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8}[opcode]
	body := append([]byte{opcode}, length[:width]...)
	return append([]byte{0x80, protocol}, append(body, text+memo+"."...)...)
}

// framed puts what follows the protocol into a frame.
func framed(pickle []byte) []byte {
	frame := binary.LittleEndian.AppendUint64([]byte{0x80, 4, 0x95}, uint64(len(pickle)-2))
	return append(frame, pickle[2:]...)
}

func TestDecodeTestsThatPythonPacked(t *testing.T) {
	tests, err := benchmark.DecodeTests("", byPython, "{}")
	want := []benchmark.Test{{Kind: "stdin", Input: "2 3\n", Output: "5\n"}, {Kind: "stdin", Input: "40 2\n", Output: "42\n"}}
	if err != nil || !reflect.DeepEqual(tests, want) {
		t.Fatalf("%+v, %v; want %+v", tests, err, want)
	}
}

func TestDecodeTests(t *testing.T) {
	const list = `[{"input":"[1, 2]\n3","output":"true","testtype":"functional"}]`
	const metadata = `{"func_name":"solve","other":1}`
	want := []benchmark.Test{{Kind: "function", Function: "solve", Input: "[1, 2]\n3", Output: "true"}}
	long := strings.Repeat(" ", 1<<17) + list
	for name, private := range map[string]string{
		"a list":            list,
		"protocol 2":        packed(pickled(2, 'X', list, "q\x00")),
		"protocol 3":        packed(pickled(3, 'X', list, "r\x00\x00\x00\x00")),
		"protocol 4":        packed(framed(pickled(4, 0x8c, list, "\x94"))),
		"no frame":          packed(pickled(4, 'X', long, "\x94")),
		"a very long one":   packed(pickled(4, 0x8d, long, "\x94")),
		"a line at the end": packed(pickled(2, 'X', list, "")) + "\n",
	} {
		if got, err := benchmark.DecodeTests("", private, metadata); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	both, err := benchmark.DecodeTests(list, strings.Replace(list, "true", "false", 1), metadata)
	if err != nil || len(both) != 2 || both[0].Output != "true" || both[1].Output != "false" {
		t.Errorf("public and private ones: %+v, %v", both, err)
	}
}

func TestDecodeTestsRefuses(t *testing.T) {
	const stdin = `[{"input":"1","output":"2","testtype":"stdin"}]`
	const functional = `[{"input":"1","output":"2","testtype":"functional"}]`
	good := pickled(4, 0x8c, stdin, "\x94")
	tests := []struct{ public, private, metadata, want string }{
		{"", "", "", "no tests"},
		{"[]", "[]", "{}", "no tests"},
		{functional, "", "{}", "must be the name of a function"},
		{functional, stdin, `{"func_name":"f"}`, `kind: is "stdin", but "function"`},
		{functional, "", `{"func_name":"a b"}`, "must be the name of a function"},
		{stdin, "", "{", "metadata"},
		{`[{"input":"1","testtype":"stdin"}]`, "", "", "lacks its input or output"},
		{`[{"input":"1","output":"2","testtype":"other"}]`, "", "", "must be stdin or functional"},
		{"\xff", "", "", "UTF-8"},
		{"", "not base64!", "", "base64"},
		{"", base64.StdEncoding.EncodeToString([]byte("no zlib")), "", "zlib"},
		{"", packed([]byte("cos\nsystem\n(S'true'\ntR.")), "", "pickle of one string"},
		{"", packed([]byte("\x80\x04cos\nsystem\n\x94.")), "", "pickle of one string"},
		{"", packed(good[:len(good)-1]), "", "pickle of one string"},
		{"", packed(append(bytes.Clone(good), '.')), "", "pickle of one string"},
		{"", packed(pickled(5, 0x8c, stdin, "\x94")), "", "pickle of one string"},
		{"", packed(pickled(2, 0x8c, stdin, "")), "", "pickle of one string"},
		{"", packed(append(framed(good), 'x')), "", "pickle of one string"},
		{"", packed([]byte{0x80, 4, 0x8d, 255, 255, 255, 255, 255, 255, 255, 255, '.'}), "", "pickle of one string"},
		{"", packed([]byte{0x80, 4}), "", "pickle of one string"},
	}
	for _, test := range tests {
		if got, err := benchmark.DecodeTests(test.public, test.private, test.metadata); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q, %.60q: %v, %v; want an error with %q", test.public, test.private, got, err, test.want)
		}
	}
	twice := base64.StdEncoding.EncodeToString(append(unbase64(t, packed(good)), "more"...))
	if _, err := benchmark.DecodeTests("", twice, ""); err == nil || !strings.Contains(err.Error(), "follows") {
		t.Errorf("trailing bytes: %v", err)
	}
}

func unbase64(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzDecodeTests reads anything as private tests: what is read can be written
// to a file of tests.
func FuzzDecodeTests(f *testing.F) {
	f.Add(unbase64(f, packed(pickled(4, 0x8c, `[{"input":"1","output":"2","testtype":"stdin"}]`, "\x94"))), "")
	f.Add(pickled(2, 'X', `[{"input":"1","output":"2","testtype":"functional"}]`, "q\x00"), `{"func_name":"f"}`)
	f.Add(framed(pickled(4, 'X', "[]", "\x94")), "{}")
	f.Fuzz(func(t *testing.T, data []byte, metadata string) {
		for _, private := range []string{string(data), base64.StdEncoding.EncodeToString(data), packed(data)} {
			tests, err := benchmark.DecodeTests("", private, metadata)
			if err != nil {
				continue
			}
			var file bytes.Buffer
			if err := benchmark.WriteTests(&file, tests); err != nil {
				t.Fatal(fmt.Errorf("%q was read, but: %w", private, err))
			}
		}
	})
}
