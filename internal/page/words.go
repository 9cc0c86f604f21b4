package page

import (
	"fmt"
	"math"
	"strconv"
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

// count is a number of things in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// share is how much of a core a time on the processor is: "97%"; empty where
// there was no time.
func share(cpu, wall float64) string {
	if wall <= 0 {
		return ""
	}
	return strconv.FormatFloat(100*cpu/wall, 'f', 0, 64) + "%"
}
