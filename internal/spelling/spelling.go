// Package spelling guesses which known word was meant by an unknown one.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest is the known word that is spelt most like word, the first of equals;
// empty if none is near. Words are near if they differ in at most a third of
// word's letters, or one letter if it is short, or if word abbreviates the
// known one.
func Nearest(word string, known []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		n := distance(word, k)
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
		n := min(distance(word, k), 1+distance(word, k[:min(len(word), len(k))]))
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

// distance is the number of letters (bytes) to insert, drop, replace or swap
// with their neighbour to make one word of the other: optimal string alignment.
func distance(a, b string) int {
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
