package dag

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fill gives every exported field below v a value that is not zero.
func fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 22, 1, 2, 3, *n, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a'+*n%26)) + "→")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(-*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("manifests have a field of kind " + v.Kind().String() + ": say here how to fill it")
	}
}

// TestManifestsAreWhole fails when the index drops a field of manifests, or does not
// tell nothing from an empty list.
func TestManifestsAreWhole(t *testing.T) {
	full, usual := new(Manifest), new(Manifest)
	n := 0
	fill(reflect.ValueOf(full).Elem(), &n)
	fill(reflect.ValueOf(usual).Elem(), &n)
	usual.Parts.Inputs = inputSums(usual.Inputs)
	full.Start = full.Start.In(time.FixedZone("", 3600))
	empty := &Manifest{Inputs: []File{}, Seeds: []string{}, Parts: Parts{Config: map[string]string{}}}
	want := []*Manifest{full, usual, empty, new(Manifest)}

	l := newLab(t)
	for i, m := range want {
		m.Format = manifestFormat
		l.add("s", fmt.Sprint(i), nil)
		l.put(fmt.Sprint(i), "")
	}
	g := l.graph()
	l.put("manifests/others", "")
	l.tick()
	x := openIndex(g, l.dir, 0)
	wantIndex(t, x)
	for i, m := range want {
		e := x.Entry(i)
		if known, _, err := e.Manifest(l.file(fmt.Sprint(i))); known != nil || err != nil {
			t.Fatalf("without an index, unit %d has manifest %+v, %v", i, known, err)
		}
		e.Keep(m)
	}
	x.Write()
	x = openIndex(g, l.dir, 0)
	for i, m := range want {
		e := x.Entry(i)
		got, _, err := e.Manifest(l.file(fmt.Sprint(i)))
		if err != nil || got == nil || !got.Start.Equal(m.Start) {
			t.Fatalf("unit %d: manifest %+v, %v, want %+v", i, got, err, m)
		}
		got.Start = m.Start // zones are equal by their offsets
		if !reflect.DeepEqual(got, m) {
			t.Errorf("unit %d: manifest %+v, want %+v", i, got, m)
		}
	}
}

// FuzzIndex reads index files with a right checksum and any content.
func FuzzIndex(f *testing.F) {
	l := &lab{t: new(testing.T), dir: f.TempDir()}
	l.add("s", "a", map[string]string{"a": "b"})
	l.add("s", "b", nil, "s/a")
	pretend(l)
	l.tick()
	g := l.graph()
	x := openIndex(g, l.dir, 0)
	wantIndex(f, x)
	if _, err := g.scan(f.Context(), l.dir, x); err != nil {
		f.Fatal(err)
	}
	file := l.get("manifests/.index")
	body := strings.IndexByte(file, '\n') + 1 + crc32.Size
	f.Add([]byte(file[body:]))
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
		head := binary.LittleEndian.AppendUint32([]byte(file[:strings.IndexByte(file, '\n')+1]), sum)
		l.put("manifests/.index", string(head)+string(body))
		x := openIndex(g, l.dir, 0)
		for i := range g.nodes {
			x.Entry(i)
		}
	})
}
