// Package hostile has programs that attack a sandbox, and what must come of
// each: for the tests of the sandbox and its drill.
package hostile

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"speceval/internal/scoring/sandbox"
)

//go:embed *.py
var files embed.FS

// Program is one attack.
type Program struct {
	Name   string
	About  string // what it does
	Bound  string // what it tries to exceed: the name of a Bound
	Source string
	Ends   []sandbox.End // one of these
	Output string        // of one that must finish and say this; "" for any
}

// Programs lists the attacks, by name. What they do, and what must come of it,
// is in their first two lines, and what they try to exceed in the third.
func Programs() ([]Program, error) {
	names, err := fs.Glob(files, "*.py")
	if err != nil {
		return nil, err
	}
	var programs []Program
	for _, name := range names {
		source, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		lines := strings.SplitN(string(source), "\n", 4)
		if len(lines) < 4 {
			return nil, fmt.Errorf("%s has no three lines about itself", name)
		}
		p := Program{Name: strings.TrimSuffix(path.Base(name), ".py"), About: strings.TrimPrefix(lines[0], "# "),
			Bound: strings.TrimPrefix(lines[2], "# bound: "), Source: string(source)}
		if text, prints := strings.CutPrefix(lines[1], "# prints: "); prints {
			p.Ends, p.Output = []sandbox.End{sandbox.Finished}, text+"\n"
		} else {
			for _, end := range strings.Fields(strings.TrimPrefix(lines[1], "# ends: ")) {
				p.Ends = append(p.Ends, sandbox.End(end))
			}
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// The halves of an expected output. Programs contain them separately, so that the
// whole text, where a program finds it, does not come from the program.
const first, second = "the-answer-", "of-the-key"

// Secret is what the programs look for, and must not find.
func Secret() string { return first + second }

// Input is what the programs read: the port of a server on this machine, and the
// path of a file with the secret.
func Input(port int, file string) string {
	return fmt.Sprintf("%d\n%s\n%s\n%s\n", port, file, first, second)
}

// Fault says in what a result is not as it must be, "" if it is.
func (p Program) Fault(r sandbox.Result) string {
	if !slices.Contains(p.Ends, r.End) || p.Output != "" && p.Output != r.Output {
		return fmt.Sprintf("%s, %q %q; must be %s, %q", r.End, r.Output, r.Message, p.Ends, p.Output)
	}
	return ""
}
