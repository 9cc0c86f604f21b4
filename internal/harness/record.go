package harness

import (
	"fmt"
	"io"
	"strings"

	"speceval/internal/harness/pull"
)

// record is what was picked of a JSON object, by its path: "a.b" is b in a.
type record struct {
	values map[string]pull.Scalar
	order  []string // of the paths
}

const maxPicked = 256 // values of a record

// pick reads an object and keeps the values at some paths; a path that ends in * stands
// for all keys there.
func pick(p *pull.Reader, wanted ...string) (record, error) {
	r := record{values: make(map[string]pull.Scalar)}
	return r, r.read(p, "", wanted)
}

func (r *record) read(p *pull.Reader, at string, wanted []string) error {
	return p.Object(func(key string) error {
		path := at + key
		want, deeper := asks(wanted, at, path)
		switch {
		case deeper && p.Kind() == '{':
			return r.read(p, path+".", wanted)
		case want && len(r.order) < maxPicked:
			value, err := p.Scalar()
			if len(value.Text) > maxID { // no id or name is as long
				value.Text = strings.Clone(value.Text[:maxID+1])
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
			all = append(all, scored{prefix + key, r.values[path]})
		}
	}
	return all
}

// lines calls each for every row of JSONL, from 1.
func lines(f *file, each func(p *pull.Reader) error) error {
	return f.reader(func(r io.Reader) error {
		p := pull.New(r)
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
		p := pull.New(from)
		if r, err = pick(p, wanted...); err != nil {
			return err
		}
		return p.End()
	})
	return r, err
}

// beside reads another file, which tells more of a log; where it is not there, or is
// something else, nothing is known.
func beside(path string, wanted ...string) record {
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
