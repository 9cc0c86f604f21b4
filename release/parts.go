package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The parts of a program are the modules that were linked into it, as the Go tool recorded
// them in the program, with their checksums and licences. They are written as a CycloneDX
// list and as the licence texts that must be kept.

// GoModule is a module that was linked into a program.
type GoModule struct {
	Path, Version string
	Sum           string    // of go.sum: "h1:…"
	Licenses      []License // those found in the module's folder
}

// License is a file of a module that says what may be done with it.
type License struct {
	ID   string // of SPDX; "" where the text is none of the known ones
	File string // its name
	Text []byte
}

// ModulesOf reads the modules of programs and the compiler that made them, each module once;
// folders has where the sources of a module are, by path. Programs of different
// compilers or versions of a module are an error.
func ModulesOf(programs []string, folders map[string]string) (modules []GoModule, compiler string, err error) {
	found := map[string]GoModule{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, "", fmt.Errorf("what %s was built of: %w", program, err)
		}
		if compiler != "" && compiler != info.GoVersion {
			return nil, "", fmt.Errorf("%s was built by %s, and another program by %s", program, info.GoVersion, compiler)
		}
		compiler = info.GoVersion
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			m := GoModule{Path: dep.Path, Version: dep.Version, Sum: dep.Sum}
			if before, there := found[m.Path]; there && (before.Version != m.Version || before.Sum != m.Sum) {
				return nil, "", fmt.Errorf("%s has %s %s, and another program %s", program, m.Path, m.Version, before.Version)
			}
			found[m.Path] = m
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		if m.Licenses, err = Licenses(folders[m.Path]); err != nil {
			return nil, "", fmt.Errorf("licences of %s: %w", m.Path, err)
		}
		modules = append(modules, m)
	}
	return modules, compiler, nil
}

// licenseFile is how files with licences and notices are called.
var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// Licenses reads the files of a folder that are called like licences and notices,
// sorted by their names; "" has none.
func Licenses(folder string) (all []License, err error) {
	if folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, License{ID: Identify(text), File: e.Name(), Text: text})
	}
	return all, nil
}

// marks are sentences by which licences are known.
var marks = []struct{ sentence, id string }{
	{"apache license version 2.0", "Apache-2.0"},
	{"permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"redistribution and use in source and binary forms", "BSD"},
	{"sil open font license", "OFL-1.1"},
	{"mozilla public license version 2.0", "MPL-2.0"},
	{"permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"},
	{"creative commons attribution 4.0 international", "CC-BY-4.0"},
}

// Identify is the SPDX name of a licence, by the sentence of a known one that comes
// first in the text; "" where there is none. A text may have the licences of other
// parts below its own.
func Identify(text []byte) string {
	flat := strings.Join(strings.Fields(strings.ToLower(string(text))), " ")
	id, first := "", len(flat)
	for _, m := range marks {
		if at := strings.Index(flat, m.sentence); at >= 0 && at < first {
			id, first = m.id, at
		}
	}
	if id != "BSD" {
		return id
	}
	if strings.Contains(flat[first:], "endorse or promote products") {
		return "BSD-3-Clause"
	}
	return "BSD-2-Clause"
}

// Notices is the licences of all modules as one text. Most of them want it kept with
// the program.
func Notices(modules []GoModule) []byte {
	var b bytes.Buffer
	b.WriteString("This program contains the following Go modules, under these terms.\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s %s\n", strings.Repeat("=", 80), m.Path, m.Version)
		if len(m.Licenses) == 0 {
			b.WriteString("\nThe module has no file with a licence.\n")
		}
		for _, l := range m.Licenses {
			fmt.Fprintf(&b, "\n--- %s\n\n%s\n", l.File, bytes.TrimRight(l.Text, "\n"))
		}
	}
	return b.Bytes()
}

// Program is what a list of parts is of.
type Program struct {
	Name, Version, License string
	Commit                 string
	Compiler               string // "go1.26.8"
	Date                   time.Time
}

// The words of CycloneDX 1.6, as far as they are used.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
		Depends    []depends   `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Scope      string     `json:"scope,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []licensed `json:"licenses,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash     struct{ Alg, Content string }
	licensed struct {
		License license `json:"license"`
	}
	license struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}
	property struct{ Name, Value string }
	depends  struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn,omitempty"`
	}
)

// MarshalJSON has the keys in small letters.
func (h hash) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"alg": h.Alg, "content": h.Content})
}

// MarshalJSON has the keys in small letters.
func (p property) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"name": p.Name, "value": p.Value})
}

// CycloneDX is a list of parts as JSON, the same bytes for the same parts. The hash of a
// module is that of go.sum: the SHA-256 of the list of its files with theirs.
func CycloneDX(p Program, modules []GoModule) ([]byte, error) {
	self := purl(p.Name, "v"+p.Version)
	list := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: p.Date.UTC().Format(time.RFC3339),
		Component: component{
			Type: "application", Ref: self, Name: p.Name, Version: "v" + p.Version, PURL: self,
			Licenses: []licensed{{license{ID: p.License}}}, Properties: []property{{"git:commit", p.Commit}},
		},
	}}
	compiler := strings.TrimPrefix(p.Compiler, "go")
	std := component{Type: "library", Ref: purl("std", compiler), Name: "std", Version: p.Compiler, Scope: "required", PURL: purl("std", compiler), Licenses: []licensed{{license{ID: "BSD-3-Clause"}}}}
	list.Components = []component{std}
	for _, m := range modules {
		c, err := m.component()
		if err != nil {
			return nil, err
		}
		list.Components = append(list.Components, c)
	}
	top := depends{Ref: self}
	for _, c := range list.Components {
		top.On = append(top.On, c.Ref)
	}
	list.Depends = []depends{top}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the list of parts: %w", err)
	}
	return append(text, '\n'), nil
}

func (m GoModule) component() (component, error) {
	c := component{Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, Scope: "required", PURL: purl(m.Path, m.Version)}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) != 32 || !strings.HasPrefix(m.Sum, "h1:") {
		return component{}, fmt.Errorf("the module %s %s has the checksum %q, want h1: and 32 bytes", m.Path, m.Version, m.Sum)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	c.Properties = []property{{"go:sum", m.Sum}}
	for _, l := range m.Licenses {
		entry := licensed{license{ID: l.ID}}
		if l.ID == "" {
			entry = licensed{license{Name: l.File}}
		}
		notice := l.ID == "" && (strings.HasPrefix(strings.ToUpper(l.File), "NOTICE") || strings.HasPrefix(strings.ToUpper(l.File), "PATENTS"))
		if !notice && !slices.Contains(c.Licenses, entry) {
			c.Licenses = append(c.Licenses, entry)
		}
	}
	return c, nil
}

// purl is the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
