package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/version"
)

// repo is the source of this very repository, of a made commit.
var repo = source{root: "..", commit: strings.Repeat("0", 40), date: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}

func TestArchiveAndWheelOfATinyProgram(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "binary")
	if err := os.WriteFile(binary, []byte("tiny"), 0o600); err != nil {
		t.Fatal(err)
	}
	notices := ArchiveFile{Name: "THIRD_PARTY_LICENSES", Content: []byte("terms")}
	beside := []ArchiveFile{{Name: "LICENSE", Content: []byte("MIT")}, notices}
	first, err := repo.packed(systems[1], binary, beside, notices)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(binary, 0o777); err != nil {
		t.Fatal(err)
	}
	second, err := repo.packed(systems[1], binary, beside, notices)
	if err != nil {
		t.Fatal(err)
	}
	if err := differences(first, second); err != nil {
		t.Error(err)
	}
	name := "speceval-" + version.Number + "-linux-arm64"
	if first[0].Name != name+".tar.gz" || first[1].Name != "speceval-"+version.Number+"-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl" {
		t.Errorf("%s and %s", first[0].Name, first[1].Name)
	}
	z, err := gzip.NewReader(bytes.NewReader(first[0].Content))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if want := []string{name + "/LICENSE", name + "/THIRD_PARTY_LICENSES", name + "/speceval"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
}

func TestWheelsHaveTheModulesAndTheVersion(t *testing.T) {
	modules, err := repo.modules()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for _, m := range modules {
		has[m.Name] = string(m.Content)
	}
	if _, typed := has["py.typed"]; !typed || has["__init__.py"] == "" || has[versionModule] != "__version__ = \""+version.Number+"\"\n" {
		t.Errorf("the package has %q", has)
	}
	p, err := repo.project()
	if err != nil || p.Name != "speceval" || p.Version != version.Number || p.License != "MIT" || p.RequiresPython != ">=3.10" || p.Summary == "" || len(p.Description) == 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDifferencesAreFound(t *testing.T) {
	a, b := ArchiveFile{Name: "a", Content: []byte("1")}, ArchiveFile{Name: "b"}
	other := ArchiveFile{Name: "a", Content: []byte("2")}
	for _, test := range []struct {
		second []ArchiveFile
		want   string
	}{{[]ArchiveFile{b, a}, ""}, {[]ArchiveFile{other, b}, "a is not the same"}, {[]ArchiveFile{a}, "b is not made again"}, {[]ArchiveFile{a, b, {Name: "c"}}, "c is not the same"}} {
		err := differences([]ArchiveFile{a, b}, test.second)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestOnlyReleasesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := replaceable(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
	if err := replaceable(dir); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := write(dir, []ArchiveFile{{Name: "below/mine.txt"}}); err != nil {
		t.Fatal(err)
	}
	if err := replaceable(dir); err == nil || !strings.Contains(err.Error(), "--to") {
		t.Errorf("a folder of somebody's: %v", err)
	}
	if err := write(dir, []ArchiveFile{{Name: checksums}}); err != nil {
		t.Fatal(err)
	}
	if err := replaceable(dir); err != nil {
		t.Errorf("a release: %v", err)
	}
}

func TestCommandLines(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--only plan9/386", `no release is made for "plan9/386"`},
		{"here", "want flags alone"},
		{"--module speceval", "no path that others could fetch"},
		{"--to ..", "no release that can be replaced"},
	} {
		err := run(t.Context(), strings.Fields(test.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
	if some, err := chosen("darwin/arm64,linux/amd64"); err != nil || len(some) != 2 || some[0].String() != "darwin/arm64" {
		t.Errorf("%v, %v", some, err)
	}
}
