package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/terminal/display"
)

// document is a parsed file with its overrides, being read key by key.
type document struct {
	name   string
	text   string
	tree   map[string]any
	sets   map[string]string // path to the text of an override
	tables []*table          // all that were asked for
	wrong  []string          // paths of values that were not taken
	faults []fault
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

func newDocument(name, text string) *document {
	return &document{name: name, text: text, tree: map[string]any{}, sets: map[string]string{}}
}

// at is the table at a path, which has the given content.
func (d *document) at(path string, content map[string]any) *table {
	for _, t := range d.tables {
		if t.path == path {
			return t
		}
	}
	t := &table{document: d, path: path, content: content}
	d.tables = append(d.tables, t)
	return t
}

// table is a named table in t, empty if it is not there.
func (t *table) table(name string) *table {
	content, ok := t.content[name].(map[string]any)
	if _, there := t.content[name]; there && !ok && !slices.Contains(t.known, name) {
		t.fault(name, "must be a table: write [%s] and its keys below", t.join(name))
	}
	t.known = append(t.known, name)
	return t.at(t.join(name), content)
}

// join is the path of a key of t.
func (t *table) join(key string) string { return join(t.path, key) }

func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// fault records that the value of a key, whether given or not, is wrong. Of a value that was not
// taken, that is recorded already, and what follows for other keys is unknown.
func (t *table) fault(key, format string, args ...any) {
	path := t.join(key)
	if slices.Contains(t.wrong, path) {
		return
	}
	subject := path
	if value, ok := t.content[key]; ok {
		if _, isTable := value.(map[string]any); !isTable {
			subject += " = " + display.WithoutCredentials(written(value))
		}
	}
	t.faultAt(path, subject+": "+fmt.Sprintf(format, args...))
}

// faultAt records a fault at the line of path or of the table around it.
func (d *document) faultAt(path, text string) {
	if _, ok := d.sets[path]; ok {
		d.faults = append(d.faults, fault{text: "--set " + text})
		return
	}
	line, lines := 0, keyLines(d.text)
	for at := path; line == 0 && at != ""; {
		line = max(lines[at], lines[at+"[0]"])
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
	if known := display.Nearest(key, t.known); known != "" {
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
		return cmp.Compare(uint(a.line-1), uint(b.line-1)) // those without a line at the end
	})
	var errs []error
	for _, f := range faults {
		errs = append(errs, errors.New(f.text))
	}
	return errors.Join(errs...)
}

// written is a value for a message: unlike its canonical text, 8.0 is not 8.
func written(value any) string {
	text := canonical(value)
	switch v := value.(type) {
	case float64:
		if !strings.ContainsAny(text, ".eNI") {
			text += ".0"
		}
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = written(v[i])
		}
		text = "[" + strings.Join(parts, ",") + "]"
	}
	return text
}

var (
	header    = regexp.MustCompile(`^\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?$`)
	statement = regexp.MustCompile(`^\s*([\w.'" -]+?)\s*=`)
	around    = regexp.MustCompile(`["']|\s*(\.)\s*|^\s+|\s+$`) // names of keys
)

// keyLines gives the line of every key and table header of a TOML text, by path:
// "replay.draws", "model[1]", "model[1].id". The TOML library does not tell. Of a line within
// a text of several, which looks like a key, the first one counts.
func keyLines(text string) map[string]int {
	lines, counts, table := map[string]int{}, map[string]int{}, ""
	note := func(path string, line int) {
		if lines[path] == 0 {
			lines[path] = line
		}
	}
	line := 0
	for content := range strings.Lines(text) {
		line++
		if m := header.FindStringSubmatch(strings.TrimSpace(content)); m != nil {
			if table = around.ReplaceAllString(m[2], "$1"); m[1] == "[[" {
				counts[table]++
				table = fmt.Sprintf("%s[%d]", table, counts[table]-1)
			}
			note(table, line)
		} else if m := statement.FindStringSubmatch(content); m != nil {
			note(join(table, around.ReplaceAllString(m[1], "$1")), line)
		}
	}
	return lines
}
