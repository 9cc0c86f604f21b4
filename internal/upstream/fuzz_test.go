package upstream_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"speceval/internal/benchmark"
)

// unpickled is the string of a pickle, by another way than that of the package: it
// tries how such a pickle could have been written.
func unpickled(data []byte) (text []byte, ok bool) {
	for protocol := byte(2); protocol <= 4; protocol++ {
		for opcode, width := range map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8} {
			for _, memo := range []string{"", "q\x00", "r\x00\x00\x00\x00", "\x94"} {
				for _, frame := range []int{0, 9} {
					head, end := 2+frame+1+width, len(data)-len(memo)-1
					if head > end || width == 1 && end-head > 255 || protocol < 4 && (opcode != 'X' || memo == "\x94" || frame > 0) {
						continue
					}
					written := pickled(protocol, opcode, string(data[head:end]), memo)
					if frame > 0 {
						written = framed(written, 0)
					}
					if bytes.Equal(written, data) {
						return data[head:end], true
					}
				}
			}
		}
	}
	return nil, false
}

// unlisted are the tests of a JSON list, by the standard library.
func unlisted(text []byte) (tests []benchmark.Test, err error) {
	if len(bytes.Trim(text, " \t\r\n")) == 0 {
		return nil, nil
	}
	var records []struct{ Input, Output, TestType *string }
	if err := json.Unmarshal(text, &records); err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Input == nil || r.Output == nil || r.TestType == nil {
			return nil, errors.New("something is missing")
		}
		test := benchmark.Test{Kind: "stdin", Input: *r.Input, Output: *r.Output}
		if *r.TestType == "functional" {
			test.Kind, test.Function = "function", "f"
		}
		tests = append(tests, test)
	}
	return tests, nil
}

// readBothWays reads a text at once and in pieces.
func readBothWays(t *testing.T, text string) ([]benchmark.Test, error) {
	got, err := readCases(strings.NewReader(text), "f")
	again, errAgain := readCases(iotest.HalfReader(strings.NewReader(text)), "f")
	if !reflect.DeepEqual(got, again) || (err == nil) != (errAgain == nil) {
		t.Fatalf("%q: %+v, %v; in pieces %+v, %v", text, got, err, again, errAgain)
	}
	return got, err
}

// FuzzPickle reads anything as a pickle, and holds it to another reader.
func FuzzPickle(f *testing.F) {
	const list = `[{"input":"1","output":"2","testtype":"stdin"}]`
	for _, seed := range [][]byte{
		pickled(2, 'X', list, "q\x00"), pickled(3, 'X', list, "r\x00\x00\x00\x00"), pickled(4, 0x8c, list, "\x94"), pickled(4, 0x8d, list, ""),
		framed(pickled(4, 'X', list, "\x94"), 0), framed(pickled(4, 0x8c, "[]", ""), 0), pickled(4, 0x8c, list+"  \n", ""), []byte("\x80\x04cos\nsystem\n\x94."),
		framed(pickled(4, 'X', list, "\x94"), -1), pickled(2, 'X', "", ""),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readBothWays(t, base64.StdEncoding.EncodeToString(stored(data)))
		text, plain := unpickled(data)
		switch {
		case err == nil && !plain:
			t.Fatalf("%q was read as %+v", data, got)
		case err == nil:
			if want, err := unlisted(text); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %+v; want %+v, %v", data, got, want, err)
			}
		case plain:
			if _, why := readCases(bytes.NewReader(append([]byte("  "), text...)), "f"); why == nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
				t.Fatalf("%q was refused: %v", data, err)
			}
		}
	})
}

// FuzzPacked reads anything as what was compressed, and as its base64: what is read
// the standard library reads as well, without mending anything.
func FuzzPacked(f *testing.F) {
	const list = `[{"input":"1","output":"2","testtype":"stdin"}]`
	pickle := pickled(4, 0x8c, list, "\x94")
	for _, seed := range [][]byte{compressed(pickle), stored(pickle), slices.Concat(compressed(pickle), []byte("x")), compressed(framed(pickle, 0)), compressed(nil), []byte(list)} {
		f.Add(seed, "")
		f.Add(seed, "\n")
		f.Add([]byte(base64.StdEncoding.EncodeToString(seed)), "=")
	}
	f.Fuzz(func(t *testing.T, data []byte, behind string) {
		for _, text := range []string{base64.StdEncoding.EncodeToString(data) + behind, string(data) + behind} {
			trimmed := strings.Trim(text, " \t\r\n")
			if got, err := readBothWays(t, text); err == nil && trimmed != "" && trimmed[0] != '[' {
				whole, err := base64.StdEncoding.Strict().DecodeString(trimmed)
				if err != nil || strings.ContainsAny(trimmed, "\r\n") {
					t.Fatalf("%q was read, but: %v", text, err)
				}
				source := bytes.NewReader(whole)
				r, err := zlib.NewReader(source)
				if err != nil {
					t.Fatalf("%q was read, but: %v", text, err)
				}
				inflated, err := io.ReadAll(r)
				string, ok := unpickled(inflated)
				if want, errList := unlisted(string); err != nil || source.Len() > 0 || !ok || errList != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%q: %+v; want %+v, %v, %v", text, got, want, err, errList)
				}
			}
		}
	})
}

// FuzzTests reads anything as the JSON of tests: what is read and obeys the rules of
// task files comes back from a file of tests as it was.
func FuzzTests(f *testing.F) {
	for _, seed := range []string{`[{"input":"1","output":"2","testtype":"stdin"}]`, `[{"input":"1\n[\"é\"]","output":"2","testtype":"functional"},{"input":"","output":"{}","testtype":"functional"}]`, "[]", "\xff"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readBothWays(t, base64.StdEncoding.EncodeToString(stored(pickled(4, 0x8d, text, "\x94"))))
		if plain, errPlain := readBothWays(t, text); strings.HasPrefix(text, "[") && (!reflect.DeepEqual(got, plain) || (err == nil) != (errPlain == nil)) {
			t.Fatalf("%q: packed %+v, %v; as it is %+v, %v", text, got, err, plain, errPlain)
		}
		if err != nil {
			return
		}
		var file bytes.Buffer
		w := benchmark.NewTestsWriter(&file)
		for _, test := range got {
			w.Add(test)
		}
		digest, err := w.Close()
		if err != nil {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "t.json.gz"), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		again, err := benchmark.ReadTests(filepath.Join(dir, "b.jsonl"), benchmark.Task{TestsFile: "t.json.gz", TestsSHA256: digest}, "")
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%q: %+v; from the file %+v, %v", text, got, again, err)
		}
	})
}
