package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	archiveDate = time.Date(2026, 11, 23, 10, 0, 2, 0, time.FixedZone("", 3600))
	files       = []ArchiveFile{{Name: "a/speceval", Content: []byte("#!/bin/sh\n"), Program: true}, {Name: "LICENSE", Content: []byte("MIT\n")}}
)

func TestArchivesAreTheSameForTheSameFiles(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []ArchiveFile, time.Time) error{"tar": TarGz, "zip": Zip} {
		var first, second, later bytes.Buffer
		for _, err := range []error{write(&first, files, archiveDate), write(&second, files, archiveDate.In(time.UTC)), write(&later, files, archiveDate.Add(time.Minute))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: the same files give other bytes in another time zone", name)
		}
		if bytes.Equal(first.Bytes(), later.Bytes()) {
			t.Errorf("%s: the date is not in the archive", name)
		}
	}
	var a, b bytes.Buffer
	turned := slices.Clone(files)
	slices.Reverse(turned)
	if TarGz(&a, files, archiveDate) != nil || TarGz(&b, turned, archiveDate) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("another order of the files gives other bytes")
	}
}

func TestTarHasFixedModesAndOwners(t *testing.T) {
	var b bytes.Buffer
	if err := TarGz(&b, files, archiveDate); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range []struct {
		name, content string
		mode          int64
	}{{"LICENSE", "MIT\n", 0o644}, {"a/speceval", "#!/bin/sh\n", 0o755}} {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || string(content) != want.content || h.Mode != want.mode || h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(archiveDate) {
			t.Errorf("%+v %q %v, want %+v", h, content, err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error("there is more in the archive")
	}
}

func TestZipHasFixedModes(t *testing.T) {
	var b bytes.Buffer
	if err := Zip(&b, files, archiveDate); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(r.File) != 2 {
		t.Fatal(err)
	}
	if f := r.File[0]; f.Name != "a/speceval" || f.Mode() != 0o755 || !f.Modified.Equal(archiveDate) {
		t.Errorf("%s %v %v", f.Name, f.Mode(), f.Modified)
	}
	if f := r.File[1]; f.Mode() != 0o644 {
		t.Errorf("%s %v", f.Name, f.Mode())
	}
}

func TestNamesThatNoArchiveShouldHave(t *testing.T) {
	for _, name := range []string{"", ".", "../x", "/x", "a//b"} {
		if err := TarGz(io.Discard, []ArchiveFile{{Name: name}}, archiveDate); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	if err := Zip(io.Discard, []ArchiveFile{{Name: "x"}, {Name: "x"}}, archiveDate); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a file that is there twice: %v", err)
	}
}

func TestChecksumsAreThoseOfSha256sum(t *testing.T) {
	got := string(Checksums([]ArchiveFile{{Name: "b", Content: []byte("abc")}, {Name: "a"}}))
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
