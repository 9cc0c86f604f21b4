package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// outsideFaults finds exported declarations below method/ that name something of
// internal/: programs outside this module could not write it.
func outsideFaults(f folder) (faults []string) {
	if !strings.HasPrefix(f.path, "method/") {
		return nil
	}
	for _, file := range f.files {
		public := parseFile(token.NewFileSet(), file.name, read(file.name))
		ast.FileExports(public.ast)
		for _, decl := range public.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				if d.Body = nil; !exportedReceiver(d) {
					d.Type = &ast.FuncType{Params: &ast.FieldList{}}
				}
			}
		}
		public.selectors(func(sel *ast.SelectorExpr, pkg, name string) {
			if strings.HasPrefix(pkg, module+"/internal/") {
				faults = append(faults, fmt.Sprintf("%s: %s is exported with %s.%s, which nobody outside can name", public.at(sel), f.path, pkg, name))
			}
		})
	}
	return faults
}

func TestMethodNamesNothingInternal(t *testing.T) { hold(t, outsideFaults) }

// outsider is a program of somebody else's.
const outsider = `package main

import (
	"context"
	"fmt"

	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/neyman"
)

func main() {
	d, err := design.Compute(context.Background(), design.Settings{Tasks: 3, Budget: 4, Panels: 64, Seed: 1})
	if err != nil {
		panic(err)
	}
	allocation, err := neyman.Allocate([]float64{0.25, 0, 0.04}, d.Tasks*(d.Budget-d.Pilots))
	if err != nil {
		panic(err)
	}
	c, err := controller.New(controller.Settings{Policy: controller.Uniform, Tasks: d.Tasks, Budget: d.Budget, Pilots: d.Pilots})
	if err != nil {
		panic(err)
	}
	id, _ := c.Next()
	fmt.Println(d.Tasks, d.Budget, len(allocation), id)
}
`

// TestOutsidersCanUseTheMethod runs a program of another module, with the versions
// of this module's dependencies and no network.
func TestOutsidersCanUseTheMethod(t *testing.T) {
	ours := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(read("go.mod"), "module outsider")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.go": outsider,
		"go.mod":  ours + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + fmt.Sprintf("%q", must(filepath.Abs(root))) + "\n",
		"go.sum":  read("go.sum"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "-mod=mod", ".")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	if want := "3 4 3 task 0 pilot 1\n"; err != nil || string(output) != want {
		t.Errorf("%v:\n%s\nwant %q", err, output, want)
	}
}
