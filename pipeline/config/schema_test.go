package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"speceval/pipeline/config"
)

const schemaFile = "../../experiments.schema.json"

func TestTheSchemaStandsInTheRepository(t *testing.T) {
	want, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(got, want) {
		t.Errorf("experiments.schema.json is not what the configuration says: go run ./pipeline schema > experiments.schema.json (%v)", err)
	}
}

// schema is the committed one, compiled by a library that knows nothing of ours.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// document is a TOML text as an editor's checker sees it.
func document(t *testing.T, text string) any {
	t.Helper()
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		t.Fatal(err)
	}
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

func TestShippedFilesAreOfTheSchema(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob("../../experiments*.toml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "#:schema ./experiments.schema.json\n") {
			t.Errorf("%s does not name its schema in its first line", file)
		}
		if err := s.Validate(document(t, string(text))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// severalKeys are bad files whose fault is no single value, so that the schema lets
// them pass.
var severalKeys = []string{"context", "measured", "noise", "scored", "scored-engine"}

func TestTheSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob("testdata/*.bad.toml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".bad.toml")
		if name == "syntax" || name == "doubled" {
			continue // no TOML
		}
		passes := s.Validate(document(t, string(text))) == nil
		if passes != slices.Contains(severalKeys, name) {
			t.Errorf("%s: passes the schema: %v", file, passes)
		}
	}
}

// TestTheSchemaAndTheReaderAgree tries single values at the ends of ranges.
func TestTheSchemaAndTheReaderAgree(t *testing.T) {
	s := schema(t)
	for _, test := range []struct {
		text string
		good bool
	}{
		{"", true},
		{"unknown = 1", false},
		{"[unknown]", false},
		{"[replay]\ndraws = 2", true},
		{"[replay]\ndraws = 1", false},
		{"[replay]\ndraws = 2.5", false},
		{"[replay]\ndraw = 2", false},
		{"[replay.ts_neyman]\ndraw = 2", false},
		{"[replay]\nibn_alphas = [0.1, 0.1]", false},
		{"[replay]\nibn_alphas = []", false},
		{"[replay]\nibn_alphas = [1, 0.5]", true},
		{"[sampling]\ntop_p = 0", false},
		{"[sampling]\ntop_p = 1", true},
		{"[sampling]\ntemperature = 2.1", false},
		{"[experiment]\nseed = -1", false},
		{"[experiment]\nout = \" \"", false},
		{"[experiment]\nbudgets = [8]", true},
		{"[experiment]\nbudgets = 8", false},
		{"[systems]\nengine = \"none\"", false},
		{"[systems]\nmeasured_repeats = []", true},
		{"[executor.replay]\nwhere = \"there\"", false},
		{"[executor.reply]\nwhere = \"here\"", false},
		{"[executor.replay]\ncpus = 4", true},
		{"[[model]]\ntitle = \"x\"", false},
		{"[[model]]\nid = \"a b\"", false},
		{"[[model]]\nid = \"a\"\nthinking = 1", false},
		{"[[model]]\nid = \"a\"", true},
		{"[[benchmark]]\nid = \"a\"\nfile = \"b\"", false},
		{"[[worker]]\nname = \"w\"\nurls = [\"http://a:1\"]", true},
		{"[[worker]]\nname = \"w\"\nurls = [\"HTTPS://a:1\"]", true},
		{"[[worker]]\nname = \"w\"\nurls = [\"ftp://a:1\"]", false},
		{"[[worker]]\nname = \"w\"\nurls = [\"http://\"]", false},
		{"[[worker]]\nname = \"w\"\nlaunch = \"x\"\nweights = \"some\"", false},
		{"[judge]\nurls = [\"http://a\", \"http://a\"]", false},
	} {
		_, err := config.Parse([]byte(test.text), "made.toml", nil)
		passes := s.Validate(document(t, test.text)) == nil
		if passes != test.good || (err == nil) != test.good {
			t.Errorf("%q: passes the schema: %v, is read: %v, want both %v", test.text, passes, err == nil, test.good)
		}
	}
}

// TestEveryKeyIsDescribed counts on comments of the fields.
func TestEveryKeyIsDescribed(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	var look func(path string, r map[string]any)
	look = func(path string, r map[string]any) {
		if items, ok := r["items"].(map[string]any); ok && items["properties"] != nil {
			r = items
		}
		if said, _ := r["description"].(string); said == "" {
			t.Errorf("%s has no description: its field in the configuration's structs has no comment", path)
		}
		properties, _ := r["properties"].(map[string]any)
		if properties == nil {
			keys++
		}
		for key, inner := range properties {
			look(path+"."+key, inner.(map[string]any))
		}
	}
	look("", parsed.(map[string]any))
	if want := len(config.Default().All()); keys < want-3 {
		t.Errorf("the schema has %d keys, the configuration %d", keys, want)
	}
}
