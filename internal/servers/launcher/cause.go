package launcher

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// prefix is the text before the message of a line in a server's log: the process that
	// wrote it, and the logger.
	prefix = regexp.MustCompile(`^(\(\w+ pid=\d+\) ?)?((ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?`)
	// fault is the last line of a traceback, or the end of a complaint about the command
	// line.
	fault = regexp.MustCompile(`^([A-Za-z_][\w.]*)?(Error|Exception|Exit)(: |$)|^\S+: error: `)
	// hollow are faults that only tell that another process of the server has failed,
	// or was asked to end.
	hollow = regexp.MustCompile("Engine core initialization failed|EngineCore encountered an issue|See stack trace|CancelledError|SystemExit")
)

const (
	lastLines   = 12  // of a log that names no fault are quoted
	detailLines = 2   // at most, that explain a fault
	longestLine = 400 // bytes of a line that is quoted
)

// cause finds the fault for which a server ended in what it wrote: the last one that
// says something, before tracebacks of processes that it took along, with the lines that
// explain it; or else the last lines.
func cause(log string) []string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if lines[0] == "" {
		return []string{"(it wrote nothing)"}
	}
	found := slices.Clone(lines[max(0, len(lines)-lastLines):])
	room := 0 // for lines that explain a fault
	for _, line := range lines {
		text := strings.TrimRight(line[len(prefix.FindString(line)):], " \t\r")
		if fault.MatchString(text) && !hollow.MatchString(text) {
			found, room = nil, 1+detailLines
		} else if !strings.HasPrefix(text, " ") {
			room = 0
		}
		if room > 0 {
			found = append(found, text)
			room--
		}
	}
	for i, text := range found {
		found[i] = strings.ToValidUTF8(text[:min(len(text), longestLine)], "")
	}
	return found
}
