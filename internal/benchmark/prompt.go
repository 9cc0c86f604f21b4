package benchmark

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"speceval/internal/scoring/family"
)

// Prompts makes the turns of a chat out of bare problems, by a template for
// each family, or for one of its benchmarks. Families may share one.
type Prompts struct {
	templates map[string]*template.Template // by the Prompt of a family, or by another name
}

// turn holds the fields of a task for a template.
type turn struct {
	Problem  string // the bare problem
	Options  string // all options on one line: "A) red, B) green, C) blue, D) grey"
	First    string // letter of the first option
	Last     string // letter of the last option
	Function string // name of the function to write; "" for a program that reads its input
}

// shipped are the names of the templates of families, each once.
func shipped() (names []string) {
	for _, f := range family.All() {
		if !slices.Contains(names, f.Prompt) {
			names = append(names, f.Prompt)
		}
	}
	return names
}

// ParsePrompts reads the templates of all families from a folder, math.txt say:
// templates in the syntax of text/template for the user turn, which see the
// fields of a turn as {{.Problem}}, {{.Options}}, {{.First}}, {{.Last}} and
// {{.Function}}. A template {{define "system"}} in a file makes the system turn;
// without one there is none. Values are inserted as they are, and the last line
// feed of a file is not part of the prompt. A template that loses the problem
// or its options is refused.
func ParsePrompts(folder fs.FS) (*Prompts, error) {
	prompts := &Prompts{templates: map[string]*template.Template{}}
	var faults []error
	for _, name := range shipped() {
		faults = append(faults, prompts.read(folder, name))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return prompts, nil
}

// With are the prompts with the templates of a folder in their place: a file for
// a family, or for one of the names, such as gpqa.txt, which wins over it where a
// task is asked by that name. Files that do not end in .txt are passed over; one
// for nothing is a fault.
func (p *Prompts) With(folder fs.FS, names ...string) (*Prompts, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	all := &Prompts{templates: maps.Clone(p.templates)}
	var faults []error
	families := shipped()
	found := false
	for _, entry := range entries {
		name, isText := strings.CutSuffix(entry.Name(), ".txt")
		if !isText || entry.IsDir() {
			continue
		}
		found = true
		switch {
		case slices.Contains(families, name) || slices.Contains(names, name):
			faults = append(faults, all.read(folder, name))
		default:
			faults = append(faults, fmt.Errorf("prompt %s: is for nothing that is asked: call it %s.txt, or as one of %s",
				entry.Name(), strings.Join(families, ".txt, "), strings.Join(names, ", ")))
		}
	}
	if !found {
		faults = append(faults, fmt.Errorf("there is no prompt: %s.txt", strings.Join(families, ".txt, ")))
	}
	return all, errors.Join(faults...)
}

// read reads and tries the template with a name.
func (p *Prompts) read(folder fs.FS, name string) error {
	file := name + ".txt"
	text, err := fs.ReadFile(folder, file)
	switch {
	case err != nil:
		return fmt.Errorf("prompt %s: %w", file, err)
	case !utf8.Valid(text):
		return fmt.Errorf("prompt %s: must be UTF-8", file)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	parsed, err := template.New(file).Parse(strings.TrimSuffix(string(text), "\n"))
	if err != nil {
		return fmt.Errorf("prompt %s: %w", file, err)
	}
	p.templates[name] = parsed
	// Whether the template of one benchmark shows options is not known before it is
	// asked about tasks that have them.
	probe := Task{Prompt: "<the problem>"}
	options := slices.ContainsFunc(family.All(), func(f family.Family) bool { return f.Prompt == name && f.Options })
	if options {
		probe.OptionTexts = []string{"<one>", "<two>"}
	}
	_, err = ask(parsed, probe, options)
	return err
}

// Ask gives the task with its user and system turns made from its bare problem,
// option texts and tests, by the template for the first of the names that has
// one, or else that of its family. The error says what is wrong with the
// template, or that there is no such family.
func (p *Prompts) Ask(task Task, names ...string) (Task, error) {
	f, err := family.Named(task.Scorer)
	chosen := p.choose(names, f.Prompt)
	if err != nil || chosen == nil {
		return task, fmt.Errorf("task %s: no prompt for scorer %q: there are %s", task.ID, task.Scorer, strings.Join(family.Names(), ", "))
	}
	return ask(chosen, task, f.Options)
}

// ask makes the turns by a template, which must show the options if there are any.
func ask(chosen *template.Template, task Task, options bool) (Task, error) {
	values := turnOf(task)
	var user, system turnText
	err := chosen.Execute(&user, values)
	if part := chosen.Lookup("system"); err == nil && part != nil {
		err = part.Execute(&system, values)
	}
	shown := []string{values.Problem}
	if options {
		shown = append(shown, values.Options)
	}
	for _, text := range shown {
		if err == nil && !strings.Contains(user.String(), text) {
			err = fmt.Errorf("the user turn lacks %.60q: use {{.Problem}}, and {{.Options}} for a choice", text)
		}
	}
	if err != nil {
		return task, fmt.Errorf("prompt %s: %w", chosen.Name(), err)
	}
	task.UserPrompt, task.SystemPrompt = user.String(), system.String()
	return task, nil
}

// choose is the template for the first name that has one, or the one of the family;
// nil: there is neither. A name that is a family's counts for that family alone.
func (p *Prompts) choose(names []string, ofFamily string) *template.Template {
	for _, name := range names {
		if chosen := p.templates[name]; chosen != nil && !slices.Contains(shipped(), name) {
			return chosen
		}
	}
	return p.templates[ofFamily]
}

// turnOf returns the fields of a task.
func turnOf(task Task) turn {
	values := turn{Problem: task.Prompt, First: "A", Last: letter(len(task.OptionTexts) - 1)}
	var options []string
	for i, text := range task.OptionTexts {
		options = append(options, letter(i)+") "+text)
	}
	values.Options = strings.Join(options, ", ")
	if len(task.Tests) > 0 {
		values.Function = task.Tests[0].Function
	}
	return values
}

// letter names option i, from A on.
func letter(i int) string { return string(rune('A' + i)) }

// maxTurn is the longest turn that a template may make, in bytes.
const maxTurn = 16 << 20

// turnText is a turn as a template writes it, no longer than [maxTurn]: what is
// said again and again within what is said again and again has no end.
type turnText struct{ strings.Builder }

// Write adds to the turn.
func (t *turnText) Write(p []byte) (int, error) {
	if t.Len()+len(p) > maxTurn {
		return 0, fmt.Errorf("it makes a turn of more than %d MiB", maxTurn>>20)
	}
	return t.Builder.Write(p)
}
