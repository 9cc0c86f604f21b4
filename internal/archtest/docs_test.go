package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// docFaults finds a package without a doc comment, and exported names without one. A comment at
// the end of a line counts, and so does the one of a group of constants, variables or types.
func docFaults(f folder) (faults []string) {
	missing := func(file file, name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(c *ast.CommentGroup) bool { return c != nil }) {
			faults = append(faults, fmt.Sprintf("%s: exported %s has no doc comment", file.at(name), name.Name))
		}
	}
	for _, file := range f.files {
		for _, decl := range file.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if exportedReceiver(d) && !(d.Recv != nil && wellKnown[d.Name.Name]) {
					missing(file, d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						missing(file, s.Name, d.Doc, s.Doc, s.Comment)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							missing(file, name, d.Doc, s.Doc, s.Comment)
						}
					}
				}
			}
		}
	}
	if !slices.ContainsFunc(f.files, func(file file) bool { return file.ast.Doc != nil }) {
		faults = append(faults, fmt.Sprintf("package %s has no doc comment", f.path))
	}
	return faults
}

// wellKnown are methods whose meaning their interface gives.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true, "Write": true, "Len": true, "Less": true, "Swap": true}

// exportedReceiver reports whether a function is no method, or one of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	recv := d.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	if index, ok := recv.(*ast.IndexExpr); ok {
		recv = index.X
	}
	name, ok := recv.(*ast.Ident)
	return ok && name.IsExported()
}

func TestEverythingExportedIsDocumented(t *testing.T) { hold(t, docFaults) }
