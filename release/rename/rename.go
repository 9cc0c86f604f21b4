// Package rename gives the module another path, such as one with a host, under which
// others can fetch it: in go.mod, in imports, and wherever else a package of the module
// is named by its path.
package rename

import (
	"fmt"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strings"
)

// hosted is a module path that begins with a host.
var hosted = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)

// moduleLine is that of go.mod.
var moduleLine = regexp.MustCompile(`(?m)^module +(\S+)$`)

// texts are the endings of files, besides Go's, that name packages.
var texts = []string{".md", ".sh", ".toml", ".py", "Makefile", "run"}

// Path is the path of a module, by its go.mod.
func Path(goMod []byte) (string, error) {
	match := moduleLine.FindSubmatch(goMod)
	if match == nil {
		return "", fmt.Errorf("go.mod has no line with a module")
	}
	return string(match[1]), nil
}

// Files are those of a repository, by their slash-separated names, that are others once
// the module is called to, with their new content. The name must begin with a host.
func Files(files map[string][]byte, to string) (map[string][]byte, error) {
	if !hosted.MatchString(to) {
		return nil, fmt.Errorf("%q is no path that others could fetch a module by: want a host and more, as in example.org/you/speceval", to)
	}
	from, err := Path(files["go.mod"])
	if err != nil {
		return nil, err
	}
	named := packages(files, from)
	changed := map[string][]byte{}
	for name, content := range files {
		var after []byte
		switch {
		case name == "go.mod":
			after = moduleLine.ReplaceAllLiteral(content, []byte("module "+to))
		case path.Ext(name) == ".go":
			after = named.ReplaceAll(content, []byte("${1}"+to+"${2}"))
			if string(after) == string(content) {
				continue
			}
			if after, err = format.Source(after); err != nil { // widths of aligned columns change
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case slices.ContainsFunc(texts, func(ending string) bool { return strings.HasSuffix(name, ending) }):
			after = named.ReplaceAll(content, []byte("${1}"+to+"${2}"))
		default:
			continue
		}
		if string(after) != string(content) {
			changed[name] = after
		}
	}
	return changed, nil
}

// packages finds paths of packages of a module: its path and one of its folders with
// Go files. What goes on from another name, as in bin/speceval, is none.
func packages(files map[string][]byte, module string) *regexp.Regexp {
	var tops []string
	for name := range files {
		if top, _, below := strings.Cut(name, "/"); below && path.Ext(name) == ".go" && !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	slices.Sort(tops)
	for i := range tops {
		tops[i] = regexp.QuoteMeta(tops[i])
	}
	return regexp.MustCompile(`(?m)(^|[^A-Za-z0-9_./-])` + regexp.QuoteMeta(module) + `(/(?:` + strings.Join(tops, "|") + `)\b)`)
}
