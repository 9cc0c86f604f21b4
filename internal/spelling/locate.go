package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// NameError is the error of a word that names nothing of a kind, or several things.
type NameError struct {
	What    string   // the kind: "table", "row of table1_variance"
	Word    string   // as given
	Several bool     // it is short for all of Near, not for one
	Near    []string // what it may mean, the likeliest first
}

func (e *NameError) Error() string {
	quoted := slices.Clone(e.Near)
	for i, w := range quoted {
		if strings.Contains(w, " ") { // a shell would split it
			quoted[i] = `"` + w + `"`
		}
	}
	near := strings.Join(quoted, ", ")
	switch {
	case e.Several:
		return fmt.Sprintf("%q could be more than one %s: %s", e.Word, e.What, near)
	case near == "":
		return fmt.Sprintf("there is no %s %q, nor any other", e.What, e.Word)
	}
	return fmt.Sprintf("there is no %s %q; the nearest are %s", e.What, e.Word, near)
}

// mostNear bounds the names that an error lists.
const mostNear = 5

// Locate returns the index of the known name that word means: the name itself;
// the same in another case or without "b=" and "N="; the only one that has it before
// an underscore, as table1 is of table1_variance and not of table10_benefit; or the
// only one whose words begin with those of word. The error is a *NameError.
func Locate(what, word string, known []string) (int, error) {
	for _, same := range []func(name string) bool{
		func(name string) bool { return name == word },
		func(name string) bool { return slices.Equal(bare(word), bare(name)) },
		func(name string) bool { return word != "" && strings.HasPrefix(name, word+"_") },
		func(name string) bool { return beginsLike(bare(word), bare(name)) },
	} {
		var found []int
		var names []string
		for i, name := range known {
			if same(name) {
				found, names = append(found, i), append(names, name)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return 0, &NameError{What: what, Word: word, Several: true, Near: names[:min(mostNear, len(names))]}
		}
	}
	return 0, &NameError{What: what, Word: word, Near: Closest(word, known, mostNear)}
}

// bare is the words of a name in lower case, without "b=" and "N=".
func bare(name string) []string {
	words := strings.Fields(strings.ToLower(name))
	for i, w := range words {
		words[i] = strings.TrimPrefix(strings.TrimPrefix(w, "b="), "n=")
	}
	return words
}

// beginsLike reports whether every word is the beginning of the one in its place
// in name.
func beginsLike(words, name []string) bool {
	return 0 < len(words) && len(words) <= len(name) &&
		slices.EqualFunc(name[:len(words)], words, strings.HasPrefix)
}
