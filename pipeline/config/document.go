package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/shown"
	"speceval/internal/spelling"
)

// document is a parsed file with its overrides, being read key by key.
type document struct {
	name   string
	tree   map[string]any
	lines  map[string]int    // path to line: "replay.draws", "model[1].id"
	sets   map[string]string // path to the text of an override
	tables []*table          // all that were asked for
	values map[string]string // canonical text of every key read
	faults []fault
	rules  map[string]rule // path to what a value must be; nil where nobody asks
}

// fault is one thing wrong with the document.
type fault struct {
	line int // 0 for an override
	text string
}

// table is one table of the document, [replay] or the second [[model]].
type table struct {
	*document
	path    string // "replay", "model[1]"
	content map[string]any
	known   []string // keys that were asked for
}

func newDocument(name string) *document {
	return &document{name: name, tree: map[string]any{}, lines: map[string]int{}, sets: map[string]string{}, values: map[string]string{}}
}

// root is the table of the top level.
func (d *document) root() *table {
	if len(d.tables) == 0 {
		d.tables = append(d.tables, &table{document: d, content: d.tree})
	}
	return d.tables[0]
}

// table is a named table of the top level, empty if it is not there.
func (d *document) table(name string) *table { return d.root().table(name) }

func (t *table) table(name string) *table {
	t.known = append(t.known, name)
	content, ok := t.content[name].(map[string]any)
	if _, there := t.content[name]; there && !ok {
		t.fault(name, "must be a table: write [%s] and its keys below", t.join(name))
	}
	sub := &table{document: t.document, path: t.join(name), content: content}
	t.tables = append(t.tables, sub)
	return sub
}

// list is a named array of tables of the top level.
func (d *document) list(name string) (tables []*table, given bool) {
	root := d.root()
	root.known = append(root.known, name)
	value, given := root.content[name]
	contents, ok := value.([]map[string]any)
	if given && !ok {
		root.fault(name, "must be an array of tables: write [[%s]] before the keys of each", name)
		return nil, false
	}
	for i, content := range contents {
		t := &table{document: d, path: fmt.Sprintf("%s[%d]", name, i), content: content}
		d.tables = append(d.tables, t)
		tables = append(tables, t)
	}
	return tables, given
}

// join is the path of a key of t.
func (t *table) join(key string) string {
	if t.path == "" {
		return key
	}
	return t.path + "." + key
}

// fault records that the value of a key, whether given or not, is wrong.
func (t *table) fault(key, format string, args ...any) {
	path := t.join(key)
	told := path
	if value, ok := t.content[key]; ok {
		if _, isTable := value.(map[string]any); !isTable {
			told += " = " + shown.WithoutCredentials(written(value))
		}
	}
	t.faultAt(path, told+": "+fmt.Sprintf(format, args...))
}

// secretFault is fault of a value that may be secret.
func (t *table) secretFault(key, text string) {
	path := t.join(key)
	t.faultAt(path, path+": "+text)
}

// faultAt records a fault at the line of path or of the table around it.
func (d *document) faultAt(path, text string) {
	if _, ok := d.sets[path]; ok {
		d.faults = append(d.faults, fault{text: "--set " + text})
		return
	}
	line := 0
	for at := path; line == 0 && at != ""; {
		line = max(d.lines[at], d.lines[at+"[0]"])
		at = at[:max(0, strings.LastIndexByte(at, '.'))]
	}
	place := d.name
	if line > 0 {
		place = fmt.Sprintf("%s:%d", d.name, line)
	}
	d.faults = append(d.faults, fault{line: line, text: place + ": " + text})
}

// refuseUnknown records every key that no one asked for.
func (d *document) refuseUnknown() {
	for _, t := range d.tables {
		for _, key := range slices.Sorted(maps.Keys(t.content)) {
			if slices.Contains(t.known, key) {
				continue
			}
			text := t.join(key) + ": unknown key"
			if suggestion := d.suggest(t, key); suggestion != "" {
				text += ", did you mean " + suggestion + "?"
			}
			d.faultAt(t.join(key), text)
		}
	}
}

// suggest is the known key nearest to an unknown one of t: one that is spelt
// alike in the same table, or the same word in another.
func (d *document) suggest(t *table, key string) string {
	if known := spelling.Nearest(key, t.known); known != "" {
		return t.join(known)
	}
	for _, other := range d.tables {
		if slices.Contains(other.known, key) {
			return other.join(key)
		}
	}
	return ""
}

// err joins the faults, those of the file by line and then the overrides'.
func (d *document) err() error {
	faults := slices.Clone(d.faults)
	slices.SortStableFunc(faults, func(a, b fault) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.line, b.line))
	})
	var errs []error
	for _, f := range faults {
		errs = append(errs, errors.New(f.text))
	}
	return errors.Join(errs...)
}

func rank(f fault) int {
	if f.line == 0 {
		return 1
	}
	return 0
}
