package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"testing"
)

// stateFaults finds package-level variables that are assigned to: state that
// everything shares.
func stateFaults(f folder) []string {
	var files []*ast.File
	for _, file := range f.files {
		files = append(files, file.ast)
	}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checker := types.Config{Importer: nowhere{}, Error: func(error) {}}
	pkg, _ := checker.Check(f.path, f.files[0].pos, files, &info) // imports fail, which does not matter here
	var faults []string
	for _, file := range f.files {
		ast.Inspect(file.ast, func(n ast.Node) bool {
			for _, id := range assigned(n) {
				if v, ok := info.Uses[id].(*types.Var); ok && v.Parent() == pkg.Scope() {
					faults = append(faults, fmt.Sprintf("%s: the package's variable %s is changed", file.at(id), id.Name))
				}
			}
			return true
		})
	}
	return faults
}

// nowhere imports nothing.
type nowhere struct{}

func (nowhere) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// assigned lists the variables that a statement changes, or changes an element
// or a field of.
func assigned(n ast.Node) []*ast.Ident {
	var targets []ast.Expr
	switch s := n.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			targets = s.Lhs
		}
	case *ast.IncDecStmt:
		targets = []ast.Expr{s.X}
	}
	var names []*ast.Ident
	for _, target := range targets {
		if id := root(target); id != nil {
			names = append(names, id)
		}
	}
	return names
}

// root is the variable at the left of an expression like v.field[i].
func root(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	}
	return nil
}

func TestPackagesHaveNoState(t *testing.T) {
	for _, f := range repository(t) {
		report(t, stateFaults(f))
	}
}

func TestStateRuleCatches(t *testing.T) {
	tests := []struct{ body, want string }{
		{"var n int\nfunc f() { n++ }", "variable n is changed"},
		{"var n int\nfunc f() { n = 1 }", "variable n is changed"},
		{"var m = map[int]int{}\nfunc f() { m[1] = 2 }", "variable m is changed"},
		{"var s struct{ x int }\nfunc f() { s.x = 2 }", "variable s is changed"},
		{"var n int\nfunc f() { n := 1; n = 2; _ = n }", ""},
		{"var n = 1\nfunc f() int { return n }", ""},
		{"type n struct{ x int }\nfunc (r *n) f() { r.x = 1 }", ""},
	}
	for _, test := range tests {
		catches(t, stateFaults(made(t, "internal/p", "package p\n"+test.body+"\n")), test.want)
	}
}
