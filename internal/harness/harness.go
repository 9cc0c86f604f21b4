// Package harness reads logs of other evaluation harnesses as one form: which rollouts
// of which tasks there are, and what reward each was given. Logs come from elsewhere
// and may be broken or hostile: reading one takes bounded memory, and every error names
// the file.
package harness

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Log is what one log has of one model on one benchmark.
type Log struct {
	Format    string   // its name among Formats
	Source    string   // path
	Benchmark string   // as the log names it
	Model     string   // as the log names it
	Scorer    string   // scorer or metric that the rewards are of
	Created   string   // RFC 3339, "" if the log does not say
	Complete  bool     // false: crashed or cancelled
	Allocated bool     // an allocation of speceval decided how many rollouts each task has
	Digest    string   // lower-case hex SHA-256 of the files that it was read from, whatever their names
	Tasks     []Task   // in the log's order, ids unique, each with a rollout at least
	Left      int      // rollouts of the log that are left out: unscored, or not selected
	Notes     []string // what was left out, and what else to know
}

// Task is a task and its scored rollouts, by their numbers.
type Task struct {
	ID       string
	Rollouts []Rollout
}

// Rollout is one scored rollout.
type Rollout struct {
	Number           int     // the log's epoch, trial or repeat, from 1, unique in its task
	Reward           float64 // 0 to 1
	PromptTokens     int64   // −1: the log does not say
	CompletionTokens int64   // −1: the log does not say
	Identity         uint64  // of the rollout itself, the same in all logs that have it; 0: not known
}

// Choice says how logs are read.
type Choice struct {
	Format string // "": recognised from content
	Scorer string // scorer or metric; "": the only one, or the first with a note
}

// format is a form of logs.
type format struct {
	name string
	is   func(f *file) bool // told from content, and where that is not enough from the name
	// read reads all files of the format that are at one place.
	read func(files []*file, c Choice) ([]Log, error)
}

// formats are all forms, in the order in which they are tried.
func formats() []format {
	return []format{
		inspectFormat(), lmEvalFormat(), nemoFormat(), verifiersFormat(), everyEvalFormat(),
		harborFormat(), terminalBenchFormat(), lightevalFormat(),
	}
}

// Formats is the names of all formats.
func Formats() (names []string) {
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Read reads the logs at path, a file or a folder of logs, in a format, "" to recognise
// it from their content.
func Read(path, format string) ([]Log, error) {
	return Choice{Format: format}.Read(path)
}

// Read reads the logs at path, a file or a folder of logs, sorted by format and then
// source. Files in a folder that no format recognises are passed over; a file that is
// named itself must be a log.
func (c Choice) Read(path string) ([]Log, error) {
	all := formats()
	if c.Format != "" {
		all = slices.DeleteFunc(all, func(f format) bool { return f.name != c.Format })
		if len(all) == 0 {
			return nil, fmt.Errorf("there is no format %q: want one of %s", c.Format, strings.Join(Formats(), ", "))
		}
	}
	files, folder, err := find(path)
	if err != nil {
		return nil, err
	}
	ours := make([][]*file, len(all)) // by format
	for _, one := range files {
		if one.head, err = one.load(); err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(f format) bool { return f.is(one) || c.Format != "" && !folder })
		if one.head = nil; at >= 0 {
			ours[at] = append(ours[at], one)
		}
	}
	var logs []Log
	for i, f := range all {
		if len(ours[i]) == 0 {
			continue
		}
		read, err := f.read(ours[i], c)
		if err != nil {
			return nil, err
		}
		logs = append(logs, read...)
	}
	if len(logs) == 0 {
		return nil, fmt.Errorf("%s: no log of %s is recognised", path, strings.Join(names(all), ", "))
	}
	return logs, nil
}

func names(all []format) (names []string) {
	for _, f := range all {
		names = append(names, f.name)
	}
	return names
}

// each reads every file as a log of its own.
func each(read func(f *file, c Choice) ([]Log, error)) func(files []*file, c Choice) ([]Log, error) {
	return func(files []*file, c Choice) (logs []Log, err error) {
		for _, f := range files {
			more, err := read(f, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
			logs = append(logs, more...)
		}
		return logs, nil
	}
}

// record is what was picked of a JSON object, by its path: "a.b" is b in a.
type record struct {
	values map[string]scalar
	order  []string // of the paths
}

const maxPicked = 256 // values of a record

// pick reads an object and keeps the values at some paths; a path that ends in * stands
// for all keys there.
func pick(p *pullReader, wanted ...string) (record, error) {
	r := record{values: make(map[string]scalar)}
	return r, r.read(p, "", wanted)
}

func (r *record) read(p *pullReader, at string, wanted []string) error {
	return p.Object(func(key string) error {
		path := at + key
		want, deeper := asks(wanted, at, path)
		switch {
		case deeper && p.Kind() == '{':
			return r.read(p, path+".", wanted)
		case want && len(r.order) < maxPicked:
			value, err := p.Scalar()
			if len(value.Text) > maxID { // no id or name is as long
				value.Text = strings.Clone(cmp.Or(verdictOf(key, value.Text), value.Text[:maxID+1]))
			}
			if _, again := r.values[path]; !again {
				r.order = append(r.order, path)
			}
			r.values[path] = value
			return err
		}
		return p.Skip()
	})
}

// asks reports whether the value at a path is wanted, and whether something in it is.
func asks(wanted []string, at, path string) (want, deeper bool) {
	for _, w := range wanted {
		want = want || w == path || w == at+"*"
		deeper = deeper || strings.HasPrefix(w, path+".")
	}
	return want, deeper
}

// text is the text or number at a path, "" if there is none.
func (r *record) text(path string) string { return r.values[path].Text }

// first is the first text or number that one of the paths has.
func (r *record) first(paths ...string) string {
	for _, path := range paths {
		if text := r.text(path); text != "" {
			return text
		}
	}
	return ""
}

// id is the id of a task at the first of some paths that has one.
func (r *record) id(paths ...string) (id taskID) {
	for _, path := range paths {
		if id = r.values[path].id(); id.text != "" {
			break
		}
	}
	return id
}

// count is the number of tokens at a path, −1 if there is none.
func (r *record) count(path string) int64 {
	if v := r.values[path]; v.Kind == '0' && v.Number >= 0 && v.Number < 1<<40 {
		return int64(v.Number)
	}
	return -1
}

// scores are the numbers and truth values among what was picked below a path, named by
// prefix and the last key.
func (r *record) scores(below, prefix string) (all []scored) {
	for _, path := range r.order {
		key, is := strings.CutPrefix(path, below)
		if kind := r.values[path].Kind; is && (kind == '0' || kind == 't' || kind == 'f' || kind == 'n') {
			all = append(all, scored{name: prefix + key, value: r.values[path]})
		}
	}
	return all
}

// lines calls each for every row of JSONL, from 1.
func lines(f *file, each func(p *pullReader) error) error {
	return f.reader(func(r io.Reader) error {
		p := newPullReader(r)
		for row := 1; p.More(); row++ {
			if err := each(p); err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
		}
		return nil
	})
}

// object reads a file that is one JSON object, and keeps the values at some paths.
func (f *file) object(wanted ...string) (r record, err error) {
	err = f.reader(func(from io.Reader) error {
		p := newPullReader(from)
		if r, err = pick(p, wanted...); err != nil {
			return err
		}
		return p.End()
	})
	return r, err
}

// sibling reads another file with more fields of a log. It returns an empty record
// if the file is missing or is of another form.
func sibling(path string, wanted ...string) record {
	r, err := (&file{path: path}).object(wanted...)
	if err != nil {
		return record{}
	}
	return r
}

// trimmed is the part of a name between two others, "" if they are not there.
func trimmed(name, prefix, suffix string) string {
	rest, begins := strings.CutPrefix(name, prefix)
	rest, ends := strings.CutSuffix(rest, suffix)
	if !begins || !ends {
		return ""
	}
	return rest
}
