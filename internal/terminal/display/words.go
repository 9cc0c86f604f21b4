// Package display writes text for people: amounts and times as they are read, text from
// outside without control characters, and the known word nearest to a misspelt one.
package display

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Duration is a time span: "3 min 20 s".
func Duration(seconds float64) string {
	switch s := int(seconds + 0.5); {
	case seconds < 9.95:
		return fmt.Sprintf("%.1f s", seconds)
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
}

// Count is a number with its noun: "1 task", "2 tasks".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// And is a list in words: "8, 16 and 32".
func And[T any](values []T) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprint(v))
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Units is a number of units of a plan.
func Units(n int) string { return Count(n, "unit", "units") }

// Megabytes is a size in millions of bytes.
func Megabytes(bytes int64) string { return fmt.Sprintf("%d MB", (bytes+500_000)/1_000_000) }

// Thousands is a count with separators: 20,480.
func Thousands[T ~int | ~int64](n T) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Rounded is a positive number with about three digits: 0.12, 3.4, 310, 1,204.
func Rounded(x float64) string {
	switch {
	case x < 1:
		return fmt.Sprintf("%.2f", x)
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	}
	return Thousands(int(x + 0.5))
}

// Scaled is an amount, a large one in millions and billions.
func Scaled(x float64) string {
	switch {
	case x >= 1e10:
		return Rounded(x/1e9) + " billion"
	case x >= 1e7:
		return Rounded(x/1e6) + " million"
	case x == 0:
		return "0"
	}
	return Rounded(x)
}

// Within joins as many items as fit into the given columns, and counts the others. The first
// is there in any case, cut if it must be.
func Within(items []string, columns int) string {
	for n := len(items); n > 0; n-- {
		text := strings.Join(items[:n], ", ")
		if more := len(items) - n; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		if utf8.RuneCountInString(text) <= columns {
			return text
		}
	}
	rest := ""
	if more := len(items) - 1; more > 0 {
		rest = fmt.Sprintf(", and %d more", more)
	}
	first := []rune(items[0])
	return string(first[:max(0, min(len(first), columns-len(rest)-1))]) + "…" + rest
}

// Nearest and Closest guess which known word was meant by an unknown one.

// Nearest is the known word that is spelt most like word, the first of equals;
// empty if none is near. Words are near if they differ in at most a third of
// word's letters, or one letter if it is short, or if word abbreviates the
// known one.
func Nearest(word string, known []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		n := Distance(word, k)
		if word != "" && strings.HasPrefix(k, word) {
			n = min(n, 1)
		}
		if n < least {
			best, least = k, n
		}
	}
	return best
}

// Closest are the known words that are spelt most like word, or begin most like
// it, the likest first and most of them at most, however unlike they are.
func Closest(word string, known []string, most int) []string {
	type guess struct {
		known string
		n     int
	}
	guesses := make([]guess, len(known))
	for i, k := range known {
		n := min(Distance(word, k), 1+Distance(word, k[:min(len(word), len(k))]))
		if strings.Contains(k, word) {
			n = min(n, 1)
		}
		guesses[i] = guess{k, n}
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return cmp.Compare(a.n, b.n) })
	var out []string
	for _, g := range guesses[:min(most, len(guesses))] {
		out = append(out, g.known)
	}
	return out
}

// Distance is the number of letters (bytes) to insert, drop, replace or swap
// with their neighbour to make one word of the other: optimal string alignment.
func Distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d[i][j] = min(replace, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

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
// only one whose words begin with the words of word. The error is a *NameError.
func Locate(what, word string, known []string) (int, error) {
	for _, same := range []func(name string) bool{
		func(name string) bool { return name == word },
		func(name string) bool { return slices.Equal(bareWord(word), bareWord(name)) },
		func(name string) bool { return word != "" && strings.HasPrefix(name, word+"_") },
		func(name string) bool { return beginsLike(bareWord(word), bareWord(name)) },
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

// bareWord is the words of a name in lower case, without "b=" and "N=".
func bareWord(name string) []string {
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

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellWord is a text as one word of a POSIX shell, without quotes where it needs none.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ThreeDigits is a large number in three digits: 1.23 M.
func ThreeDigits(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g G", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g M", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.3g k", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
