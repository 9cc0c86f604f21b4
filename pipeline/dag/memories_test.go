package dag

import (
	"encoding/binary"
	"hash/crc32"
	"reflect"
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

// TestMemoriesAreWhole fails when the index forgets a field of manifests, or
// tells nothing from an empty list.
func TestMemoriesAreWhole(t *testing.T) {
	g, err := New([]Stage{{Name: "s", Units: []Unit{u("a", "1"), u("b", "2"), u("c", "3"), u("d", "4")}}})
	if err != nil {
		t.Fatal(err)
	}
	full, usual := new(Manifest), new(Manifest)
	n := 0
	fill(reflect.ValueOf(full).Elem(), &n)
	fill(reflect.ValueOf(usual).Elem(), &n)
	usual.Parts.Inputs = inputSums(usual.Inputs)
	full.Start = full.Start.In(time.FixedZone("", 3600))
	empty := &Manifest{Inputs: []File{}, Seeds: []string{}, Parts: Parts{Config: map[string]string{}}}
	var p packer
	want := []sighted{
		{full, stamp{1, 2, 3, 4}, []content{{"x", stamp{5, -6, 7, 1 << 63}, "sum"}}},
		{usual, stamp{1, 2, 3, 4}, []content{}},
		{empty, stamp{}, []content{}},
		{new(Manifest), stamp{}, []content{}},
	}
	for i, s := range want {
		s.manifest.Format = manifestFormat
		if err := p.add(g.ref(i), s); err != nil {
			t.Fatal(err)
		}
	}
	m := unpackMemories(g, string(p.file()))
	for i, s := range want {
		got := m.of(i)
		if got.manifest == nil || !got.manifest.Start.Equal(s.manifest.Start) {
			t.Fatalf("unit %d: manifest %+v, want %+v", i, got.manifest, s.manifest)
		}
		got.manifest.Start = s.manifest.Start // zones are equal by their offsets
		if !reflect.DeepEqual(got, s) {
			t.Errorf("unit %d: %+v with manifest %+v, want %+v with %+v", i, got, got.manifest, s, s.manifest)
		}
	}
}

// FuzzMemories reads index files with a right sum and any content.
func FuzzMemories(f *testing.F) {
	g, err := New([]Stage{{Name: "s", Units: []Unit{u("a", "1"), u("b", "2")}}})
	if err != nil {
		f.Fatal(err)
	}
	var p packer
	manifest := &Manifest{Inputs: []File{{Path: "p", SHA256: "s"}}, Seeds: []string{"seed"}, Parts: Parts{Config: map[string]string{"a": "b"}}}
	if err := p.add(g.ref(0), sighted{manifest: manifest, outputs: []content{{output: "o"}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(p.file()[len(memoriesHead)+crc32.Size:])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := binary.LittleEndian.AppendUint32([]byte(memoriesHead), crc32.Checksum(body, castagnoli))
		m := unpackMemories(g, string(sum)+string(body))
		for i := range g.nodes {
			m.of(i)
		}
	})
}
