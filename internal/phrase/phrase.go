// Package phrase writes durations, counts and amounts as people read them:
// "3 min 20 s", "2 units", "20,480", "12 billion".
package phrase

import (
	"fmt"
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
func And(words []string) string {
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
func Thousands(n int) string {
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

// Within joins as many items as fit into so many columns, and counts the others.
// The first is there in any case, cut if it must be.
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
