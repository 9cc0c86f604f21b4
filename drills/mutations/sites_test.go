//go:build drill

package mutations

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"speceval/drills/drill"
)

// site is a place of a file and the text that a mutation puts there.
type site struct {
	pkg      string // folder of the package, from the root
	file     string // from the root
	line     int
	from, to int // bytes of the file
	text     string
	what     string // for people: old → new
}

// swaps are the operators that a mutation exchanges.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC, token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK,
}

// sitesOf lists the mutations of a file, each within one line: an operator exchanged, a
// condition negated, a whole number one larger, a statement without a result dropped,
// an error not returned.
func sitesOf(l *drill.Lab, pkg, file string) (all []site) {
	text, files := l.Read(file), token.NewFileSet()
	tree, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	l.OK(err)
	put := func(from, to token.Pos, replacement string) {
		a, b := files.Position(from), files.Position(to)
		if a.Line != b.Line {
			return
		}
		old := string(text[a.Offset:b.Offset])
		all = append(all, site{pkg, file, a.Line, a.Offset, b.Offset, replacement, fmt.Sprintf("%s → %s", old, strings.TrimSpace(replacement))})
	}
	swap := func(at token.Pos, op token.Token) {
		if other, ok := swaps[op]; ok {
			put(at, at+token.Pos(len(op.String())), other.String())
		}
	}
	negate := func(cond ast.Expr) {
		put(cond.Pos(), cond.End(), "!("+string(text[files.Position(cond.Pos()).Offset:files.Position(cond.End()).Offset])+")")
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.IMPORT
		case *ast.Field: // tags and array lengths of types
			return n.Tag == nil
		case *ast.BinaryExpr:
			swap(n.OpPos, n.Op)
		case *ast.IncDecStmt:
			swap(n.TokPos, n.Tok)
		case *ast.BranchStmt:
			if n.Label == nil {
				swap(n.TokPos, n.Tok)
			}
		case *ast.IfStmt:
			negate(n.Cond)
		case *ast.BasicLit:
			if v, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
				put(n.Pos(), n.End(), strconv.Itoa(v+1))
			}
		case *ast.ExprStmt:
			put(n.Pos(), n.End(), "{}")
		case *ast.AssignStmt:
			if swap(n.TokPos, n.Tok); n.Tok != token.DEFINE {
				put(n.Pos(), n.End(), "{}")
			}
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				if last, ok := n.Results[len(n.Results)-1].(*ast.Ident); ok && last.Name == "err" {
					put(last.Pos(), last.End(), "nil")
				}
			}
		}
		return true
	})
	return all
}
