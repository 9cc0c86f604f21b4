package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
