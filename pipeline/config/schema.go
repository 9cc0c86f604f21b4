package config

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// rule is what a value must be, in the words of JSON Schema.
type rule map[string]any

// needed marks the rule of a key that may not be left out.
const needed = "needed"

// with is a rule with one word more.
func (r rule) with(word string, value any) rule {
	r[word] = value
	return r
}

func listOf(element rule) rule { return rule{"type": "array", "items": element} }

// different is a list without repetition.
func different(element rule) rule { return listOf(element).with("uniqueItems", true) }

func inSpan(low, high float64) rule {
	r := rule{"type": "number", "maximum": high}
	if low == smallest {
		return r.with("exclusiveMinimum", 0)
	}
	return r.with("minimum", low)
}

// rule notes what the value of a key must be, where somebody asks for that.
func (t *table) rule(key string, r rule) {
	if t.rules == nil {
		return
	}
	if r["default"] == "" {
		delete(r, "default")
	}
	t.rules[t.join(key)] = r
}

// Schema is the JSON Schema of experiments.toml. Keys, types, ranges and defaults are
// those by which files are read; descriptions are the comments of the fields that keys
// are read into. What depends on two keys at once it does not say.
func Schema() ([]byte, error) {
	d := newDocument("schema")
	d.rules = map[string]rule{}
	for _, name := range []string{"model", "benchmark", "worker"} {
		d.tree[name] = []map[string]any{{}}
	}
	bind(Default(), d)
	about, err := comments()
	if err != nil {
		return nil, err
	}
	root := d.schemaOf(d.root(), reflect.TypeFor[Config](), about)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "experiments.toml of speceval"
	root["description"] = "A key that is left out has its default. Rules about several keys at once are checked by `speceval plan`."
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the schema of the configuration: %w", err)
	}
	return append(text, '\n'), nil
}

// schemaOf is the rule of a table that is read into a struct.
func (d *document) schemaOf(t *table, structure reflect.Type, about map[string]string) rule {
	properties, required := map[string]any{}, []string{}
	for _, key := range t.known {
		field, described := fieldOf(structure, key)
		r, leaf := d.rules[t.join(key)]
		switch {
		case leaf:
			if text := about[structure.Name()+"."+field.Name]; described && text != "" {
				r["description"] = text
			}
			if r[needed] != nil {
				required = append(required, key)
				delete(r, needed)
			}
		default:
			r = d.tableRule(t.join(key), field.Type, about)
		}
		properties[key] = r
	}
	r := rule{"type": "object", "properties": properties, "additionalProperties": false}
	if text := about[structure.Name()]; text != "" {
		r["description"] = text
	}
	if len(required) > 0 {
		r["required"] = required
	}
	return r
}

// tableRule is the rule of a table, or of an array of tables, by its path.
func (d *document) tableRule(path string, structure reflect.Type, about map[string]string) rule {
	for structure.Kind() == reflect.Map { // a table for every stage
		structure = structure.Elem()
	}
	list := structure.Kind() == reflect.Slice
	if list {
		structure, path = structure.Elem(), path+"[0]"
	}
	for _, t := range d.tables {
		if t.path == path {
			r := d.schemaOf(t, structure, about)
			if list {
				return listOf(r)
			}
			return r
		}
	}
	return nil // a key is either read or a table
}

// fieldOf is the field that a key is read into: its name without underscores, or for
// arrays of tables the plural of that. The tables of stages are in a map.
func fieldOf(structure reflect.Type, key string) (reflect.StructField, bool) {
	plain := strings.ReplaceAll(key, "_", "")
	field, ok := structure.FieldByNameFunc(func(name string) bool {
		lower := strings.ToLower(name)
		return ast.IsExported(name) && (lower == plain || lower == plain+"s" && fieldIsList(structure, name))
	})
	if !ok {
		field, ok = structure.FieldByName("Stages")
	}
	return field, ok
}

// fieldIsList tells whether a field holds an array of tables.
func fieldIsList(structure reflect.Type, name string) bool {
	field, _ := structure.FieldByName(name)
	return field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct
}

// declarations are the files that declare the structs of the configuration.
//
//go:embed config.go
var declarations embed.FS

// comments are those of types and fields: of "Replay" and "Replay.Draws".
func comments() (map[string]string, error) {
	about := map[string]string{}
	for _, name := range []string{"config.go"} {
		source, err := declarations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				for _, spec := range decl.Specs {
					ofType(about, decl.Doc, spec.(*ast.TypeSpec))
				}
			}
			return true
		})
	}
	return about, nil
}

// ofType notes the comments of a type and of its fields.
func ofType(about map[string]string, doc *ast.CommentGroup, spec *ast.TypeSpec) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	about[spec.Name.Name] = oneLine(doc)
	for _, field := range structure.Fields.List {
		text := oneLine(field.Doc)
		if text == "" {
			text = oneLine(field.Comment)
		}
		for _, name := range field.Names {
			about[spec.Name.Name+"."+name.Name] = text
		}
	}
}

func oneLine(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}

// Limits on a configuration, far above any honest one. The TOML library takes memory
// and time by the square of how deep keys and values are nested.
const (
	maxKeys    = 20_000 // of the whole text
	maxKeyDots = 16     // of one key
	maxKeyText = 1 << 10
	maxNesting = 16 // lists and tables within one another
)

// boundScanner walks TOML that need not be valid, in one pass: over its brackets, and
// over the runs between brackets, commas and equals signs, of which some are keys.
type boundScanner struct {
	text   string
	at     int
	line   int
	run    int  // where the present run begins
	dots   int  // of it, outside of quotes
	depth  int  // of open lists and tables
	header bool // of a table: [a.b]
	keys   int
}

// checkBounds is why a text named so is no configuration that can be read, with the line;
// nil if nothing is.
func checkBounds(name, text string) error {
	s := &boundScanner{text: text, line: 1}
	if fault := s.scan(); fault != "" {
		return fmt.Errorf("%s:%d: %s", name, s.line, fault)
	}
	return nil
}

func (s *boundScanner) scan() (fault string) {
	for s.at < len(s.text) && fault == "" {
		switch c := s.text[s.at]; c {
		case '#':
			s.skipTo("\n")
			continue // at the line feed
		case '"', '\'':
			s.skipString(c)
		case '.':
			s.dots++
		case '[', '{':
			fault = s.opened(c)
		case ']', '}':
			if s.header {
				fault = s.key()
			}
			s.depth = max(s.depth-1, 0)
			s.begin()
		case '=':
			fault = s.key()
			s.begin()
		case ',':
			s.begin()
		case '\n':
			if s.depth == 0 || s.header {
				s.depth, s.header = 0, false
			}
			s.begin()
		}
		if s.dots > maxKeyDots {
			fault = fmt.Sprintf("a key has more than %d parts: no key of a configuration has", maxKeyDots)
		}
		if fault == "" && s.at < len(s.text) && s.text[s.at] == '\n' {
			s.line++
		}
		s.at++
	}
	return fault
}

// begin begins a run after the present byte.
func (s *boundScanner) begin() { s.run, s.dots = s.at+1, 0 }

// opened begins a list or a table.
func (s *boundScanner) opened(c byte) string {
	blank := strings.TrimLeft(s.text[s.run:s.at], " \t\r") == ""
	lineBegins := s.run == 0 || s.text[s.run-1] == '\n'
	if c == '[' && s.depth == 0 && blank && lineBegins {
		s.header = true
	}
	s.begin()
	if s.depth++; s.depth > maxNesting {
		return fmt.Sprintf("lists and tables are nested deeper than %d", maxNesting)
	}
	return ""
}

// key ends a run that is a key.
func (s *boundScanner) key() string {
	if s.at-s.run > maxKeyText {
		return fmt.Sprintf("a key is longer than %d bytes", maxKeyText)
	}
	if s.keys++; s.keys > maxKeys {
		return fmt.Sprintf("there are more than %d keys", maxKeys)
	}
	return ""
}

// skipTo goes to the next such text, or to the end.
func (s *boundScanner) skipTo(end string) {
	n := strings.Index(s.text[s.at:], end)
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.line += strings.Count(s.text[s.at:s.at+n], "\n")
	s.at += n
}

// skipString goes to the last quote of a string, or to the end of the line where one
// that must end there does not.
func (s *boundScanner) skipString(quote byte) {
	if three := strings.Repeat(string(quote), 3); strings.HasPrefix(s.text[s.at:], three) {
		s.at += 3
		for {
			s.skipTo(three)
			if quote == '\'' || !s.escaped() {
				s.at += 2
				for range 2 { // before the three that end it there may be two
					if s.at+1 < len(s.text) && s.text[s.at+1] == quote {
						s.at++
					}
				}
				return
			}
			s.at++
		}
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			return
		case c == '\n':
			s.at-- // which is not of the string
			return
		case c == '\\' && quote == '"':
			if s.at++; s.at < len(s.text) && s.text[s.at] == '\n' {
				s.at -= 2
				return
			}
		}
	}
}

// escaped reports whether an odd number of backslashes is before the present byte.
func (s *boundScanner) escaped() bool {
	before := s.text[:s.at]
	return s.at < len(s.text) && (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}
