package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"speceval/pipeline/config"
)

var (
	span      = regexp.MustCompile("`([^`]+)`")
	spaces    = regexp.MustCompile(`\s+`)
	dottedKey = regexp.MustCompile(`^([a-z_]+(?:\.[a-z_]+)?)\.([a-z_]+)$`)
	section   = regexp.MustCompile(`^(\[\[?)([a-z_.]+)\]\]?( [a-z_]+)?$`)
	setting   = regexp.MustCompile(`^([a-z_]+) = \S`)
	flagAlone = regexp.MustCompile(`^(--[a-z-]+)`)
	filePath  = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
	link      = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// endings of files whose names look like keys: report.html.
var endings = []string{"html", "tex", "pdf"}

// foreignFlags are flags of other programs that pages speak of.
var foreignFlags = []string{
	"--load-format", "--model", // of vLLM's server
}

// proseFaults checks what a page names between backticks outside of its blocks:
// commands of ours and of make, flags, keys of the configuration, files of the
// repository. Links must lead to files, and to headings of pages.
func (f *facts) proseFaults(p page, all []page) (faults []error) {
	for _, match := range span.FindAllStringSubmatch(p.prose, -1) {
		text := spaces.ReplaceAllString(match[1], " ")
		for _, err := range f.spanFaults(p.name, text) {
			faults = append(faults, fmt.Errorf("%w (in `%s`)", err, text))
		}
	}
	for _, match := range link.FindAllStringSubmatch(p.prose, -1) {
		if err := linkFault(f.root, p, match[1], all); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

func (f *facts) spanFaults(at, text string) []error {
	_, words, _ := split(text)
	if len(words) == 0 {
		return nil
	}
	c := command{page: at, text: text, words: words}
	if _, _, ours := c.ours(); ours || words[0] == "make" {
		if len(words) == 1 {
			return nil
		}
		return f.faults(c)
	}
	if match := flagAlone.FindString(text); match != "" && !f.anyFlag(match) && !slices.Contains(foreignFlags, match) {
		return []error{fmt.Errorf("%s: no command has the flag %s", at, match)}
	}
	if match := section.FindStringSubmatch(text); match != nil {
		return keyFault(at, match[1], match[2], strings.TrimSpace(match[3]))
	}
	if match := dottedKey.FindStringSubmatch(text); match != nil && sectionExists(match[1]) && !slices.Contains(endings, match[2]) {
		return keyFault(at, "[", match[1], match[2])
	}
	if match := setting.FindStringSubmatch(text); match != nil && !someKey(match[1]) {
		return []error{fmt.Errorf("%s: no section of the configuration has a key %s", at, match[1])}
	}
	return f.fileFault(at, text)
}

// fileFault finds a path below a folder of the repository that leads nowhere.
func (f *facts) fileFault(at, text string) []error {
	top, _, nested := strings.Cut(text, "/")
	if !nested || !filePath.MatchString(text) {
		return nil
	}
	if info, err := os.Stat(filepath.Join(f.root, top)); err != nil || !info.IsDir() || top == "bin" || strings.HasPrefix(top, "out") || top == "tasks" || top == "upstream" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(f.root, filepath.FromSlash(text))); err != nil {
		return []error{fmt.Errorf("%s: the repository has no %s", at, text)}
	}
	return nil
}

// sections are those of the configuration; the lists among them are written with
// two brackets.
var sections = []string{"experiment", "corpus", "sampling", "replay", "replay.ts_neyman", "replay.case_study", "systems", "serving", "judge", "sandbox", "grader", "executor", "executor.generate", "executor.score", "executor.replay", "executor.systems", "executor.report", "report"}

var lists = []string{"model", "benchmark", "worker"}

func sectionExists(name string) bool {
	return slices.Contains(sections, name) || slices.Contains(lists, name)
}

// keyFault finds a section or a key that the configuration does not have.
func keyFault(at, bracket, name, key string) []error {
	isList := slices.Contains(lists, name)
	if !sectionExists(name) || bracket == "[[" && !isList {
		return []error{fmt.Errorf("%s: the configuration has no section %s", at, name)}
	}
	if key != "" && !hasKey(name, key) {
		return []error{fmt.Errorf("%s: the configuration has no key %s.%s", at, name, key)}
	}
	return nil
}

func someKey(key string) bool {
	return slices.ContainsFunc(slices.Concat(sections, lists), func(name string) bool { return hasKey(name, key) })
}

// hasKey asks the configuration's reader.
func hasKey(name, key string) bool {
	text := fmt.Sprintf("[%s]\n%s = 0\n", name, key)
	if slices.Contains(lists, name) {
		text = fmt.Sprintf("[[%s]]\n%s = 0\n", name, key)
	}
	_, err := config.Parse([]byte(text), "made", nil)
	return err == nil || !strings.Contains(err.Error(), name+"."+key+": unknown key") && !strings.Contains(err.Error(), name+"[0]."+key+": unknown key")
}

// linkFault finds a link to a file or heading that is not there. Addresses of the
// network are not tried.
func linkFault(root string, p page, target string, all []page) error {
	if strings.Contains(target, "://") {
		return nil
	}
	file, anchor, _ := strings.Cut(target, "#")
	name := p.name
	if file != "" {
		name = filepath.ToSlash(filepath.Join(filepath.Dir(p.name), file))
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("%s: the link %s leads nowhere", p.name, target)
		}
	}
	at := slices.IndexFunc(all, func(other page) bool { return other.name == name })
	if anchor != "" && at >= 0 && !slices.Contains(anchors(all[at]), anchor) {
		return fmt.Errorf("%s: %s has no heading for the link %s", p.name, name, target)
	}
	return nil
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchors are the names under which GitHub lets links reach the headings of a page.
func anchors(p page) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(p.prose, -1) {
		name := strings.ToLower(match[1])
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
