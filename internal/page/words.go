package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// px is a length of the drawing, to a tenth of a unit.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Duration is a span of seconds as people say it: "3 min 20 s".
func Duration(seconds float64) string {
	s := int64(math.Round(seconds))
	switch {
	case seconds < 0.0095:
		return strconv.FormatFloat(1000*seconds, 'f', 1, 64) + " ms"
	case seconds < 0.995:
		return strconv.FormatFloat(1000*seconds, 'f', 0, 64) + " ms"
	case seconds < 9.95 && seconds != math.Trunc(seconds):
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s%86400/3600)
}

// share is how much of a core a time on the processor is: "97%"; empty where
// there was no time.
func share(cpu, wall float64) string {
	if wall <= 0 {
		return ""
	}
	return strconv.FormatFloat(100*cpu/wall, 'f', 0, 64) + "%"
}

// Spaced is a file name as a heading.
func Spaced(id string) string {
	words := strings.ReplaceAll(id, "_", " ")
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}

// symbols are columns that have a symbol or another name.
var symbols = map[string]string{"benchmark, model": "Profile", "n_tasks": "N", "budget": "b", "m": "m", "w": "w", "m0": "m₀", "alpha": "α"}

// spellings are words of column names that are no plain words.
var spellings = map[string]string{
	"en": "EN", "ibn": "IBN", "hbn": "HBN", "ts": "TS-Neyman", "flops": "FLOPs", "alpha": "α", "m0": "m₀",
	"se": "s.e.", "sd": "s.d.", "b8": "b = 8", "theta": "θ", "mse": "MSE",
}

// Heading is the name of a column in words: "Tuned EN" of tuned_en.
func Heading(column string) string {
	if symbol, ok := symbols[column]; ok {
		return symbol
	}
	words := strings.Split(column, "_")
	for i, word := range words {
		if spelt, ok := spellings[word]; ok {
			words[i] = spelt
		} else if i == 0 && word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}
