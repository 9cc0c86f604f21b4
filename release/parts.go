package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"speceval/internal/machine/version"
)

// part is a Go module that was linked into a program, or Go's own library.
type part struct {
	path, version, sum string
	licenses           []file
}

// partsOf are Go's library and the modules that the Go tool recorded in programs, each
// once and sorted, with their licences.
func partsOf(programs []file) (parts []part) {
	for _, program := range programs {
		for _, dep := range must(buildinfo.Read(bytes.NewReader(program.content))).Deps {
			parts = append(parts, part{path: dep.Path, version: dep.Version, sum: dep.Sum})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.path, b.path) })
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.path == b.path })
	words := []string{"go", "list", "-m", "-f", "{{.Dir}}"}
	for _, p := range parts {
		words = append(words, p.path)
	}
	parts = append([]part{{path: "std", version: runtime.Version()}}, parts...)
	folders := strings.Split(output(nil, "go", "env", "GOROOT")+output(nil, words...), "\n")
	for i := range parts {
		parts[i].licenses = matching(folders[i], "COPYING*", "LICEN[CS]E*", "NOTICE*", "PATENTS*")
	}
	return parts
}

// notices is the licences of all parts as one text; most of them want it kept.
func notices(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("This program contains the following Go modules, under these terms.\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s %s\n", strings.Repeat("=", 80), p.path, p.version)
		for _, l := range p.licenses {
			fmt.Fprintf(&b, "\n--- %s\n\n%s\n", l.name, bytes.TrimRight(l.content, "\n"))
		}
	}
	return b.Bytes()
}

type object map[string]any

// cycloneDX is the parts of the program of a commit as a list in CycloneDX 1.6. The hash of
// a module is the one in go.sum: the SHA-256 of the list of its files with theirs.
func cycloneDX(commit string, date time.Time, parts []part) []byte {
	component := func(kind, path, version string) object {
		url := "pkg:golang/" + path + "@" + strings.ReplaceAll(strings.TrimPrefix(version, "go"), "+", "%2B")
		return object{"type": kind, "bom-ref": url, "name": path, "version": version, "purl": url}
	}
	self := component("application", "speceval", version.Tag)
	self["licenses"] = []object{{"license": object{"id": "MIT"}}}
	self["properties"] = []object{{"name": "git:commit", "value": commit}}
	var components []object
	var refs []any
	for _, p := range parts {
		c := component("library", p.path, p.version)
		if p.sum != "" {
			sum := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(p.sum, "h1:")))
			c["hashes"] = []object{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sum)}}
			c["properties"] = []object{{"name": "go:sum", "value": p.sum}}
		}
		components, refs = append(components, c), append(refs, c["bom-ref"])
	}
	return append(must(json.MarshalIndent(object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components,
		"metadata":     object{"timestamp": date.Format(time.RFC3339), "component": self},
		"dependencies": []object{{"ref": self["bom-ref"], "dependsOn": refs}},
	}, "", "  ")), '\n')
}
