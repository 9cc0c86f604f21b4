package archtest

import (
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// outsideFaults finds exported declarations below method/ that name something of
// internal/: programs outside this module could not write it.
func outsideFaults(f folder) []string {
	if !strings.HasPrefix(f.path, "method/") {
		return nil
	}
	var faults []string
	for _, file := range f.files {
		imported := importNames(file)
		for _, decl := range file.ast.Decls {
			for _, part := range exportedParts(decl) {
				ast.Inspect(part, func(n ast.Node) bool {
					sel, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					x, ok := sel.X.(*ast.Ident)
					if ok && strings.HasPrefix(imported[x.Name], module+"/internal/") {
						faults = append(faults, fmt.Sprintf("%s: %s is exported with %s.%s, which nobody outside can name", file.at(sel), f.path, x.Name, sel.Sel.Name))
					}
					return true
				})
			}
		}
	}
	return faults
}

// exportedParts are the parts of a declaration that its users have to name: the
// signature of a function, the type of a value, a type without its unexported
// fields.
func exportedParts(decl ast.Decl) []ast.Node {
	var parts []ast.Node
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			parts = append(parts, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					parts = append(parts, typeParts(s)...)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						parts = append(parts, s)
						break
					}
				}
			}
		}
	}
	return parts
}

func typeParts(s *ast.TypeSpec) []ast.Node {
	structure, ok := s.Type.(*ast.StructType)
	if !ok {
		return []ast.Node{s.Type}
	}
	var parts []ast.Node
	for _, field := range structure.Fields.List {
		exported := len(field.Names) == 0 // embedded
		for _, name := range field.Names {
			exported = exported || name.IsExported()
		}
		if exported {
			parts = append(parts, field.Type)
		}
	}
	return parts
}

func TestMethodNamesNothingInternal(t *testing.T) {
	for _, f := range repository(t) {
		report(t, outsideFaults(f))
	}
}

// outsider is a program of somebody else's.
const outsider = `package main

import (
	"context"
	"fmt"
	"log"

	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/neyman"
)

func main() {
	d, err := design.Compute(context.Background(), design.Settings{Tasks: 3, Budget: 4, Panels: 64, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	allocation, err := neyman.Allocate([]float64{0.25, 0, 0.04}, d.Tasks*(d.Budget-d.Pilots))
	if err != nil {
		log.Fatal(err)
	}
	c, err := controller.New(controller.Settings{Policy: controller.Uniform, Tasks: d.Tasks, Budget: d.Budget, Pilots: d.Pilots})
	if err != nil {
		log.Fatal(err)
	}
	id, _ := c.Next()
	fmt.Println(d.Tasks, d.Budget, len(allocation), id)
}
`

// TestOutsidersCanUseTheMethod runs a program of another module, with the versions
// of this module's dependencies and no network.
func TestOutsidersCanUseTheMethod(t *testing.T) {
	root := must(filepath.Abs(filepath.Join("..", "..")))
	read := func(name string) string {
		content := must(os.ReadFile(filepath.Join(root, name)))
		return string(content)
	}
	ours := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(read("go.mod"), "module outsider")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.go": outsider,
		"go.mod":  ours + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + fmt.Sprintf("%q", root) + "\n",
		"go.sum":  read("go.sum"),
	} {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	command := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "-mod=mod", ".")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	if want := "3 4 3 task 0 pilot 1\n"; err != nil || string(output) != want {
		t.Errorf("%v:\n%s\nwant %q", err, output, want)
	}
}
