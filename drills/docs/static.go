package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"speceval/pipeline/config"
)

// facts are what pages may name: the program's commands with their flags, the
// targets of the Makefile.
type facts struct {
	root    string
	help    map[string]string // --help of every command, by its words
	targets []string
}

// gather asks the program, and reads the Makefile.
func gather(root, binary string) (*facts, error) {
	f := &facts{root: root, help: map[string]string{}}
	overview, err := exec.Command(binary, "help").Output()
	if err != nil {
		return nil, fmt.Errorf("%s help: %w", binary, err)
	}
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`).FindAllSubmatch(overview, -1) {
		if err := f.ask(binary, string(match[1])); err != nil {
			return nil, err
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	for _, match := range regexp.MustCompile(`(?m)^([a-z][a-z -]*):([^=]|$)`).FindAllSubmatch(makefile, -1) {
		f.targets = append(f.targets, strings.Fields(string(match[1]))...)
	}
	if len(f.help) < 5 || len(f.targets) < 5 {
		return nil, fmt.Errorf("%d commands and %d targets: is the drill still looking in the right place?", len(f.help), len(f.targets))
	}
	return f, nil
}

// subcommand is one in the usage line of a command: "| list [--json]".
var subcommand = regexp.MustCompile(`\| ([a-z]+)\b`)

// ask asks a command, and those below it, for help.
func (f *facts) ask(binary string, words ...string) error {
	help, err := exec.Command(binary, append(words, "--help")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s --help: %w", binary, strings.Join(words, " "), err)
	}
	f.help[strings.Join(words, " ")] = string(help)
	_, usage, _ := strings.Cut(string(help), "\nusage: ")
	usage, _, _ = strings.Cut(usage, "\n")
	for _, match := range subcommand.FindAllStringSubmatch(usage, -1) {
		if exec.Command(binary, "help", words[0], match[1]).Run() == nil {
			if err := f.ask(binary, words[0], match[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// faults of a command that is not run: a command, flag, key or target that does
// not exist. Of other programs than ours and make it knows nothing.
func (f *facts) faults(c command) []error {
	if name, args := c.program(); name == "make" {
		return f.makeFaults(c.at(), args)
	}
	if name, args := c.program(); name == "go" {
		return f.packageFaults(c.at(), args)
	}
	sub, args, ours := c.ours()
	if !ours {
		return nil
	}
	return f.programFaults(c.at(), sub, args)
}

// packageFaults checks the packages that the Go tool is given.
func (f *facts) packageFaults(at string, args []string) (faults []error) {
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "./"); ok && name != "..." {
			if _, err := os.Stat(filepath.Join(f.root, filepath.FromSlash(name))); err != nil {
				faults = append(faults, fmt.Errorf("%s: there is no package %s", at, arg))
			}
		}
	}
	return faults
}

// makeFaults checks what make is given: targets, and variables.
func (f *facts) makeFaults(at string, args []string) (faults []error) {
	for _, arg := range args {
		if !strings.Contains(arg, "=") && !slices.Contains(f.targets, arg) {
			faults = append(faults, fmt.Errorf("%s: make %s: there is no such target", at, arg))
		}
	}
	return faults
}

// programFaults checks what the program is given.
func (f *facts) programFaults(at, sub string, args []string) (faults []error) {
	help, ok := f.help[sub]
	if !ok && sub != "help" {
		return []error{fmt.Errorf("%s: speceval %s: there is no such command", at, sub)}
	}
	if len(args) > 0 && f.help[sub+" "+args[0]] != "" {
		sub += " " + args[0]
		help = f.help[sub]
	}
	file, sets := "experiments.toml", []string(nil)
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			continue
		}
		flag, _, _ := strings.Cut(arg, "=")
		if !hasFlag(help, flag) {
			faults = append(faults, fmt.Errorf("%s: speceval %s has no flag %s", at, sub, flag))
		}
		if i+1 < len(args) && arg == "--set" {
			sets = append(sets, args[i+1])
		}
		if i+1 < len(args) && arg == "--config" {
			file = args[i+1]
		}
	}
	if _, err := config.Load(filepath.Join(f.root, file), sets); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", at, err))
	}
	return faults
}

// hasFlag looks for a flag at the beginning of a line of a help text. Every command
// has --help.
func hasFlag(help, flag string) bool {
	return flag == "--help" || regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(flag)+`( |$)`).MatchString(help)
}

// anyFlag tells whether some command has a flag.
func (f *facts) anyFlag(flag string) bool {
	for _, help := range f.help {
		if hasFlag(help, flag) {
			return true
		}
	}
	return false
}
