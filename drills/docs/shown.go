package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/profile"
	"speceval/pipeline/config"
)

// shownFaults puts the files that a page shows through the readers that users'
// files go through. Programs in Go must stand in a file of the repository, whose
// tests compile and run them.
func shownFaults(root string, p page) (faults []error) {
	for _, b := range p.blocks {
		var err error
		switch b.lang {
		case "toml":
			_, err = config.Parse([]byte(b.text), b.at(), nil)
		case "csv", "json":
			err = readable(b)
		case "go":
			err = standsSomewhere(root, b.text)
		case "sh", "python", "tsv", "tex", "text", "":
		default:
			err = fmt.Errorf("nothing checks a block of %q", b.lang)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", b.at(), err))
		}
	}
	return faults
}

// readable reads a file of profiles, or of tasks.
func readable(b block) error {
	if b.lang == "csv" && strings.Contains(b.text, "pass_count") {
		_, err := profile.Parse([]byte(b.text), "shown.csv")
		return err
	}
	name := "shown.jsonl"
	if b.lang == "csv" {
		name = "shown.csv"
	}
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	_, err = benchmark.Reader{Prompts: prompts}.Parse([]byte(b.text), name)
	return err
}

// standsSomewhere looks for lines of Go, indented in whatever way, in the
// repository's files.
func standsSomewhere(root, text string) error {
	want := flush(text)
	found := false
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || found {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		found = strings.Contains(flush(string(source)), want)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("no file of the repository has these lines of Go")
	}
	return err
}

// flush is a text without what stands before and after its lines, between two ends
// of lines.
func flush(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// first is the text of a page's first block of a language.
func (p page) first(lang string) (text string, ok bool) {
	i := slices.IndexFunc(p.blocks, func(b block) bool { return b.lang == lang })
	if i < 0 {
		return "", false
	}
	return p.blocks[i].text, true
}
