package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"speceval/internal/display"
	"speceval/internal/files"
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
	subject := path
	if value, ok := t.content[key]; ok {
		if _, isTable := value.(map[string]any); !isTable {
			subject += " = " + display.WithoutCredentials(written(value))
		}
	}
	t.faultAt(path, subject+": "+fmt.Sprintf(format, args...))
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

// Setting is a key with its value in force, as canonical text.
type Setting struct {
	Key, Value string
	Default    string // the default value, where it is another; empty otherwise
}

// Settings lists every key of the configuration in alphabetical order. It is
// meant to be shown to others, so it tells no passwords in addresses, and little of
// how servers are started.
func (c *Config) Settings() []Setting {
	values, defaults := c.shown(), Default().shown()
	var all []Setting
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s := Setting{Key: key, Value: lined(values[key])}
		if values[key] != defaults[key] {
			s.Default = lined(defaults[key])
		}
		all = append(all, s)
	}
	return all
}

// shown is the canonical text of every key without what may be secret.
func (c *Config) shown() map[string]string {
	values := c.All()
	values["worker"] = canonical(veiled(c.Workers))
	values["judge.urls"] = canonical(withoutPasswords(c.Judge.URLs)) // no unit reads it, so All lacks it
	values["benchmark"] = canonical(c.Benchmarks)                    // All lacks their files
	return values
}

// veiled is workers without what may be secret: variables have their names
// alone, commands their first word, and flags are left out.
func veiled(workers []Worker) []Worker {
	out := append([]Worker{}, workers...)
	for i, w := range out {
		out[i].URLs = withoutPasswords(w.URLs)
		if command, rest, _ := strings.Cut(w.Launch, " "); rest != "" {
			out[i].Launch = command + " …"
		}
		out[i].Arguments, out[i].Environment = nil, nil
		for _, entry := range w.Environment {
			name, _, _ := strings.Cut(entry, "=")
			out[i].Environment = append(out[i].Environment, name+"=…")
		}
	}
	return out
}

func withoutPasswords(urls []string) []string {
	out := []string{}
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			text = u.Redacted()
		}
		out = append(out, text)
	}
	return out
}

// lined is a canonical text as people read it: with room after commas, and a list
// of tables with one on each line, as in TOML and without what is empty.
func lined(value string) string {
	var tables []json.RawMessage
	if !strings.HasPrefix(value, "[{") || json.Unmarshal([]byte(value), &tables) != nil {
		if strings.HasPrefix(value, "[") && !strings.Contains(value, `"`) {
			return strings.ReplaceAll(value, ",", ", ")
		}
		return value
	}
	var lines []string
	alone := true // every table has an id and nothing else: a line will do for all
	for _, t := range tables {
		pairs := pairsOf(t)
		alone = alone && len(pairs) == 1
		lines = append(lines, strings.Join(pairs, ", "))
	}
	if alone {
		return strings.ReplaceAll(strings.Join(lines, ", "), "id = ", "")
	}
	return strings.Join(lines, "\n")
}

// pairsOf is the keys and values of a flat JSON object, in their order.
func pairsOf(object json.RawMessage) []string {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil
	}
	var pairs []string
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return pairs
		}
		switch text := string(value); text {
		case `""`, "0", "false", "null", "[]":
		default:
			pairs = append(pairs, tomlKey(fmt.Sprint(key))+" = "+text)
		}
	}
	return pairs
}

// tomlKey is a field as the file spells it: max_sequences of MaxSequences.
func tomlKey(field string) string {
	var b strings.Builder
	for i, r := range field {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(field[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Load reads the experiment from the TOML file at path and then applies
// overrides of the form "replay.draws=1024". The error tells every fault, with
// file and line or the override that it is in.
func Load(path string, sets []string) (*Config, error) {
	data, err := files.ReadInput(path, files.Configuration)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file: run in the folder that holds experiments.toml, or name a file with --config FILE", path)
	}
	if err != nil {
		return nil, err
	}
	return Parse(data, path, sets)
}

// LoadOrDefaults is Load, with the defaults where there is no such file.
func LoadOrDefaults(path string, sets []string) (*Config, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Parse(nil, "the defaults", sets)
	}
	return Load(path, sets)
}

// Parse is Load for a file held in memory; name is what errors call it.
func Parse(data []byte, name string, sets []string) (*Config, error) {
	d := newDocument(name)
	if _, err := toml.Decode(string(data), &d.tree); err != nil {
		return nil, syntaxError(name, string(data), err)
	}
	d.lines = keyLines(string(data))
	for _, set := range sets {
		d.override(set)
	}
	c := Default()
	c.values = bind(c, d)
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// syntaxError tells line and column of what is not TOML.
func syntaxError(name, text string, err error) error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("%s: %w", name, err)
	}
	start := min(max(parse.Position.Start, 0), len(text))
	column := start - strings.LastIndexByte(text[:start], '\n')
	return fmt.Errorf("%s:%d:%d: not valid TOML: %s", name, parse.Position.Line, column, parse.Message)
}

// override applies one "key=value". The value is read as TOML or, if it is
// none, as a text without quotes.
func (d *document) override(set string) {
	path, text, found := strings.Cut(set, "=")
	path, text = strings.TrimSpace(path), strings.TrimSpace(text)
	if !found || path == "" {
		d.faults = append(d.faults, fault{text: fmt.Sprintf("--set %q: must have the form key=value, as in replay.draws=1024", display.WithoutCredentials(set))})
		return
	}
	keys := strings.Split(path, ".")
	content := d.tree
	for i, key := range keys[:len(keys)-1] {
		next, there := content[key]
		if !there {
			next = map[string]any{}
			content[key] = next
			d.sets[strings.Join(keys[:i+1], ".")] = text
		}
		sub, ok := next.(map[string]any)
		if !ok {
			d.faults = append(d.faults, fault{text: fmt.Sprintf("--set %s: cannot be set on the command line, edit %s", display.WithoutCredentials(set), d.name)})
			return
		}
		content = sub
	}
	content[keys[len(keys)-1]] = overrideValue(text)
	d.sets[path] = text
}

func overrideValue(text string) any {
	var parsed map[string]any
	if _, err := toml.Decode("value = "+text, &parsed); err != nil || len(parsed) != 1 {
		return text
	}
	return parsed["value"]
}
