package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dialect is the worst of the words that the field does not use: what they stand for
// has a name, or a subject that does something.
var dialect = regexp.MustCompile(`(?i)\b(nobody|whoever|somebody else|in vain|told apart|(is|are|was|were|be) told|gone on with|goes on with|sees to it)\b`)

// vague matches words in the place of a noun. There may be mostVague of them in comments: a
// number that only falls.
var vague = regexp.MustCompile(`\b(is that of|are those of|is what|are what|of which|so many|tells whether|those that)\b`)

const mostVague = 94

// vagueWords counts the vague words in comments.
func vagueWords(f folder) (n int) {
	for _, file := range f.files {
		for _, group := range file.ast.Comments {
			n += len(vague.FindAllString(strings.Join(strings.Fields(group.Text()), " "), -1))
		}
	}
	return n
}

// vagueTypes are names of types that tell a reader nothing about what is held.
var vagueTypes = []string{"place", "tally", "kind", "corpus", "look", "told", "memories", "sighted"}

// wordFaults finds words of the dialect in comments, and types with vague names.
func wordFaults(f folder) (faults []string) {
	for _, file := range f.files {
		for _, group := range file.ast.Comments {
			if word := dialect.FindString(strings.Join(strings.Fields(group.Text()), " ")); word != "" {
				faults = append(faults, fmt.Sprintf("%s: %q: name the noun, and what it does", file.at(group), word))
			}
		}
		ast.Inspect(file.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && slices.Contains(vagueTypes, spec.Name.Name) {
				faults = append(faults, fmt.Sprintf("%s: type %s: name what it holds", file.at(spec), spec.Name.Name))
			}
			return true
		})
	}
	return faults
}

func TestWords(t *testing.T) {
	hold(t, wordFaults)
	n := 0
	for _, f := range repository() {
		n += vagueWords(f)
	}
	if n > mostVague {
		t.Errorf("%d vague words in comments (%s), at most %d: name the noun", n, vague, mostVague)
	}
	for _, page := range append(glob("docs/*.md"), "README.md", "CONTRIBUTING.md") {
		for i, line := range strings.Split(read(page), "\n") {
			if word := dialect.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: name the noun, and what it does", page, i+1, word)
			}
		}
	}
}
