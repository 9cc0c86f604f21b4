package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/typeset"
	"speceval/pipeline/config"
)

// pdfFile is the report as it is printed, in the output folder.
const pdfFile = "report.pdf"

// texEngine is the TeX engine that sets the report in the folder out, nil where
// there is none or none is wanted, with what the user should know of it.
func texEngine(cfg *config.Config, out string, look func(string) (string, error), environment []string) (*typeset.Engine, []string) {
	old := ""
	if _, err := os.Stat(filepath.Join(out, pdfFile)); err == nil {
		old = fmt.Sprintf("the %s in %s is of an earlier run", pdfFile, out)
	}
	if cfg.Report.PDF == config.PDFNever {
		return nil, slices.DeleteFunc([]string{old}, func(note string) bool { return note == "" })
	}
	engine, err := typeset.Find(context.Background(), look, environment)
	var lack *typeset.NoEngineError
	if errors.As(err, &lack) {
		note := fmt.Sprintf("report.tex is written without %s, since %v; or set it elsewhere (cd %s && pdflatex report.tex, twice)", pdfFile, lack, out)
		return nil, []string{strings.TrimSuffix(note+"; "+old, "; ")}
	}
	return engine, nil
}

// unshown are the keys that the report leaves out: folders, servers, and how
// units are run. No result depends on where something is.
var unshown = []string{"experiment.out", "corpus.profiles", "corpus.tasks", "corpus.prompts", "judge.urls", "judge.prompt", "sandbox.python", "worker"}

// shownConfiguration is what the report shows of the configuration.
func shownConfiguration(cfg *config.Config) map[string]string {
	shown := cfg.All()
	for key := range shown {
		if slices.Contains(unshown, key) || strings.HasPrefix(key, "executor.") || strings.HasPrefix(key, "report.") {
			delete(shown, key)
		}
	}
	return shown
}
