package benchmark

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// lines reads a file of JSONL.
func (r *reading) lines(data []byte) {
	rest, marked := bytes.CutPrefix(data, []byte("\ufeff"))
	if marked {
		r.faults.add("", "", "begins with a byte order mark: save it as UTF-8 without one")
	}
	if len(rest) == 0 {
		r.faults.add("", "", "is empty: a task file has a record a line")
		return
	}
	number := 0
	// Lines end at LF only: texts may hold other line separators.
	for line := range bytes.SplitSeq(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n")) {
		number++
		place := fmt.Sprintf("line %d", number)
		if r.full(place) {
			return
		}
		if fault := lineFault(line); fault != "" {
			r.skip(place, "%s", fault)
			continue
		}
		r.record(place, func(set setter) error { return members(line, set, place, r.faults) })
	}
}

// lineFault is why a line cannot be read at all; "" if it can.
func lineFault(line []byte) string {
	switch {
	case len(line) > maxRecord:
		return tooLong
	case len(bytes.TrimSpace(line)) == 0:
		return "is empty"
	case line[len(line)-1] == '\r':
		return "ends in CR LF: save the file with LF alone"
	case !utf8.Valid(line):
		return "is not valid UTF-8"
	}
	return ""
}

var tooLong = fmt.Sprintf("is longer than %d MiB: put the tests into a file and name it in tests_file", maxRecord>>20)
