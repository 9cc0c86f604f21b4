package harness

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxID       = 1 << 10  // bytes of the id of a task
	maxIDBytes  = 64 << 20 // of all tasks of a log
	maxRollouts = 1 << 23  // of a log
	maxNumber   = 1 << 30  // of a rollout
	maxNames    = 64       // scorers or metrics that an error lists
)

// logBuilder collects the rollouts of a log while it is read.
type logBuilder struct {
	log      Log
	last     bool           // of several rollouts with one number the last counts; false: they are an error
	at       map[string]int // places of tasks
	numbers  []bool         // by task, whether its id is a number
	idBytes  int
	rollouts int
	lacking  []count  // why rollouts are left out, in the order of their first
	digests  []string // of the files
	file     string   // the last of these
}

// count is how many there are of something.
type count struct {
	what string
	n    int
}

func newLogBuilder(log Log) *logBuilder { return &logBuilder{log: log, at: make(map[string]int)} }

// without counts a rollout that is left out.
func (t *logBuilder) without(why string) {
	t.log.Left++
	at := slices.IndexFunc(t.lacking, func(c count) bool { return c.what == why })
	if at < 0 {
		if at = len(t.lacking); at == maxNames {
			return
		}
		t.lacking = append(t.lacking, count{what: why})
	}
	t.lacking[at].n++
}

// note adds a note.
func (t *logBuilder) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.log.Notes, text) && len(t.log.Notes) < maxNames {
		t.log.Notes = append(t.log.Notes, text)
	}
}

// taskID is the id of a task as a log writes it. The number 1 and the text "1" are two ids.
type taskID struct {
	text   string // "" if there is none
	number bool
}

// id is a value as the id of a task. 1.0 is the number 1.
func (s scalar) id() taskID {
	if s.Kind != '0' {
		return taskID{text: s.Text}
	}
	if math.Abs(s.Number) < 1<<53 && s.Number == math.Trunc(s.Number) {
		return taskID{strconv.FormatInt(int64(s.Number), 10), true}
	}
	return taskID{s.Text, true}
}

// add adds a rollout.
func (t *logBuilder) add(of taskID, r Rollout) error {
	id := of.text
	switch {
	case id == "":
		return errors.New("a task has no id")
	case len(id) > maxID:
		return fmt.Errorf("the task id %.40q… is longer than %d bytes", id, maxID)
	case r.Number < 1 || r.Number > maxNumber:
		return fmt.Errorf("task %q: the rollout's number %d is outside 1 to %d", id, r.Number, maxNumber)
	case !(r.Reward >= 0 && r.Reward <= 1):
		return fmt.Errorf("task %q, rollout %d: the reward %v is outside 0 to 1: speceval needs rewards from 0 to 1", id, r.Number, r.Reward)
	case t.rollouts == maxRollouts:
		return fmt.Errorf("the log has more than %d rollouts", maxRollouts)
	}
	at, there := t.at[id]
	if !there {
		if t.idBytes += len(id); t.idBytes > maxIDBytes {
			return fmt.Errorf("the ids of the log's tasks are longer than %d MiB together", maxIDBytes>>20)
		}
		at = len(t.log.Tasks)
		t.at[id] = at
		t.log.Tasks = append(t.log.Tasks, Task{ID: id})
		t.numbers = append(t.numbers, of.number)
	}
	if t.numbers[at] != of.number {
		return fmt.Errorf("the ids %s and %q are both in the log, a number and a text: they would count as one task; rename one of them", id, id)
	}
	task := &t.log.Tasks[at]
	task.Rollouts = append(task.Rollouts, r)
	t.rollouts++
	return nil
}

// from keeps what the log is read from.
func (t *logBuilder) from(f *file) error {
	digest, err := f.sha256()
	t.file, t.digests = f.path, append(t.digests, digest)
	return err
}

// identity is the number for what the log calls a rollout, 0 if it has no name.
func identity(name string) uint64 {
	if name == "" {
		return 0
	}
	sum := fnv.New64a()
	sum.Write([]byte(name))
	return sum.Sum64()
}

// next is the number that the next rollout of a task would have, if they are numbered
// as they come.
func (t *logBuilder) next(id taskID) int {
	if at, there := t.at[id.text]; there {
		return len(t.log.Tasks[at].Rollouts) + 1
	}
	return 1
}

// done is the log, its rollouts sorted and each there once.
func (t *logBuilder) done() (Log, error) {
	repeated, copies := 0, 0
	for i := range t.log.Tasks {
		task := &t.log.Tasks[i]
		seen := make(map[uint64]bool)
		task.Rollouts = slices.DeleteFunc(task.Rollouts, func(r Rollout) bool {
			copied := !t.last && r.Identity != 0 && seen[r.Identity]
			seen[r.Identity] = true
			if copied {
				copies++
			}
			return copied
		})
		slices.SortStableFunc(task.Rollouts, func(a, b Rollout) int { return cmp.Compare(a.Number, b.Number) })
		kept := task.Rollouts[:0]
		for k, r := range task.Rollouts {
			if k+1 < len(task.Rollouts) && task.Rollouts[k+1].Number == r.Number {
				if repeated++; !t.last {
					return t.log, fmt.Errorf("task %q has rollout %d twice: remove one of them, or import them apart", task.ID, r.Number)
				}
				continue
			}
			kept = append(kept, r)
		}
		task.Rollouts = kept
	}
	slices.Sort(t.digests)
	all := sha256.Sum256([]byte(strings.Join(t.digests, " ")))
	t.log.Digest = hex.EncodeToString(all[:])
	if repeated > 0 {
		t.note("%d of the rollouts are there again later in the log: the last of each counts", repeated)
	}
	if copies > 0 {
		t.note("%d of the rollouts are copies by their ids: each counts once", copies)
	}
	for _, c := range t.lacking {
		t.note("%d left out: %s", c.n, c.what)
	}
	if len(t.log.Tasks) == 0 {
		text := "no rollout in it is scored"
		if len(t.lacking) > 0 {
			text += ": " + strings.Join(t.log.Notes, "; ")
		}
		return t.log, errors.New(text)
	}
	return t.log, nil
}

// take adds a rollout with the chosen one of its scores.
func (c *chooser) take(t *logBuilder, id taskID, r Rollout, scores []scored) error {
	score, err := c.choose(scores)
	switch {
	case err != nil:
		return err
	case score == nil && len(scores) > 0:
		t.without("it has no score by the chosen scorer")
		return nil
	case score == nil:
		t.without(unscored)
		return nil
	}
	if score.refused != nil {
		return score.refused
	}
	for k, value := range score.each {
		one := r
		one.Number = k + 1
		if err := c.take(t, id, one, []scored{{name: score.name, value: value}}); err != nil {
			return err
		}
	}
	if score.each != nil {
		return nil
	}
	reward, is, err := score.reward()
	if err != nil {
		return fmt.Errorf("task %q, rollout %d: %w", id.text, r.Number, err)
	}
	if !is {
		t.without(unscored)
		return nil
	}
	if score.share > 0 {
		return t.shared(id, r, score.name, reward, score.share)
	}
	r.Reward = reward
	return t.add(id, r)
}

// scored is a score of a rollout, by the name of its scorer or metric: NAME, or
// NAME/KEY of a score that has several parts.
type scored struct {
	name    string
	value   scalar
	each    []scalar // the values of a task's rollouts, where it is one for each
	share   int      // the value is the share of so many rollouts that passed; 0: it is of one
	refused error    // why the value is no reward
}

// unscored is why a score is no reward.
const unscored = "it is not scored"

// reward is what a score is as a reward, from 0 to 1 if the log is sound; scored is
// false where the log says that there is none.
func (s scored) reward() (reward float64, scored bool, err error) {
	switch v := s.value; v.Kind {
	case 'n':
		return 0, false, nil
	case 't':
		return 1, true, nil
	case 'f':
		return 0, true, nil
	case '0':
		return v.Number, !math.IsNaN(v.Number), nil
	case '"':
		reward, err := worded(v.Text)
		if err != nil {
			err = fmt.Errorf("the score %s is %.40q: want a number, C, P, I or N", s.name, v.Text)
		}
		return reward, !math.IsNaN(reward), err
	}
	return 0, false, fmt.Errorf("the score %s is a list or an object: speceval needs a number", s.name)
}

// worded is a score that is a text.
func worded(text string) (float64, error) {
	switch strings.ToLower(text) {
	case "c", "yes", "true":
		return 1, nil
	case "p":
		return 0.5, nil
	case "i", "n", "no", "false":
		return 0, nil
	}
	return strconv.ParseFloat(text, 64)
}

// chooser chooses one of the scores that rollouts have, the same of all.
type chooser struct {
	wanted  string   // by the user
	taken   string   // "" until the first rollout
	seen    []string // all names so far
	refused error    // why none of the first scores can be chosen
}

// see keeps a name for errors and notes.
func (c *chooser) see(name string) {
	if len(c.seen) < maxNames && !slices.Contains(c.seen, name) {
		c.seen = append(c.seen, name)
	}
}

// choose is the chosen one of a rollout's scores, nil if it has none of that name. The
// order of scores is the log's; among the parts of one score none is chosen unasked.
func (c *chooser) choose(scores []scored) (*scored, error) {
	for _, s := range scores {
		c.see(s.name)
	}
	if c.taken == "" && len(scores) > 0 {
		if err := c.decide(scores); err != nil {
			return nil, err
		}
	}
	for i := range scores {
		if scores[i].name == c.taken {
			return &scores[i], nil
		}
	}
	return nil, nil
}

// decide decides by the first scores.
func (c *chooser) decide(scores []scored) error {
	if c.wanted == "" {
		at := slices.IndexFunc(scores, func(s scored) bool { return s.refused == nil })
		if at < 0 {
			c.refused = cmp.Or(c.refused, scores[0].refused)
			return nil
		}
		first, _, parts := strings.Cut(scores[at].name, "/")
		if parts && slices.ContainsFunc(scores[at+1:], func(s scored) bool { return strings.HasPrefix(s.name, first+"/") }) {
			return fmt.Errorf("the score %s has several parts: choose one with --reward, of %s", first, strings.Join(c.seen, ", "))
		}
		c.taken = scores[at].name
		return nil
	}
	var fit []string
	for _, s := range scores {
		if s.name == c.wanted {
			c.taken = s.name
			return nil
		}
		if name, key, _ := strings.Cut(s.name, "/"); name == c.wanted || key == c.wanted {
			fit = append(fit, s.name)
		}
	}
	if len(fit) > 1 {
		return fmt.Errorf("--reward %s is several: choose one of %s", c.wanted, strings.Join(fit, ", "))
	}
	if len(fit) == 1 {
		c.taken = fit[0]
	}
	return nil
}

// settle says at the end of a log what was chosen of what.
func (c *chooser) settle(t *logBuilder) error {
	if c.taken == "" && c.refused != nil {
		return fmt.Errorf("%w (it has %s)", c.refused, strings.Join(c.seen, ", "))
	}
	if c.taken == "" && c.wanted != "" && len(c.seen) > 0 {
		return fmt.Errorf("it has no scores by %q, but by %s", c.wanted, strings.Join(c.seen, ", "))
	}
	t.log.Scorer = c.taken
	if len(c.seen) > 1 && c.taken != c.wanted {
		t.note("the rewards are by %s, of %s: --reward chooses another", c.taken, strings.Join(c.seen, ", "))
	}
	return nil
}
