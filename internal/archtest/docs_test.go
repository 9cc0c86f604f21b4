package archtest

import (
	"fmt"
	"go/ast"
	"testing"
)

// docFaults finds a package without a doc comment, and exported names without
// one. A field or a method of an exported type counts as a name, except that
// fields may be explained by a comment at the end of their line, or with the
// fields of the same group, and that one comment may serve a group of
// constants or variables.
func docFaults(f folder) []string {
	var faults []string
	documented := false
	for _, file := range f.files {
		documented = documented || file.ast.Doc != nil
		for _, decl := range file.ast.Decls {
			for _, name := range undocumented(decl) {
				faults = append(faults, fmt.Sprintf("%s: exported %s has no doc comment", file.at(name), name.Name))
			}
		}
	}
	if !documented {
		faults = append(faults, fmt.Sprintf("package %s has no doc comment", f.path))
	}
	return faults
}

// undocumented lists the exported names of a declaration that lack a comment.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(d, spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && d.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil || d.Doc != nil {
			return nil
		}
		var names []*ast.Ident
		for _, name := range s.Names {
			if name.IsExported() {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// wellKnown are methods whose meaning their interface gives.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true, "Write": true, "Len": true, "Less": true, "Swap": true}

// exportedReceiver tells whether a function is a name of the package: no
// method, or one of an exported type that is not well known.
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
	return ok && name.IsExported() && !wellKnown[d.Name.Name]
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, f := range repository(t) {
		report(t, docFaults(f))
	}
}
