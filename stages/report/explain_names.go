package report

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/spelling"
)

// NameError is a word that names no table, row or column, or several.
type NameError struct {
	What    string   // "table", "row of table1_variance"
	Word    string   // as given
	Several bool     // it is short for all of Near, not for one
	Near    []string // what it may mean, the likest first
}

func (e *NameError) Error() string {
	near := strings.Join(quotedWhereSpaced(e.Near), ", ")
	switch {
	case e.Several:
		return fmt.Sprintf("%q could be more than one %s: %s", e.Word, e.What, near)
	case near == "":
		return fmt.Sprintf("there is no %s %q, nor any other", e.What, e.Word)
	}
	return fmt.Sprintf("there is no %s %q; the nearest are %s", e.What, e.Word, near)
}

// quotedWhereSpaced puts quotes around what a shell would split.
func quotedWhereSpaced(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; strings.Contains(w, " ") {
			out[i] = `"` + w + `"`
		}
	}
	return out
}

// mostNear bounds the names that an error lists.
const mostNear = 5

// locateName finds the name that is meant by word: the name itself; the same in
// another case or without what "b=" and "N=" say; or the only one whose words
// begin with those of word.
func locateName(what, word string, known []string) (int, error) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return slices.Equal(bare(a), bare(b)) },
		func(a, b string) bool { return beginsLike(bare(a), bare(b)) },
	} {
		var found []int
		for i, k := range known {
			if same(word, k) {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			e := &NameError{What: what, Word: word, Several: true}
			for _, i := range found[:min(mostNear, len(found))] {
				e.Near = append(e.Near, known[i])
			}
			return 0, e
		}
	}
	return 0, &NameError{What: what, Word: word, Near: spelling.Closest(word, known, mostNear)}
}

// bare is the words of a name in lower case, without "b=" and "N=".
func bare(name string) []string {
	words := strings.Fields(strings.ToLower(name))
	for i, w := range words {
		for _, prefix := range []string{"b=", "n="} {
			if rest, ok := strings.CutPrefix(w, prefix); ok {
				words[i] = rest
			}
		}
	}
	return words
}

// beginsLike reports whether every word is the beginning of the one in its place
// in name.
func beginsLike(words, name []string) bool {
	if len(words) == 0 || len(words) > len(name) {
		return false
	}
	for i, w := range words {
		if !strings.HasPrefix(name[i], w) {
			return false
		}
	}
	return true
}
