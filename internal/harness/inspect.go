package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// manager is the name under which speceval allocates in Inspect, and how its reasons
// for skipped epochs begin.
const manager = "speceval"

// inspectFormat is the logs of Inspect, .eval and .json.
func inspectFormat() format {
	return format{
		name: "inspect",
		is: func(f *file) bool {
			return zipped(f) && f.named(".eval") || f.starts('{') && f.has("version", "eval", "status") && f.has("task", "model")
		},
		read: each(func(f *file, c Choice) ([]Log, error) {
			l := &inspectLog{chooser: chooser{wanted: c.Scorer}}
			l.logBuilder = newLogBuilder(Log{Format: "inspect", Source: f.path})
			l.last = true // a sample was run again
			if err := l.from(f); err != nil {
				return nil, err
			}
			if zipped(f) {
				if err := l.zip(f.path, honest); err != nil {
					return nil, err
				}
			} else if err := f.reader(l.whole); err != nil {
				return nil, err
			}
			log, err := l.finish()
			return []Log{log}, err
		}),
	}
}

func zipped(f *file) bool { return bytes.HasPrefix(f.first(), []byte("PK\x03\x04")) }

// inspectLog is a log of Inspect that is being read.
type inspectLog struct {
	*logBuilder
	chooser
	status   string              // success, started, cancelled or error
	stopping string              // name of the early stopping manager
	stops    int                 // epochs that it skipped
	ours     bool                // speceval is named where only an allocation of it would be
	named    bool                // speceval is named anywhere
	selected map[string]selected // by the allocation; nil: the log does not say
	idBytes  int                 // of the tasks in selected
	listed   int                 // epochs in the lists of selected
	row      int                 // samples read so far
}

// whole reads a log in the .json form.
func (l *inspectLog) whole(r io.Reader) error {
	p := newPullReader(r)
	if err := l.header(p); err != nil {
		return err
	}
	return p.End()
}

// header reads header.json, start.json or a whole log: they have the same keys.
func (l *inspectLog) header(p *pullReader) error {
	return p.Object(func(key string) (err error) {
		switch key {
		case "status":
			l.status, err = p.Word()
			return err
		case "invalidated":
			invalid, err := p.Word()
			if invalid == "true" {
				l.note("the log is marked as invalidated")
			}
			return err
		case "eval":
			return l.spec(p)
		case "results":
			return l.results(p)
		case "samples":
			return l.samples(p)
		case "stats", "reductions", "error":
			return p.Skip()
		}
		return p.Walk(l.watch)
	})
}

// watch sees whether speceval is named.
func (l *inspectLog) watch(text string) {
	l.named = l.named || text == manager || strings.HasPrefix(text, manager+"/")
}

// spec reads what was evaluated.
func (l *inspectLog) spec(p *pullReader) error {
	return p.Object(func(key string) (err error) {
		switch key {
		case "task":
			l.log.Benchmark, err = p.Word()
		case "model":
			l.log.Model, err = p.Word()
		case "created":
			l.log.Created, err = p.Word()
		case "dataset":
			err = p.Skip()
		default:
			err = p.Walk(l.watch)
		}
		return err
	})
}

// results reads what an early stopping says.
func (l *inspectLog) results(p *pullReader) error {
	return object(p, func(key string) error {
		if key != "early_stopping" {
			return p.Skip()
		}
		return object(p, func(key string) (err error) {
			switch key {
			case "manager":
				l.stopping, err = p.Word()
				l.ours = l.ours || l.stopping == manager
				return err
			case "early_stops":
				return p.List(func(int) error {
					l.stops++
					return p.Object(func(key string) error {
						if key != "reason" {
							return p.Skip()
						}
						reason, err := p.Word()
						l.ours = l.ours || strings.HasPrefix(reason, manager)
						return err
					})
				})
			case "metadata":
				return object(p, func(key string) error {
					if key != manager {
						return p.Skip()
					}
					return l.allocation(p)
				})
			}
			return p.Skip()
		})
	})
}

// object reads an object, or skips what is none.
func object(p *pullReader, each func(key string) error) error {
	if p.Kind() != '{' {
		return p.Skip()
	}
	return p.Object(each)
}

// allocation reads which rollouts an allocation selected.
func (l *inspectLog) allocation(p *pullReader) error {
	l.ours = true
	return object(p, func(key string) error {
		switch key {
		case "protocol":
			protocol, err := p.Word()
			if err == nil && protocol != "1" {
				err = fmt.Errorf("its allocation is of protocol %.20q, this speceval reads 1: use a newer one", protocol)
			}
			return err
		case "selected":
			l.selected = make(map[string]selected)
			return p.Object(func(id string) (err error) {
				if l.idBytes += len(id); len(id) > maxID || l.idBytes > maxIDBytes {
					return fmt.Errorf("the task ids of its allocation are longer than %d bytes, or than %d MiB together", maxID, maxIDBytes>>20)
				}
				l.selected[id], err = l.selection(p, id)
				return err
			})
		}
		return p.Skip()
	})
}

// selected is which epochs of a task an allocation has selected: the first of them, or
// a list.
type selected struct {
	first  int
	listed []int32 // ascending; nil: the first
}

func (s selected) has(epoch int) bool {
	if s.listed != nil {
		_, listed := slices.BinarySearch(s.listed, int32(epoch)) // both at most maxNumber
		return listed
	}
	return epoch <= s.first
}

func (s selected) count() int { return max(s.first, len(s.listed)) }

// selection reads a number of epochs, or a list of them.
func (l *inspectLog) selection(p *pullReader, id string) (s selected, err error) {
	if p.Kind() != '[' {
		s.first, err = epoch(p, id)
		return s, err
	}
	s.listed = []int32{}
	err = p.List(func(int) error {
		if l.listed++; l.listed > maxRollouts {
			return fmt.Errorf("its allocation lists more than %d epochs", maxRollouts)
		}
		n, err := epoch(p, id)
		s.listed = append(s.listed, int32(n))
		return err
	})
	slices.Sort(s.listed)
	s.listed = slices.Compact(s.listed)
	return s, err
}

func epoch(p *pullReader, id string) (int, error) {
	n, err := p.Scalar()
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(n.Text)
	if err != nil || number < 0 || number > maxNumber {
		return 0, fmt.Errorf("its allocation selects %.40q of task %.40q: want a number of epochs, or a list of them", n.Text, id)
	}
	return number, nil
}

// samples reads a list of samples or of their summaries: of what is wanted they have
// the same keys.
func (l *inspectLog) samples(p *pullReader) error {
	if p.Kind() == 'n' {
		return p.Skip()
	}
	return p.List(func(int) error {
		l.row++
		if err := l.sample(p); err != nil {
			return fmt.Errorf("sample %d: %w", l.row, err)
		}
		return nil
	})
}

func (l *inspectLog) sample(p *pullReader) error {
	var id taskID
	var scores []scored
	failed := false
	r := Rollout{PromptTokens: -1, CompletionTokens: -1}
	err := p.Object(func(key string) (err error) {
		switch key {
		case "id":
			value, err := p.Scalar()
			id = value.id()
			return err
		case "epoch":
			r.Number, err = whole(p)
		case "scores":
			scores, err = l.scores(p)
		case "uuid":
			name, err := p.Word()
			r.Identity = identity(name)
			return err
		case "error":
			failed = p.Kind() != 'n'
			err = p.Skip()
		case "model_usage":
			err = l.usage(p, &r)
		default:
			err = p.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if failed {
		l.without("the sample ended in an error")
		return nil
	}
	return l.take(l.logBuilder, id, r, scores)
}

// whole is a number without a fraction.
func whole(p *pullReader) (int, error) {
	s, err := p.Scalar()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s.id().text)
	if err != nil {
		return 0, fmt.Errorf("want a whole number, have %.40q", s.Text)
	}
	return n, nil
}

// scores reads the scores of a sample, by scorers.
func (l *inspectLog) scores(p *pullReader) (all []scored, err error) {
	keep := func(name string) error {
		value, err := p.Scalar()
		if len(all) < maxNames {
			all = append(all, scored{name: name, value: value})
		}
		return err
	}
	err = object(p, func(name string) error {
		return object(p, func(key string) error {
			if key != "value" {
				return p.Skip()
			}
			if p.Kind() != '{' {
				return keep(name)
			}
			return p.Object(func(key string) error { return keep(name + "/" + key) })
		})
	})
	return all, err
}

// usage reads the tokens of the evaluated model, not those of judges. Inspect counts
// prompts from a cache apart.
func (l *inspectLog) usage(p *pullReader, r *Rollout) error {
	return object(p, func(model string) error {
		if model != l.log.Model {
			return p.Skip()
		}
		r.PromptTokens, r.CompletionTokens = 0, 0
		return object(p, func(key string) error {
			n, err := p.Scalar()
			count := int64(max(0, min(n.Number, 1<<40)))
			switch key {
			case "input_tokens", "input_tokens_cache_read", "input_tokens_cache_write":
				r.PromptTokens += count
			case "output_tokens":
				r.CompletionTokens += count
			}
			return err
		})
	})
}

// finish is the log, if only the selected rollouts of an allocation count.
func (l *inspectLog) finish() (Log, error) {
	if err := l.settle(l.logBuilder); err != nil {
		return l.log, err
	}
	log := &l.log
	log.Complete = l.status == "success"
	log.Allocated = l.ours || !log.Complete && l.stopping == "" && l.named
	switch {
	case l.stops > 0 && !log.Allocated:
		l.note("%q stopped %d of its epochs early: if it did so by their scores, their proportions are biased", l.stopping, l.stops)
	case log.Allocated && l.selected == nil:
		l.note("it is of an allocation and does not say which rollouts were selected: all that are scored count")
	}
	done, err := l.done()
	if err == nil && log.Allocated && l.selected != nil {
		err = l.keep(&done)
	}
	return done, err
}

// keep keeps the selected rollouts of an allocation alone.
func (l *inspectLog) keep(log *Log) error {
	var kept []Task
	left, lacking := 0, 0
	for _, task := range log.Tasks {
		own, all := l.selected[task.ID], len(task.Rollouts)
		task.Rollouts = slices.DeleteFunc(task.Rollouts, func(r Rollout) bool { return !own.has(r.Number) })
		left += all - len(task.Rollouts)
		lacking += own.count() - len(task.Rollouts)
		delete(l.selected, task.ID)
		if len(task.Rollouts) > 0 {
			kept = append(kept, task)
		}
	}
	for _, s := range l.selected {
		lacking += s.count()
	}
	log.Left += left
	if left > 0 {
		log.Notes = append(log.Notes, fmt.Sprintf("%d left out: the allocation did not select them", left))
	}
	if lacking > 0 {
		log.Notes = append(log.Notes, fmt.Sprintf("%d that the allocation selected are not scored", lacking))
	}
	if log.Tasks = kept; len(kept) == 0 {
		return errors.New("none of the rollouts that its allocation selected is scored")
	}
	return nil
}
