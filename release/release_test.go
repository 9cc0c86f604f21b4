package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/machine/version"
)

// anyLinux is a system whose wheels fit every kind of Linux.
var anyLinux = system{"linux", "any", slices.Concat(systems[0].wheel, systems[1].wheel)}

// made is the archive and the wheel of a tiny program, of this very repository.
func made(t *testing.T) (archive, wheel file) {
	t.Helper()
	t.Chdir("..")
	date := time.Date(2026, 11, 23, 10, 0, 2, 0, time.UTC)
	program := file{"speceval", []byte("#!/bin/sh\necho the program\n"), 0o755}
	both := packed(anyLinux, program, []file{{"man/man1/speceval.1", []byte("page"), 0o644}}, file{"THIRD_PARTY_LICENSES", []byte("terms"), 0o644}, date)
	return both[0], both[1]
}

func TestArchivesHaveFixedModesDatesAndOwners(t *testing.T) {
	archive, _ := made(t)
	z, err := gzip.NewReader(bytes.NewReader(archive.content))
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
		names = append(names, strings.TrimPrefix(h.Name, "speceval-"+version.Number+"-linux-any/"))
		mode := int64(0o644)
		if strings.HasSuffix(h.Name, "/speceval") {
			mode = 0o755
		}
		if h.Mode != mode || h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 1795428002 {
			t.Errorf("%+v", h)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %q", names)
	}
	for _, want := range []string{"speceval", "LICENSE", "THIRD_PARTY_LICENSES", "README.md", "CHANGELOG.md", "experiments.toml", "experiments.schema.json", "docs/release.md", "docs/" + firstPicture(t), "man/man1/speceval.1"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive lacks %s", want)
		}
	}
}

// firstPicture is a picture of the documents.
func firstPicture(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob("docs/*.svg")
	if err != nil || len(all) == 0 {
		t.Fatal("no pictures", err)
	}
	return filepath.Base(all[0])
}

// TestPipInstallsTheWheel does so in a fresh environment, without a network, and holds
// the wheel's own list of its files to them.
func TestPipInstallsTheWheel(t *testing.T) {
	_, wheel := made(t)
	want := "speceval-" + version.Number + "-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl"
	if wheel.name != want {
		t.Errorf("%s, want %s", wheel.name, want)
	}
	r, err := zip.NewReader(bytes.NewReader(wheel.content), int64(len(wheel.content)))
	if err != nil {
		t.Fatal(err)
	}
	var record, has strings.Builder
	for i, f := range r.File {
		content, err := r.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if program := strings.HasSuffix(f.Name, "scripts/speceval"); (f.Mode() == 0o755) != program || f.Modified.Unix() != 1795428002 {
			t.Errorf("%s: mode %v, date %v", f.Name, f.Mode(), f.Modified)
		}
		if i == len(r.File)-1 {
			record.Write(text)
			fmt.Fprintf(&has, "%s,,\n", f.Name)
			continue
		}
		sum := sha256.Sum256(text)
		fmt.Fprintf(&has, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
	}
	if record.String() != has.String() || !strings.Contains(has.String(), "speceval/py.typed") {
		t.Errorf("the record says\n%s\nand there are\n%s", &record, &has)
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import ensurepip, sys; assert sys.platform == 'linux'").Run() != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal("needs python3 with ensurepip")
		}
		t.Skip("needs python3 with ensurepip, on Linux")
	}
	dir := t.TempDir()
	file, bin := filepath.Join(dir, wheel.name), filepath.Join(dir, "venv", "bin")
	if err := os.WriteFile(file, wheel.content, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{python, "-m", "venv", filepath.Join(dir, "venv")},
		{filepath.Join(bin, "pip"), "install", "--quiet", "--no-index", file},
		{filepath.Join(bin, "python"), "-c", `import importlib.metadata as m, speceval._version as v
about = m.metadata("speceval")
assert m.version("speceval") == v.__version__ == "` + version.Number + `"
assert about["License-Expression"] == "MIT" and about["Requires-Python"] == ">=3.10" and about["Summary"]
assert about.get_all("License-File") == ["LICENSE", "THIRD_PARTY_LICENSES"] and "Typing :: Typed" in about.get_all("Classifier")
assert about.get_payload().startswith("# ")`},
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

// TestThePartsOfAProgram reads this very test, which is built like any program.
func TestThePartsOfAProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	parts := partsOf([]file{{content: content}, {content: content}})
	if len(parts) != 2 || parts[0].path != "std" || !strings.HasPrefix(parts[0].version, "go1.") || parts[1].path != "github.com/BurntSushi/toml" {
		t.Fatalf("%+v", parts)
	}
	text := string(notices(append(parts, part{path: "example.org/b", version: "v0.1.0"})))
	for _, want := range []string{"\nstd go1.", "The Go Authors", "\ngithub.com/BurntSushi/toml v", "--- COPYING\n\nThe MIT License"} {
		if !strings.Contains(text, want) {
			t.Errorf("the notices lack %q", want)
		}
	}
	var got struct {
		BomFormat  string
		Components []struct {
			Name, PURL string
			Hashes     []struct{ Alg, Content string }
		}
		Dependencies []struct{ DependsOn []string }
	}
	parts[1].version += "+incompatible"
	list := cycloneDX("abc", time.Unix(0, 0).UTC(), parts)
	if err := json.Unmarshal(list, &got); err != nil || got.BomFormat != "CycloneDX" || len(got.Components) != 2 || len(got.Dependencies[0].DependsOn) != 2 {
		t.Fatalf("%v: %s", err, list)
	}
	if toml := got.Components[1]; !strings.HasSuffix(toml.PURL, "%2Bincompatible") || toml.Hashes[0].Alg != "SHA-256" || len(toml.Hashes[0].Content) != 64 {
		t.Errorf("%+v", toml)
	}
}

func TestCommandLines(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--only plan9/386", "want flags alone, and --only of [linux/amd64"},
		{"here", "want flags alone"},
		{"--to ..", "no release that can be replaced"},
	} {
		if err := run(strings.Fields(test.args)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
}
