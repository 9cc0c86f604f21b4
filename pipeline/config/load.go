package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/BurntSushi/toml"

	"speceval/internal/store/files"
	"speceval/internal/terminal/display"
)

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

// Parse is Load for a file held in memory; errors call it by name.
func Parse(data []byte, name string, sets []string) (*Config, error) {
	c := Default()
	if err := c.read(data, name, sets); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads a file and overrides over the values that c has.
func (c *Config) read(data []byte, name string, sets []string) error {
	d := newDocument(name, string(data))
	if _, err := toml.Decode(string(data), &d.tree); err != nil {
		return syntaxError(name, string(data), err)
	}
	for _, set := range sets {
		d.override(set)
	}
	c.values = bind(c, d)
	return d.err()
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
	var parsed map[string]any
	if _, err := toml.Decode("value = "+text, &parsed); err != nil || len(parsed) != 1 {
		parsed = map[string]any{"value": text}
	}
	content[keys[len(keys)-1]] = parsed["value"]
	d.sets[path] = text
}
