package logs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scored is a score of a rollout, by the name of its scorer or metric: NAME, or
// NAME/KEY of a score that has several parts.
type scored struct {
	name    string
	value   jsontext.Value
	each    []jsontext.Value // the values of a task's rollouts, where it is one for each
	share   int              // the value is the share of so many rollouts that passed; 0: it is of one
	refused error            // why the value is no reward
}

// unscored is why a score is no reward.
const unscored = "it is not scored"

// reward is what a score is as a reward, from 0 to 1 if the log is sound; is is false
// where the log says that there is none.
func (s scored) reward() (reward float64, is bool, err error) {
	switch s.value.Kind() {
	case 0, 'n':
		return 0, false, nil
	case 't':
		return 1, true, nil
	case 'f':
		return 0, true, nil
	case '[', '{':
		return 0, false, fmt.Errorf("the score %s is a list or an object: speceval needs a number", s.name)
	}
	text, err := textOf(s.value)
	switch strings.ToLower(text) {
	case "c", "yes", "true":
		return 1, true, err
	case "p":
		return 0.5, true, err
	case "i", "n", "no", "false":
		return 0, true, err
	}
	if reward, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, false, fmt.Errorf("the score %s is %.40q: want a number, C, P, I or N", s.name, text)
	}
	return reward, !math.IsNaN(reward), nil
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
	at := slices.IndexFunc(scores, func(s scored) bool { return s.name == c.taken })
	if at < 0 {
		return nil, nil
	}
	return &scores[at], nil
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
		name, key, _ := strings.Cut(s.name, "/")
		switch c.wanted {
		case s.name:
			c.taken = s.name
			return nil
		case name, key:
			fit = append(fit, s.name)
		}
	}
	switch len(fit) {
	case 0:
		return nil
	case 1:
		c.taken = fit[0]
		return nil
	}
	return fmt.Errorf("--reward %s is several: choose one of %s", c.wanted, strings.Join(fit, ", "))
}

// settle says at the end of a log what was chosen of what.
func (c *chooser) settle(d *draft) error {
	switch {
	case c.taken == "" && c.refused != nil:
		return fmt.Errorf("%w (it has %s)", c.refused, strings.Join(c.seen, ", "))
	case c.taken == "" && c.wanted != "" && len(c.seen) > 0:
		return fmt.Errorf("it has no scores by %q, but by %s", c.wanted, strings.Join(c.seen, ", "))
	case len(c.seen) > 1 && c.taken != c.wanted:
		d.note("the rewards are by %s, of %s: --reward chooses another", c.taken, strings.Join(c.seen, ", "))
	}
	d.Scorer = cmp.Or(d.Scorer, c.taken)
	return nil
}

// take adds a rollout with the chosen one of its scores.
func (d *draft) take(id taskID, r Rollout, scores []scored) error {
	score, err := d.choose(scores)
	switch {
	case err != nil:
		return err
	case score == nil && len(scores) > 0:
		d.without("it has no score by the chosen scorer")
		return nil
	case score == nil:
		d.without(unscored)
		return nil
	case score.refused != nil:
		return score.refused
	case score.share > 0:
		return d.takeShare(id, r, score)
	case score.each == nil:
		return d.takeOne(id, r, *score)
	}
	for k, value := range score.each {
		r.Number = k + 1
		if err := d.takeOne(id, r, scored{name: score.name, value: value}); err != nil {
			return err
		}
	}
	return nil
}

// takeOne adds a rollout that has one score.
func (d *draft) takeOne(id taskID, r Rollout, s scored) error {
	reward, is, err := s.reward()
	switch {
	case err != nil:
		return fmt.Errorf("task %q, rollout %d: %w", id.text, r.Number, err)
	case !is && id.text == "":
		return errors.New("a task has no id")
	case !is:
		d.without(unscored)
		return nil
	}
	r.Reward = reward
	return d.add(id, r)
}

// takeShare adds rollouts of a task, of which a share passed.
func (d *draft) takeShare(id taskID, r Rollout, s *scored) error {
	share, is, err := s.reward()
	if err != nil || !is {
		return d.takeOne(id, r, scored{name: s.name, value: s.value})
	}
	n := s.share
	passed := math.Round(share * float64(n))
	if math.Abs(share*float64(n)-passed) > 1e-6*float64(n) || n > maxRollouts {
		return fmt.Errorf("task %q: %s is %v, which no number of passes among %d responses is", id.text, s.name, share, n)
	}
	if share < 0 || share > 1 {
		return d.takeOne(id, r, scored{name: s.name, value: s.value})
	}
	for k := range n {
		r.Number, r.Reward = k+1, 0
		if float64(k) < passed {
			r.Reward = 1
		}
		if err := d.add(id, r); err != nil {
			return err
		}
	}
	if n > 1 {
		d.note("%s is the share of a task's responses that passed: each response is a rollout", s.name)
	}
	return nil
}
