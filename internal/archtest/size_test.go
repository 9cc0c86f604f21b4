package archtest

import (
	"go/scanner"
	"go/token"
	"strings"
	"testing"
)

// The size of all Go that is no test. It only falls, but by a commit that raises a number here and
// says why.
const (
	mostLines  = 84_120
	mostTokens = 541_310 // without comments
	mostRooms  = 12      // folders of internal
)

func TestTheHouseDoesNotGrow(t *testing.T) {
	lines, tokens, rooms := 0, 0, map[string]bool{}
	walk(func(name, source string) {
		if room, inside := strings.CutPrefix(name, "internal/"); inside {
			room, _, _ = strings.Cut(room, "/")
			rooms[room] = true
		}
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		lines += strings.Count(source, "\n")
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(name, -1, len(source)), []byte(source), nil, 0)
		for _, tok, lit := s.Scan(); tok != token.EOF; _, tok, lit = s.Scan() {
			if tok != token.SEMICOLON || lit != "\n" {
				tokens++
			}
		}
	})
	if lines > mostLines || tokens > mostTokens || len(rooms) > mostRooms {
		t.Errorf("%d lines, %d tokens, %d rooms in internal: at most %d, %d and %d: delete a concept, or raise the ceiling above in a commit that says why", lines, tokens, len(rooms), mostLines, mostTokens, mostRooms)
	}
}
