package benchmark_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"speceval/internal/benchmark"
)

type object struct{ A, B string }

func readObjects(r io.Reader) (objects []object, err error) {
	type lower struct {
		A string `json:"a"`
		B string `json:"b"`
	}
	err = benchmark.ReadObjects(r, func(i int, o lower) error {
		if i != len(objects) {
			return fmt.Errorf("object %d is called %d", len(objects), i)
		}
		objects = append(objects, object(o))
		return nil
	})
	return objects, err
}

func TestFaultsOfLists(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "must be a list, is an object", `"a"`: "must be a list, is a text", `x`: "byte 1: ", `[`: "unexpected EOF", `[{}`: "unexpected EOF",
		`[{},]`: "byte ", `[{}{}]`: "byte ", `[7]`: "[0]: must be an object, is a number", `[{},[]]`: "[1]: must be an object, is a list",
		`[{"a":"1"`: "unexpected EOF", `[{"a":"1",}]`: "[0]: ", `[{"a" "1"}]`: "[0].a: ", `[{1:"1"}]`: "[0]: ",
		`[{"a":1}]`: "[0].a: must be a text, is a number", `[{"a":["1"]}]`: "[0].a: must be a text, is a list",
		`[{"c":"1"}]`: `[0].c: is none of the keys`, `[{"A":"1"}]`: `[0].A: is none of the keys`, `[{"a":"1","\u0061":""}]`: "[0].a: is there twice",
		"[{\"a\":\"\xff\"}]": "invalid UTF-8", "[{\"a\":\"\n\"}]": "[0].a: ", `[{"a":"\ud800"}]`: "surrogate", `[{"a":"\x"}]`: "[0].a: ",
		"": "EOF", " \n": "EOF", `[] []`: "more follows after its end", `[]x`: "more follows after its end", "[]\x00": "more follows after its end",
	} {
		if _, err := readObjects(strings.NewReader(text)); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v; want an error with %q", text, err, want)
		}
	}
}

func TestErrorsOfOthersAreReturned(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "[", `[{"a":`, `[{"a":"1"}`, "[]"} {
		if _, err := readObjects(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
	calls := 0
	err := benchmark.ReadObjects(strings.NewReader("[{},{}]"), func(int, struct{}) error { calls++; return broken })
	if err != broken || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// repeated gives a text over and over, n times.
type repeated struct {
	text string
	n    int
	rest string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// eager reads as much as it is asked for.
type eager struct{ io.Reader }

func (e eager) Read(p []byte) (int, error) {
	n, err := io.ReadFull(e.Reader, p)
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// An object may be as long as it is allowed to be, and not longer even if much of it
// was read together with the one before.
func TestLongObjects(t *testing.T) {
	const most = 64<<20 - len(`[{"a":""}`)
	object := func(long int) io.Reader {
		return io.MultiReader(strings.NewReader(`{"a":"`), &repeated{text: strings.Repeat("x", 1<<20), n: long >> 20}, strings.NewReader(strings.Repeat("x", long%(1<<20))+`"}`))
	}
	got, err := readObjects(io.MultiReader(strings.NewReader("["), object(most), strings.NewReader("]")))
	if err != nil || len(got) != 1 || len(got[0].A) != most {
		t.Errorf("%d objects, %v", len(got), err)
	}
	_, err = readObjects(eager{io.MultiReader(strings.NewReader("["), object(40<<20), strings.NewReader(","), object(most+1), strings.NewReader("]"))})
	if !strings.Contains(fmt.Sprint(err), "is longer than 64 MiB") {
		t.Errorf("%v", err)
	}
}

// FuzzReadObjects reads what encoding/json reads, and the same, unless it says why not;
// the same in pieces, but for the words of errors.
func FuzzReadObjects(f *testing.F) {
	for _, seed := range []string{"[]", ` [ {"a":"1\n\u00e9\ud83d\ude42 é","b":""} , {}, {"b":"{\"a\":[]}"} ] ` + "\n", `[{"a":"1\n","b":"\ud83d\ude42"},{}]`, `[{"a":"\ud800"}]`, `[{"c":1}]`, "[{\"a\":\"\xff\"}]", `[{"a":""},`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readObjects(iotest.HalfReader(strings.NewReader(text)))
		if whole, errWhole := readObjects(strings.NewReader(text)); !reflect.DeepEqual(whole, got) || (errWhole == nil) != (err == nil) {
			t.Fatalf("%q: %q, %v in pieces; %q, %v at once", text, got, err, whole, errWhole)
		}
		if err != nil {
			return
		}
		var want []object
		if err := json.Unmarshal([]byte(text), &want); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %q; want %q, %v", text, got, want, err)
		}
	})
}
