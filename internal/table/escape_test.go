package table

import (
	"strings"
	"testing"
)

func TestEscapePrintsSpecialCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"math_100__model=qwen": `math\_100\_\_model=qwen`,
		"50% & #1 {x} $":       `50\% \& \#1 \{x\} \$`,
		`a\b^c~d`:              `a\textbackslash{}b\textasciicircum{}c\textasciitilde{}d`,
		"HBN-async, a--b---c":  `HBN-async, a-{}-b-{}-{}-c`,
		"two\nlines\tand 中":    `two lines and [U+4E2D]`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzEscape holds escaped text to what makes it safe in a tabular: printable
// ASCII on one line, balanced braces, an even number of dollars, and no bare
// character that ends a cell, a line or the rest of a line.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a_b", `\input{x}`, "100%", "a&b\\\\", "--", "$$", "\x00\xff中", "{", "†—"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		depth, dollars := 0, 0
		for i := 0; i < len(got); i++ {
			switch c := got[i]; {
			case c < ' ' || c > '~':
				t.Fatalf("Escape(%q) = %q: byte %#x", s, got, c)
			case c == '\\':
				if i++; i == len(got) || got[i] == '\\' {
					t.Fatalf("Escape(%q) = %q: a backslash that prints nothing", s, got)
				}
			case c == '{':
				depth++
			case c == '}':
				depth--
			case c == '$':
				dollars++
			case strings.ContainsRune("%&#_^~<>|`", rune(c)):
				t.Fatalf("Escape(%q) = %q: bare %q", s, got, c)
			}
			if depth < 0 {
				t.Fatalf("Escape(%q) = %q: unbalanced braces", s, got)
			}
		}
		if depth != 0 || dollars%2 != 0 {
			t.Fatalf("Escape(%q) = %q: unbalanced", s, got)
		}
	})
}
