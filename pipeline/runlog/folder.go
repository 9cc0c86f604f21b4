package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kept is how many logs of runs a folder keeps; the oldest go first.
const kept = 20

// create makes the log of a run in a folder, and removes the oldest ones.
func create(dir string, at time.Time, pid int) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("run-%s-%d.jsonl", at.UTC().Format("20060102T150405.000Z"), pid)
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if all, err := runLogs(dir); err == nil {
		for _, old := range all[:max(0, len(all)-kept)] {
			os.Remove(old) // what cannot be removed is the next run's to remove
		}
	}
	return file, nil
}

// runLogs are the paths of the logs of runs in a folder, the oldest first.
func runLogs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name, which has the time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the logs of runs: %w", err)
	}
	var paths []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, "run-") && strings.HasSuffix(name, ".jsonl") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, nil
}

// lasting writes lines to a file, and goes on where it cannot: a full disk must
// not end a run that could do without its log.
type lasting struct {
	file *os.File
	torn bool // the file ends within a line
	warn func(error)
	said bool // that lines are lost
}

func (l *lasting) Write(line []byte) (int, error) {
	text := line
	if l.torn {
		text = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(text)
	if err == nil {
		l.torn = false
		return len(line), nil
	}
	l.torn = l.torn || n > 0
	if !l.said {
		l.said = true
		l.warn(err)
	}
	return len(line), nil
}
