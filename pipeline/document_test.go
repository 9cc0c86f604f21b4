package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"speceval/pipeline/config"
)

func TestTheTeXEngineIsLookedForWhereAPDFIsWanted(t *testing.T) {
	none := func(string) (string, error) { return "", exec.ErrNotFound }
	cfg, out := config.Default(), t.TempDir()
	engine, notes := texEngine(cfg, out, none, nil)
	if engine != nil || len(notes) != 1 || !strings.Contains(notes[0], "report.tex is written without report.pdf") || !strings.Contains(notes[0], "apt-get install") ||
		!strings.Contains(notes[0], "cd "+out) || strings.Contains(notes[0], "earlier") {
		t.Errorf("without a TeX: engine %v, notes %q", engine, notes)
	}
	said := filepath.Join(t.TempDir(), "pdflatex")
	if err := os.WriteFile(said, []byte("#!/bin/sh\necho 'pdfTeX of a test'\necho more\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	there := func(string) (string, error) { return said, nil }
	if engine, notes := texEngine(cfg, out, there, os.Environ()); engine == nil || engine.Version != "pdfTeX of a test" || len(notes) != 0 {
		t.Errorf("with a TeX: engine %v, notes %q", engine, notes)
	}
	cfg.Report.PDF = config.PDFNever
	if engine, notes := texEngine(cfg, out, there, os.Environ()); engine != nil || len(notes) != 0 {
		t.Errorf("where no PDF is wanted: engine %v, notes %q", engine, notes)
	}
	if err := os.WriteFile(filepath.Join(out, pdfFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, pdf := range []string{config.PDFNever, config.PDFAuto} {
		cfg.Report.PDF = pdf
		if _, notes := texEngine(cfg, out, none, nil); len(notes) != 1 || !strings.Contains(notes[0], "the report.pdf in "+out+" is of an earlier run") {
			t.Errorf("%s, beside an old one: notes %q", pdf, notes)
		}
	}
}

func TestTheReportShowsNoFolderAndNoServer(t *testing.T) {
	cfg, err := config.Parse([]byte("[experiment]\nout = \"/here\"\n[corpus]\ntasks = \"/mine\"\n[judge]\nurls = [\"http://secret:1\"]\n"+
		"[[worker]]\nname = \"w\"\nurls = [\"http://secret:2\"]\n[executor]\nworkers = 3\n"), "x.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := shownConfiguration(cfg)
	for key, value := range shown {
		for _, private := range []string{"/here", "/mine", "secret"} {
			if strings.Contains(value, private) {
				t.Errorf("%s = %s is shown", key, value)
			}
		}
	}
	if shown["replay.draws"] != "8192" || shown["executor.workers"] != "" {
		t.Errorf("shown are %v", shown)
	}
}
