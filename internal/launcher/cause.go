package launcher

import (
	"regexp"
	"strings"
)

// What stands before the text of a line in a server's log: the process that
// wrote it, and the logger.
var prefix = regexp.MustCompile(`^(\(\w+ pid=\d+\) ?)?((ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?`)

// exception is the last line of a traceback, and usage what a command line that
// is not understood ends in.
var (
	exception = regexp.MustCompile(`^([A-Za-z_][\w.]*)?(Error|Exception|Exit)(: |$)`)
	usage     = regexp.MustCompile(`^\S+: error: `)
)

// hollow are errors of a server that only tell that another process of it has
// failed, or was told to end.
var hollow = []string{
	"Engine core initialization failed", "EngineCore encountered an issue", "See stack trace", "CancelledError", "SystemExit",
}

const (
	detailLines  = 2   // at most, that explain an error
	longestLine  = 400 // bytes of a line that is quoted
	shortestTail = 3   // dots
)

// cause finds the error for which a server ended in what it wrote: the last one
// that says something, with the lines that explain it. After it come tracebacks
// of processes that it took along. nil if there is none.
func cause(log string) []string {
	var found []string
	explains := false
	for line := range strings.Lines(log) {
		text := strings.TrimRight(line[len(prefix.FindString(line)):], " \t\r\n")
		switch {
		case exception.MatchString(text) || usage.MatchString(text):
			if explains = !empty(text); explains {
				found = []string{short(text)}
			}
		case explains && strings.HasPrefix(text, " ") && len(found) <= detailLines:
			found = append(found, short(text))
		default:
			explains = false
		}
	}
	return found
}

// empty tells whether an error says nothing of its own.
func empty(text string) bool {
	for _, words := range hollow {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// short cuts a line that lists everything that a server knows.
func short(text string) string {
	if len(text) <= longestLine {
		return text
	}
	return strings.ToValidUTF8(text[:longestLine-shortestTail], "") + "..."
}
