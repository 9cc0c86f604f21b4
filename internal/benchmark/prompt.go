package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/template"
)

// Prompts makes the turns of a chat out of bare problems, by a template for
// each family.
type Prompts struct {
	families map[string]*template.Template
}

// turn is what a template can say of a task.
type turn struct {
	Problem  string // the bare problem
	Options  string // all options on one line: "A) red, B) green, C) blue, D) grey"
	First    string // letter of the first option
	Last     string // letter of the last option
	Function string // name of the function to write; "" for a program that reads its input
}

// ParsePrompts reads math.txt, choice.txt, code.txt and judge.txt of a folder:
// templates in the syntax of text/template for the user turn, which see the
// fields of a turn as {{.Problem}}, {{.Options}}, {{.First}}, {{.Last}} and
// {{.Function}}. A template {{define "system"}} in a file makes the system turn;
// without one there is none. Values are inserted as they are, and the last line
// feed of a file is not part of the prompt. A template that loses the problem
// or its options is refused.
func ParsePrompts(folder fs.FS) (*Prompts, error) {
	prompts := &Prompts{families: map[string]*template.Template{}}
	var faults []error
	for _, family := range families {
		name := family + ".txt"
		text, err := fs.ReadFile(folder, name)
		if err == nil {
			prompts.families[family], err = template.New(name).Parse(strings.TrimSuffix(string(text), "\n"))
		}
		if err == nil {
			err = prompts.probe(family)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("prompt %s: %w", name, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return prompts, nil
}

// probe tries the template of a family.
func (p *Prompts) probe(family string) error {
	task := Task{Prompt: "<the problem>", Scorer: family}
	want := []string{task.Prompt}
	if family == "choice" {
		task.OptionTexts = []string{"<one>", "<two>"}
		want = append(want, "A) <one>, B) <two>")
	}
	asked, err := p.Ask(task)
	if err != nil {
		return err
	}
	for _, text := range want {
		if !strings.Contains(asked.UserPrompt, text) {
			return fmt.Errorf("the user turn lacks %q: use {{.Problem}}, and {{.Options}} for a choice", text)
		}
	}
	return nil
}

// Ask gives the task with its user and system turns made from its bare problem,
// option texts and tests. The error says what is wrong with the template.
func (p *Prompts) Ask(task Task) (Task, error) {
	family := p.families[task.Scorer]
	if family == nil {
		return task, fmt.Errorf("task %s: no prompt for scorer %q", task.ID, task.Scorer)
	}
	values := turn{Problem: task.Prompt, First: "A", Last: letter(len(task.OptionTexts) - 1)}
	var options []string
	for i, text := range task.OptionTexts {
		options = append(options, letter(i)+") "+text)
	}
	values.Options = strings.Join(options, ", ")
	if len(task.Tests) > 0 {
		values.Function = task.Tests[0].Function
	}
	var user, system strings.Builder
	err := family.Execute(&user, values)
	if part := family.Lookup("system"); err == nil && part != nil {
		err = part.Execute(&system, values)
	}
	task.UserPrompt, task.SystemPrompt = user.String(), system.String()
	return task, err
}

// letter names option i, from A on.
func letter(i int) string { return string(rune('A' + i)) }
