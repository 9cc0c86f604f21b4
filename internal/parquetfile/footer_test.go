package parquetfile_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"speceval/internal/parquetfile"
)

// footed is a file that is nothing but a footer.
func footed(footer []byte) []byte {
	b := append([]byte("PAR1\x00\x00\x00\x00"), footer...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(footer)))
	return append(b, "PAR1"...)
}

// listed is a footer whose field, by its header, is a list of structures, so many and
// of these bytes.
func listed(header byte, n int, entry string) []byte {
	b := []byte{0x15, 2, header, 0xFC}
	b = binary.AppendUvarint(b, uint64(n))
	return append(b, bytes.Repeat([]byte(entry), n)...)
}

func TestHostileFooters(t *testing.T) {
	const (
		schema = 0x19 // field 2, after field 1, a list
		groups = 0x39 // field 4
		n      = 4 << 20
	)
	column := "\x48\x01a\x00"                    // its name
	nested := "\x48\x01a\x15\x02\x00"            // its name, one child
	group := "\x19\x0c\x16\x00\x16\x00\x00"      // no columns, no bytes, no rows
	deep := "\x48" + strings.Repeat("\x1c", 100) // field 4, structures within one another
	cases := map[string]struct {
		footer []byte
		want   string
	}{
		"columns":                    {listed(schema, n, column), "it claims 4194304 columns, at most 16384"},
		"columns that are not there": {listed(schema, n, "")[:8], "columns, at most"},
		"columns in one another":     {listed(schema, 10_000, nested), "columns are nested deeper than 64"},
		"row groups":                 {listed(groups, n, group), "it claims 4194304 row groups, at most 65536"},
		"entries":                    {append([]byte{0x15, 2, 0x49, 0xFC}, binary.AppendUvarint(nil, 1<<40)...), "entries of a list, at most"},
		"entries of no bytes":        {listed(0x49, n/4, "\x00")[:64], "it is damaged"},
		"key-values":                 {listed(0x49, n/2, "\x18\x00\x00"), "it has more than 2097152 parts"},
		"structures in one another":  {[]byte(deep), "damaged"},
		"deep structures":            {append([]byte{0x4c}, bytes.Repeat([]byte{0x1c}, 1000)...), "it is nested too deep"},
		"cut off":                    {[]byte{0x15}, "it is damaged"},
		"a text that is not there":   {[]byte{0x68, 0xff, 0xff, 0x7f}, "it is damaged"},
	}
	for name, test := range cases {
		data := footed(test.footer)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(data, 1<<20)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "its footer") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
			t.Errorf("%s: %d MiB were allocated", name, made>>20)
		}
	}
	long := footed(make([]byte, 33<<20))
	if _, err := decode(long, 1<<20); err == nil || !strings.Contains(err.Error(), "its footer has 34603008 bytes, at most") {
		t.Errorf("a long footer: %v", err)
	}
}

// The scanner takes what the library writes, of all versions.
func TestHonestFooters(t *testing.T) {
	for name, options := range versions {
		data := encode(t, some(3, 500), options...)
		if _, err := parquetfile.Open(bytes.NewReader(data), int64(len(data)), 1<<20); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Pages are refused that together are more than is allowed.
func TestAllowedPages(t *testing.T) {
	data := encode(t, some(5, 5000), versions["plain"]...)
	for _, test := range []struct {
		allowed int64
		want    string
	}{{1 << 20, ""}, {1000, "pages claim more than the 0 MiB"}} {
		_, err := decode(data, 1<<20, test.allowed)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%d bytes: %v, want %q", test.allowed, err, test.want)
		}
	}
}
