package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

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
