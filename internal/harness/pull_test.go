package harness

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// read is a value as text, with one type of number and null.
func read(p *pullReader) (string, error) {
	var b strings.Builder
	err := write(&b, p)
	return b.String(), err
}

func write(b *strings.Builder, p *pullReader) error {
	switch p.Kind() {
	case '{':
		b.WriteByte('{')
		err := p.Object(func(key string) error {
			fmt.Fprintf(b, "%q:", key)
			err := write(b, p)
			b.WriteByte(';')
			return err
		})
		b.WriteByte('}')
		return err
	case '[':
		b.WriteByte('[')
		err := p.List(func(int) error {
			err := write(b, p)
			b.WriteByte(';')
			return err
		})
		b.WriteByte(']')
		return err
	}
	s, err := p.Scalar()
	fmt.Fprintf(b, "%c%q", s.Kind, s.Text)
	return err
}

// Python writes numbers that JSON lacks; in texts and keys they are text, however the
// text is cut up on its way.
func TestNumbersThatJSONLacks(t *testing.T) {
	const text = `{"NaN":NaN,"a\"NaN":[-Infinity,Infinity,-1,"\\",NaN],"\\\"":"-Infinity \" NaN","n":null,"t":true}`
	const want = `{"NaN":n"";"a\"NaN":[n"";n"";0"-1";""\\";n"";];"\\\"":""-Infinity \" NaN";"n":n"";"t":t"";}`
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)), "by halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		p := newPullReader(r)
		got, err := read(p)
		if err == nil {
			err = p.End()
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	for _, bad := range []string{"Na", "-Infinit", "NaN1", "I", "nan", "[NaN,N]"} {
		p := newPullReader(strings.NewReader(bad))
		_, err := read(p)
		if err == nil {
			err = p.End()
		}
		if err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// Wherever constants stand around a buffer's end, all of them are found.
func TestConstantsAtTheEndsOfBuffers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var text strings.Builder
		constants := 0
		text.WriteByte('[')
		for text.Len() < 100_000 {
			switch random.IntN(3) {
			case 0:
				text.WriteString([]string{"NaN,", "-Infinity,", "Infinity,"}[random.IntN(3)])
				constants++
			case 1:
				fmt.Fprintf(&text, "%q,", strings.Repeat(`NaN"\`, random.IntN(2000)))
			default:
				text.WriteString(strings.Repeat(" ", random.IntN(5000)) + "1,")
			}
		}
		text.WriteString("0]")
		nulls := 0
		p := newPullReader(strings.NewReader(text.String()))
		err := p.List(func(int) error {
			s, err := p.Scalar()
			if s.Kind == 'n' {
				nulls++
			}
			return err
		})
		if err != nil || nulls != constants {
			t.Fatalf("%d nulls of %d, %v", nulls, constants, err)
		}
	}
}

func TestFaultsSayWhereTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":`:            "the text is cut short",
		`{"a" 1}`:          "byte 5: not JSON",
		`[1]`:              "byte 0: want an object, have a list",
		`{"` + "\xff\":1}": "is not UTF-8",
		"":                 "the text ends where an object is wanted",
	} {
		p := newPullReader(strings.NewReader(text))
		err := p.Object(func(string) error { return p.Skip() })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	p := newPullReader(strings.NewReader("1 2"))
	if _, err := p.Word(); err != nil || p.End() == nil {
		t.Errorf("a second value: %v", err)
	}
}
