package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Setting is a key with its value in force, as canonical text.
type Setting struct {
	Key, Value string
	Default    string // the default value, where it is another; empty otherwise
}

// Settings lists every key of the configuration in alphabetical order. It is meant to be
// shown to others, so it tells little of how servers and jobs are started; addresses have
// no passwords.
func (c *Config) Settings() []Setting {
	values, defaults := c.shown(), Default().shown()
	var all []Setting
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s := Setting{Key: key, Value: values[key]}
		if values[key] != defaults[key] {
			s.Default = defaults[key]
		}
		all = append(all, s)
	}
	return all
}

// shown is the text of every key for people, without what may be secret.
func (c *Config) shown() map[string]string {
	values := maps.Clone(c.values)
	for key, command := range map[string]string{"submit": c.Executor.Submit, "status": c.Executor.Status, "cancel": c.Executor.Cancel} {
		values["executor."+key] = canonical(firstWord(command))
	}
	for key, value := range values {
		if strings.HasPrefix(value, "[") && !strings.Contains(value, `"`) {
			values[key] = strings.ReplaceAll(value, ",", ", ")
		}
	}
	values["model"], values["benchmark"], values["worker"] = listed(c.Models), listed(c.Benchmarks), listed(veiled(c.Workers))
	return values
}

// veiled is workers without what may be secret: variables have their names
// alone, commands their first word, and flags are left out.
func veiled(workers []Worker) []Worker {
	out := slices.Clone(workers)
	for i, w := range out {
		out[i].Launch = firstWord(w.Launch)
		out[i].Arguments, out[i].Environment = nil, nil
		for _, entry := range w.Environment {
			name, _, _ := strings.Cut(entry, "=")
			out[i].Environment = append(out[i].Environment, name+"=…")
		}
	}
	return out
}

// firstWord is a command without its arguments and variables, which may hold keys.
func firstWord(command string) string {
	word, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
	switch {
	case strings.Contains(word, "="):
		return "…"
	case rest != "":
		return word + " …"
	}
	return word
}

// listed is a list of tables with one on each line, as in TOML and without what is empty.
// Where all have a name and nothing else the names are on one line.
func listed[T any](tables []T) string {
	var lines, names []string
	for i := range tables {
		var pairs []string
		for field, value := range fields(reflect.ValueOf(tables[i])) {
			if value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0 {
				continue
			}
			text := canonical(value.Interface())
			if pairs = append(pairs, field.Tag.Get("toml")+" = "+text); len(pairs) == 1 {
				names = append(names, text)
			}
		}
		lines = append(lines, strings.Join(pairs, ", "))
	}
	switch {
	case len(tables) == 0:
		return "[]"
	case !strings.Contains(strings.Join(lines, ""), ", "):
		return strings.Join(names, ", ")
	}
	return strings.Join(lines, "\n")
}
