package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

var zipDate = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

func made() Wheel {
	return Wheel{
		Project:   Project{Name: "speceval", Version: "1.2.3", Summary: "two\nlines", License: "MIT", RequiresPython: ">=3.10", Description: []byte("# Title\n\nText ± 1.\n")},
		Platforms: []string{"manylinux2014_x86_64", "musllinux_1_1_x86_64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
		Program:   ArchiveFile{Name: "speceval", Content: []byte("#!/bin/sh\necho the program\n")},
		Modules:   []ArchiveFile{{Name: "py.typed"}, {Name: "__init__.py", Content: []byte("answer = 42\n")}},
		Licenses:  []ArchiveFile{{Name: "LICENSE", Content: []byte("MIT\n")}},
	}
}

func written(t *testing.T, w Wheel) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := w.Write(&b, zipDate); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheRecordIsOfEveryFile(t *testing.T) {
	content := written(t, made())
	if !bytes.Equal(content, written(t, made())) {
		t.Error("the same wheel has other bytes")
	}
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		open, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(open)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
		if program := strings.HasSuffix(f.Name, "scripts/speceval"); (f.Mode() == 0o755) != program {
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
	}
	if last := r.File[len(r.File)-1].Name; last != "speceval-1.2.3.dist-info/RECORD" {
		t.Errorf("the last file is %s", last)
	}
	lines := strings.Split(strings.TrimSpace(files["speceval-1.2.3.dist-info/RECORD"]), "\n")
	if len(lines) != len(files) {
		t.Errorf("%d lines of %d files", len(lines), len(files))
	}
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ",")
		sum := sha256.Sum256([]byte(files[name]))
		want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + "," + strconv.Itoa(len(files[name]))
		if strings.HasSuffix(name, "RECORD") {
			want = ","
		}
		if _, there := files[name]; !there || rest != want {
			t.Errorf("%s, want %s", line, want)
		}
	}
	for name, want := range map[string]string{
		"METADATA": "Metadata-Version: 2.4\nName: speceval\nVersion: 1.2.3\nSummary: two lines\nLicense-Expression: MIT\nLicense-File: LICENSE\nRequires-Python: >=3.10\nDescription-Content-Type: text/markdown; charset=UTF-8\n\n# Title\n\nText ± 1.\n",
		"WHEEL":    "Wheel-Version: 1.0\nGenerator: speceval\nRoot-Is-Purelib: false\nTag: py3-none-manylinux2014_x86_64\nTag: py3-none-musllinux_1_1_x86_64\nTag: py3-none-manylinux2014_aarch64\nTag: py3-none-musllinux_1_1_aarch64\n",
	} {
		if got := files["speceval-1.2.3.dist-info/"+name]; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestNamesOfWheels(t *testing.T) {
	if got, want := made().Filename(), "speceval-1.2.3-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	bad := made()
	bad.Version = "1.2.3-rc1"
	if err := bad.Write(io.Discard, zipDate); err == nil {
		t.Error("a version with a hyphen is taken")
	}
	got := pythonModules([]string{"a/__init__.py", "a/__pycache__", "a/x.pyc", "a/py.typed"})
	if len(got) != 2 || got[0] != "a/__init__.py" || got[1] != "a/py.typed" {
		t.Errorf("modules %q", got)
	}
}

// TestPipInstallsIt installs a wheel for every kind of Linux into a fresh environment,
// without a network.
func TestPipInstallsIt(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import ensurepip, sys; assert sys.platform == 'linux'").Run() != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal("needs python3 with ensurepip")
		}
		t.Skip("needs python3 with ensurepip, on Linux")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, made().Filename())
	if err := os.WriteFile(file, written(t, made()), 0o666); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "venv", "bin")
	for _, words := range [][]string{
		{python, "-m", "venv", filepath.Join(dir, "venv")},
		{filepath.Join(bin, "pip"), "install", "--quiet", "--no-index", file},
		{filepath.Join(bin, "python"), "-c", "import speceval, importlib.metadata as m; assert speceval.answer == 42; assert m.version('speceval') == '1.2.3'"},
	} {
		if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, said)
		}
	}
	said, err := exec.Command(filepath.Join(bin, "speceval")).Output()
	if err != nil || string(said) != "the program\n" {
		t.Errorf("%q, %v", said, err)
	}
}
