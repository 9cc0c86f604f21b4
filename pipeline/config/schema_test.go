package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../experiments.schema.json"

// rules are what the schema says of every table and key, by path: "replay", "replay.draws",
// "model", "model.id".
func rules(t *testing.T) map[string]map[string]any {
	t.Helper()
	text := must(os.ReadFile(schemaFile))
	var root map[string]any
	ok(t, json.Unmarshal(text, &root))
	all := map[string]map[string]any{}
	var walk func(path string, rule map[string]any)
	walk = func(path string, rule map[string]any) {
		if items, ok := rule["items"].(map[string]any); ok && items["properties"] != nil {
			rule = items
		}
		all[path] = rule
		properties, _ := rule["properties"].(map[string]any)
		if properties != nil && rule["additionalProperties"] != false {
			t.Errorf("%s: the table %q lets unknown keys pass: add \"additionalProperties\": false", schemaFile, path)
		}
		for key, inner := range properties {
			walk(join(path, key), inner.(map[string]any))
		}
	}
	walk("", root)
	return all
}

// keys are those that the configuration reads, and its tables, by path.
func keys() map[string]bool {
	d := newDocument("made", "")
	for _, name := range []string{"model", "benchmark", "worker"} {
		d.tree[name] = []map[string]any{{}}
	}
	bind(Default(), d)
	all := map[string]bool{"": true}
	for _, t := range d.tables {
		for _, key := range t.known {
			all[strings.ReplaceAll(t.join(key), "[0]", "")] = true
		}
	}
	return all
}

// TestTheSchemaHasTheKeys holds the names, defaults and descriptions of the schema to the
// configuration.
func TestTheSchemaHasTheKeys(t *testing.T) {
	schema, read, defaults := rules(t), keys(), Default().values
	for key := range read {
		if schema[key] == nil {
			t.Errorf("%s lacks %s, which the configuration reads: add it to the properties of its table, with type, range, default and description", schemaFile, key)
		}
	}
	for key, rule := range schema {
		if !read[key] {
			t.Errorf("%s has %s, which the configuration does not read: remove it", schemaFile, key)
		}
		if text, _ := rule["description"].(string); text == "" {
			t.Errorf("%s: %q has no description", schemaFile, key)
		}
		value, recorded := defaults[key]
		if !recorded || rule["properties"] != nil || rule["items"] != nil && rule["default"] == nil && (value == "[]" || strings.HasPrefix(value, "[{")) || value == `""` && rule["default"] == nil {
			continue
		}
		var want any
		ok(t, json.Unmarshal([]byte(value), &want))
		if !reflect.DeepEqual(rule["default"], want) {
			t.Errorf("%s: the default of %s is %v, that of the configuration is %s", schemaFile, key, rule["default"], value)
		}
	}
}

// compiled is the schema, compiled by an independent library.
func compiled() *jsonschema.Schema { return must(jsonschema.NewCompiler().Compile(schemaFile)) }

// editorsView is a TOML text as an editor's checker sees it.
func editorsView(text string) any {
	var tree map[string]any
	must(toml.Decode(text, &tree))
	return plain(tree)
}

// plain has lists of any where TOML has lists of tables.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = plain(inner)
		}
	case []map[string]any:
		list := []any{}
		for _, inner := range v {
			list = append(list, plain(inner))
		}
		return list
	}
	return value
}

// probes are values of all types, at the ends of a rule's range and around them.
func probes(rule map[string]any) []any {
	values := []any{true, "", " ", "x", "a b", "A_KEY", "http://a:1", "ftp://a", "http://", -1 << 50, -1, 0, 1, 2, 1 << 51, 0.05, 1.5}
	element, isList := rule["items"].(map[string]any)
	if !isList {
		element = rule
	}
	for _, word := range []string{"minimum", "exclusiveMinimum", "maximum"} {
		if bound, ok := element[word].(float64); ok {
			values = append(values, bound, bound-1, bound+1)
			if element["type"] == "number" {
				values = append(values, bound*0.999, bound*1.001)
			}
		}
	}
	if choices, ok := element["enum"].([]any); ok {
		values = append(values, choices...)
	}
	for _, v := range slices.Clone(values) {
		values = append(values, []any{v})
		if v == "x" || v == "http://a:1" || v == 2 {
			values = append(values, []any{v, v})
		}
	}
	return append(values, []any{})
}

// ofValue are the faults of one value; others are of several keys together, and the schema
// lets those pass.
var ofValue = regexp.MustCompile(`must be (an integer|a number|a list|one of|true or|a text|a name|a table|the name)`)

// TestTheSchemaAndTheReaderAgree sets every key to values that it may and may not have.
func TestTheSchemaAndTheReaderAgree(t *testing.T) {
	s := compiled()
	for key, rule := range rules(t) {
		path, name := "", key
		if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
			path, name = key[:dot], key[dot+1:]
		}
		if path == "" {
			continue // a table
		}
		header := "[" + path + "]\n"
		if own, list := map[string]string{"model": "id", "benchmark": "id", "worker": "name"}[path]; list {
			if header = "[[" + path + "]]\n"; name != own {
				header += own + " = \"i\"\n"
			}
		}
		for _, value := range probes(rule) {
			text := header + name + " = " + canonical(value)
			if rule["properties"] != nil {
				text = header + name + " = 1"
			}
			_, err := Parse([]byte(text), "made.toml", nil)
			refused := slices.ContainsFunc(strings.Split(fmt.Sprint(err), "\n"), func(fault string) bool {
				return strings.Contains(fault, "."+name) && ofValue.MatchString(fault)
			})
			if wrong := s.Validate(editorsView(text)); refused != (wrong != nil) {
				t.Errorf("%q: the configuration says %v, %s says %v: change the rule of %s", text, err, schemaFile, wrong, key)
				break
			}
		}
	}
	for text, good := range map[string]bool{
		"":                                   true,
		"unknown = 1":                        false,
		"[unknown]":                          false,
		"[replay]\ndraw = 2":                 false,
		"[replay.ts_neyman]\ndraw = 2":       false,
		"[executor.reply]\nwhere = \"here\"": false,
		"[[model]]\ntitle = \"x\"":           false,
		"[[worker]]\nname = \"w\"\nurls = [\"HTTPS://a:1\"]":           true,
		"[[worker]]\nname = \"w\"\nlaunch = \"x\"\nweights = \"some\"": false,
	} {
		_, err := Parse([]byte(text), "made.toml", nil)
		if passes := s.Validate(editorsView(text)) == nil; passes != good || (err == nil) != good {
			t.Errorf("%q: passes the schema: %v, is read: %v, want both %v", text, passes, err == nil, good)
		}
	}
}

func TestShippedFilesAreOfTheSchema(t *testing.T) {
	s := compiled()
	files := must(filepath.Glob("../../experiments*.toml"))
	if len(files) < 5 {
		t.Errorf("%d files", len(files))
	}
	for _, file := range files {
		text := string(must(os.ReadFile(file)))
		if err := s.Validate(editorsView(text)); err != nil || !strings.HasPrefix(text, "#:schema ./experiments.schema.json\n") {
			t.Errorf("%s: %v, or it does not name its schema in its first line", file, err)
		}
	}
}
