package logs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxRollouts bounds the rollouts of a log, and their numbers.
const maxRollouts = 1 << 23

// draft is the log of a benchmark and a model that is being read.
type draft struct {
	Log
	wanted  string   // name of the score that the user chose; "": the first in the log's order
	taken   string   // name of the score that counts; "" until a rollout has it
	seen    []string // names of all scores so far, for errors and notes
	refused error    // why none of the first scores can be taken

	unnamed  bool           // rows have no ids
	asked    []string       // by such rows, at their places
	unread   int            // rollouts whose judgement says neither Yes nor No, and that count as wrong
	last     bool           // of several rollouts with one number the last counts; false: they are an error
	places   map[string]int // of tasks
	numbers  []bool         // whether the id of a task is a number
	rollouts int
	selected map[string]epochs // the rollouts that an allocation selected; nil: all count
	counted  map[string]int    // notes that begin with a number
}

// without counts a rollout that is left out.
func (d *draft) without(why string) {
	d.Left++
	d.counted["left out: "+why]++
}

// note adds a note.
func (d *draft) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.Notes, text) {
		d.Notes = append(d.Notes, text)
	}
}

const unscored = "it is not scored"

// row is a rollout as a format has it, or all rollouts of a task.
type row struct {
	Rollout
	id     taskID
	left   string // why it does not count; "": it does
	scores members
	of     *responses // that the scores are of; nil: one
}

// choose chooses the score that counts by the first scores of a log: the wanted one, or the
// first. Among the parts NAME/KEY of one score none is chosen unasked.
func (d *draft) choose(scores members, of *responses) error {
	for _, s := range scores {
		if !slices.Contains(d.seen, s.name) && len(d.seen) < 64 {
			d.seen = append(d.seen, s.name)
		}
	}
	if d.taken != "" {
		return nil
	}
	var fit []string
	for _, s := range scores {
		switch name, part, _ := strings.Cut(s.name, "/"); {
		case d.wanted == s.name:
			d.taken = s.name
			return nil
		case d.wanted != "":
			if d.wanted == name || d.wanted == part {
				fit = append(fit, s.name)
			}
		case part != "" && len(fit) > 0 && strings.HasPrefix(fit[0], name+"/"):
			return fmt.Errorf("the score %s has several parts: choose one with --reward, of %s", name, strings.Join(d.seen, ", "))
		default:
			if _, err := of.share(s); err != nil {
				d.refused = cmp.Or(d.refused, err)
			} else if len(fit) == 0 {
				fit = []string{s.name}
			}
		}
	}
	if len(fit) > 1 {
		return fmt.Errorf("--reward %s is several: choose one of %s", d.wanted, strings.Join(fit, ", "))
	}
	d.taken = strings.Join(fit, "")
	return nil
}

// addScored adds a rollout with the chosen one of its scores; or all rollouts of a task, where
// that is a list of their rewards, or the share of them that passed.
func (d *draft) addScored(r row) error {
	if r.left == "" {
		if err := d.choose(r.scores, r.of); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(r.scores, func(s member) bool { return s.name == d.taken })
	switch {
	case r.left == "" && len(r.scores) == 0:
		r.left = unscored
	case r.left == "" && at < 0:
		r.left = "it has no score by the chosen scorer"
	}
	if r.left != "" {
		d.without(r.left)
		return nil
	}
	s := r.scores[at]
	n, err := r.of.share(s)
	if err != nil {
		return err
	}
	values := r.of.list(s.value)
	if values == nil {
		values = []jsontext.Value{s.value}
	}
	for k, value := range values {
		if len(values) > 1 {
			r.Number = k + 1
		}
		reward, is, err := rewardOf(s.name, value)
		switch r.Reward = reward; {
		case err != nil:
			return fmt.Errorf("task %q, rollout %d: %w", r.id, r.Number, err)
		case r.id.text == "":
			return errNoID
		case !is:
			d.without(unscored)
		case n > 0 && reward >= 0 && reward <= 1:
			err = d.addShare(r, s.name, n)
		default:
			err = d.addRollout(r.id, r.Rollout)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewardOf converts a score to a reward, from 0 to 1 if the log is sound. is is false for
// null and NaN.
func rewardOf(name string, value jsontext.Value) (reward float64, is bool, err error) {
	word, err := textOf(value)
	switch value.Kind() {
	case 0, 'n':
		return 0, false, nil
	case '[', '{':
		return 0, false, fmt.Errorf("the score %s is a list or an object: speceval needs a number", name)
	case 't', 'f':
		word = string(value)
	}
	switch strings.ToLower(word) {
	case "c", "yes", "true":
		return 1, true, err
	case "p":
		return 0.5, true, err
	case "i", "n", "no", "false":
		return 0, true, err
	}
	if reward, err = strconv.ParseFloat(word, 64); err != nil {
		return 0, false, fmt.Errorf("the score %s is %.40q: want a number, C, P, I or N", name, word)
	}
	if whole := math.Round(reward); math.Abs(reward-whole) < 1e-9 { // a sum by weights
		reward = whole
	}
	return reward, !math.IsNaN(reward), nil
}

var errNoID = errors.New("a task has no id")

// addRollout adds a rollout.
func (d *draft) addRollout(of taskID, r Rollout) error {
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
		d.places[id], d.Tasks, d.numbers = at, append(d.Tasks, Task{ID: id}), append(d.numbers, of.number)
	}
	if d.numbers[at] != of.number {
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

// finish sorts the rollouts, each there once, and says what was chosen and left out.
func (d *draft) finish() error {
	names := strings.Join(d.seen, ", ")
	switch {
	case d.taken == "" && d.refused != nil:
		return fmt.Errorf("%w (it has %s)", d.refused, names)
	case d.taken == "" && d.wanted != "" && names != "":
		return fmt.Errorf("it has no scores by %q, but by %s", d.wanted, names)
	case d.unread > 0 && d.unread == d.rollouts:
		return fmt.Errorf("no %s says Yes or No: choose another field with --reward, of %s", d.taken, names)
	case len(d.seen) > 1 && d.taken != d.wanted:
		d.note("the rewards are by %s, of %s: --reward chooses another", d.taken, names)
	}
	d.Scorer = cmp.Or(d.Scorer, d.taken)
	for i := range d.Tasks {
		if err := d.once(&d.Tasks[i]); err != nil {
			return err
		}
	}
	if d.selected != nil {
		d.keepSelected()
	}
	if d.unread > 0 {
		d.note("%d by %s say neither Yes nor No: they count as wrong, as in NeMo-Skills", d.unread, d.taken)
	}
	for _, what := range slices.Sorted(maps.Keys(d.counted)) {
		d.note("%d %s", d.counted[what], what)
	}
	if len(d.Tasks) == 0 {
		return errors.New(strings.Join(append([]string{"no rollout in it is scored"}, d.Notes...), ": "))
	}
	return nil
}

// once sorts the rollouts of a task by their numbers, and keeps one of each: copies by their ids
// count once, and of a rollout that was run again the last.
func (d *draft) once(t *Task) error {
	seen, all := make(map[uint64]bool), t.Rollouts
	if !d.last {
		all = slices.DeleteFunc(all, func(r Rollout) bool {
			again := r.Identity != 0 && seen[r.Identity]
			if seen[r.Identity] = true; again {
				d.counted["of the rollouts are copies by their ids: each counts once"]++
			}
			return again
		})
	}
	slices.SortStableFunc(all, func(a, b Rollout) int { return cmp.Compare(a.Number, b.Number) })
	t.Rollouts = all[:0]
	for k, r := range all {
		switch {
		case k+1 == len(all) || all[k+1].Number != r.Number:
			t.Rollouts = append(t.Rollouts, r)
		case !d.last:
			return fmt.Errorf("task %q has rollout %d twice: remove one of them, or import them apart", t.ID, r.Number)
		default:
			d.counted["of the rollouts are there again later in the log: the last of each counts"]++
		}
	}
	return nil
}
