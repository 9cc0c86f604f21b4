package logs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/files"
)

// maxRollouts bounds the rollouts of a log, and their numbers.
const maxRollouts = 1 << 23

// book collects the logs of one place while its files are read.
type book struct {
	Choice
	format format
	order  int    // among formats
	source string // the file, or the place of several
	paths  []string
	drafts []*draft
	at     map[[2]string]*draft
	nemo   nemoLog // of NeMo-Skills
}

// draft is the log of a benchmark and a model that is being read.
type draft struct {
	Log
	choice
	last     bool           // of several rollouts with one number the last counts; false: they are an error
	places   map[string]int // of tasks
	numeric  []bool         // by task: its id is a number
	rollouts int
	selected map[string]epochs // the rollouts that an allocation selected; nil: all count
	left     map[string]int    // rollouts that are left out, by why
}

// draft returns the log of a benchmark and model, a new one for the first row.
func (b *book) draft(benchmark, model string) *draft {
	key := [2]string{benchmark, model}
	if b.at[key] == nil {
		b.at[key] = &draft{
			Log:    Log{Format: b.format.name, Source: b.source, Benchmark: benchmark, Model: model, Complete: true},
			choice: choice{wanted: b.Reward}, places: make(map[string]int), left: make(map[string]int),
		}
		b.drafts = append(b.drafts, b.at[key])
	}
	return b.at[key]
}

// logs returns all logs of the place.
func (b *book) logs() (all []Log, err error) {
	var digests []string
	for _, path := range b.paths {
		d, err := files.DigestOf("", path)
		if err != nil {
			return nil, err
		}
		digests = append(digests, d.SHA256)
	}
	slices.Sort(digests)
	sum := sha256.Sum256([]byte(strings.Join(digests, " ")))
	for _, d := range b.drafts {
		d.Digest = hex.EncodeToString(sum[:])
		if err := d.finish(); err != nil {
			return nil, err
		}
		all = append(all, d.Log)
	}
	if len(all) == 0 {
		err = errors.New("no rollout in it is scored")
	}
	return all, err
}

// without counts a rollout that is left out.
func (d *draft) without(why string) {
	d.Left++
	d.left[why]++
}

// note adds a note.
func (d *draft) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.Notes, text) {
		d.Notes = append(d.Notes, text)
	}
}

// taskID is the id of a task as a log writes it. The number 1 and the text "1" are two
// ids, 1.0 is the number 1.
type taskID struct {
	text   string // "" if there is none
	number bool
}

func (id *taskID) UnmarshalJSON(v []byte) (err error) {
	id.number = jsontext.Value(v).Kind() == '0'
	id.text, err = textOf(v)
	if n, fault := strconv.ParseFloat(id.text, 64); id.number && fault == nil && math.Abs(n) < 1<<53 && n == math.Trunc(n) {
		id.text = strconv.FormatInt(int64(n), 10)
	}
	return err
}

// idOf is the id of a value, none of nil.
func idOf(v jsontext.Value) (id taskID, err error) {
	if v != nil {
		err = id.UnmarshalJSON(v)
	}
	return id, err
}

// add adds a rollout.
func (d *draft) add(of taskID, r Rollout) error {
	id := of.text
	switch {
	case id == "":
		return errNoID
	case r.Number < 1 || r.Number > maxRollouts:
		return fmt.Errorf("task %q: the rollout's number %d is outside 1 to %d", id, r.Number, maxRollouts)
	case !(r.Reward >= 0 && r.Reward <= 1):
		return fmt.Errorf("task %q, rollout %d: the reward %v is outside 0 to 1: speceval needs rewards from 0 to 1", id, r.Number, r.Reward)
	case d.rollouts == maxRollouts:
		return fmt.Errorf("the log has more than %d rollouts", maxRollouts)
	}
	at, there := d.places[id]
	if !there {
		at = len(d.Tasks)
		d.places[id] = at
		d.Tasks, d.numeric = append(d.Tasks, Task{ID: id}), append(d.numeric, of.number)
	}
	if d.numeric[at] != of.number {
		return fmt.Errorf("the ids %s and %q are both in the log, a number and a text: they would count as one task; rename one of them", id, id)
	}
	d.Tasks[at].Rollouts = append(d.Tasks[at].Rollouts, r)
	d.rollouts++
	return nil
}

// next is the number of the next rollout of a task where the log does not number them.
func (d *draft) next(id taskID) int {
	if at, there := d.places[id.text]; there {
		return len(d.Tasks[at].Rollouts) + 1
	}
	return 1
}

// identity is a hash of the log's name for a rollout, 0 if it has none.
func identity(name string) uint64 {
	if name == "" {
		return 0
	}
	sum := fnv.New64a()
	sum.Write([]byte(name))
	return sum.Sum64()
}

// finish sorts the rollouts, each there once, and says what was chosen and left out.
func (d *draft) finish() error {
	names := strings.Join(d.seen, ", ")
	switch {
	case d.taken == "" && d.refused != nil:
		return fmt.Errorf("%w (it has %s)", d.refused, names)
	case d.taken == "" && d.wanted != "" && names != "":
		return fmt.Errorf("it has no scores by %q, but by %s", d.wanted, names)
	case len(d.seen) > 1 && d.taken != d.wanted:
		d.note("the rewards are by %s, of %s: --reward chooses another", d.taken, names)
	}
	d.Scorer = cmp.Or(d.Scorer, d.taken)
	repeated, copies := 0, 0
	for i := range d.Tasks {
		task := &d.Tasks[i]
		seen := make(map[uint64]bool)
		all := slices.DeleteFunc(task.Rollouts, func(r Rollout) bool {
			again := !d.last && r.Identity != 0 && seen[r.Identity]
			if seen[r.Identity] = true; again {
				copies++
			}
			return again
		})
		slices.SortStableFunc(all, func(a, b Rollout) int { return cmp.Compare(a.Number, b.Number) })
		task.Rollouts = all[:0]
		for k, r := range all {
			if k+1 == len(all) || all[k+1].Number != r.Number {
				task.Rollouts = append(task.Rollouts, r)
			} else if repeated++; !d.last {
				return fmt.Errorf("task %q has rollout %d twice: remove one of them, or import them apart", task.ID, r.Number)
			}
		}
	}
	if repeated > 0 {
		d.note("%d of the rollouts are there again later in the log: the last of each counts", repeated)
	}
	if copies > 0 {
		d.note("%d of the rollouts are copies by their ids: each counts once", copies)
	}
	if d.selected != nil {
		d.keepSelected()
	}
	for _, why := range slices.Sorted(maps.Keys(d.left)) {
		d.note("%d left out: %s", d.left[why], why)
	}
	if len(d.Tasks) == 0 {
		return errors.New(strings.Join(append([]string{"no rollout in it is scored"}, d.Notes...), ": "))
	}
	return nil
}
