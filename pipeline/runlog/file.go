package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"speceval/internal/ownfile"
)

// Kept is how many logs of runs a folder keeps; the oldest go first.
const Kept = 20

// create makes the log of a run in a folder, and removes the oldest ones.
func create(dir string, at time.Time, pid int) (*os.File, error) {
	if err := ownfile.MakeFolder(filepath.Dir(dir), dir); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("run-%s-%d.jsonl", at.UTC().Format("20060102T150405.000Z"), pid)
	file, err := ownfile.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if all, err := runLogs(dir); err == nil {
		for _, old := range all[:max(0, len(all)-Kept)] {
			os.Remove(old) // what cannot be removed is the next run's to remove
		}
	}
	return file, nil
}

// runLogs are the paths of the logs of runs in a folder, the oldest first.
func runLogs(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(escaped(dir), "run-*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("look for the logs of runs: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// escaped is a path that a pattern takes as it is.
func escaped(path string) string {
	var b []byte
	for i := range len(path) {
		if slices.Contains([]byte(`*?[\`), path[i]) {
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
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
