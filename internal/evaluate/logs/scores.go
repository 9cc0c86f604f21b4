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

// scored is a score by the name of its scorer or metric: NAME, or NAME/KEY for a part of a
// score that has several.
type scored struct {
	name    string
	values  []jsontext.Value // of one rollout, or of each of a task's
	share   int              // rollouts that the value is a share of; 0: it is of one
	refused error            // why the value is no reward
}

func scoreOf(name string, value jsontext.Value) scored {
	return scored{name: name, values: []jsontext.Value{value}}
}

const unscored = "it is not scored"

// rewardOf converts a score to a reward, from 0 to 1 if the log is sound. is is false for
// null and NaN.
func rewardOf(name string, value jsontext.Value) (reward float64, is bool, err error) {
	text, err := textOf(value)
	switch value.Kind() {
	case 0, 'n':
		return 0, false, nil
	case '[', '{':
		return 0, false, fmt.Errorf("the score %s is a list or an object: speceval needs a number", name)
	case 't', 'f':
		text = string(value)
	}
	switch strings.ToLower(text) {
	case "c", "yes", "true":
		return 1, true, err
	case "p":
		return 0.5, true, err
	case "i", "n", "no", "false":
		return 0, true, err
	}
	if reward, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, false, fmt.Errorf("the score %s is %.40q: want a number, C, P, I or N", name, text)
	}
	return reward, !math.IsNaN(reward), nil
}

// choice is the score that all rollouts of a log have in common.
type choice struct {
	wanted  string   // by the user; "": the first in the log's order
	taken   string   // "" until the first rollout
	seen    []string // names of all scores so far
	refused error    // why none of the first scores can be taken
}

// see keeps the name of a score for errors and notes.
func (c *choice) see(name string) {
	if !slices.Contains(c.seen, name) && len(c.seen) < 64 {
		c.seen = append(c.seen, name)
	}
}

// of returns the chosen one of a rollout's scores, nil if it has none of that name.
func (c *choice) of(scores []scored) (*scored, error) {
	for _, s := range scores {
		c.see(s.name)
	}
	if c.taken == "" {
		if err := c.take(scores); err != nil {
			return nil, err
		}
	}
	at := slices.IndexFunc(scores, func(s scored) bool { return s.name == c.taken })
	if at < 0 {
		return nil, nil
	}
	return &scores[at], nil
}

// take chooses among the first scores. Among the parts of one score none is taken unasked.
func (c *choice) take(scores []scored) error {
	var fit []string
	for _, s := range scores {
		name, key, _ := strings.Cut(s.name, "/")
		switch {
		case c.wanted == s.name:
			c.taken = s.name
			return nil
		case c.wanted != "":
			if c.wanted == name || c.wanted == key {
				fit = append(fit, s.name)
			}
		case key != "" && len(fit) > 0 && strings.HasPrefix(fit[0], name+"/"):
			return fmt.Errorf("the score %s has several parts: choose one with --reward, of %s", name, strings.Join(c.seen, ", "))
		case s.refused != nil:
			c.refused = cmp.Or(c.refused, s.refused)
		case len(fit) == 0:
			fit = []string{s.name}
		}
	}
	if len(fit) > 1 {
		return fmt.Errorf("--reward %s is several: choose one of %s", c.wanted, strings.Join(fit, ", "))
	}
	c.taken = strings.Join(fit, "")
	return nil
}

// take adds a rollout with the chosen one of its scores, or all rollouts of a task where the
// score is of several.
func (d *draft) take(id taskID, r Rollout, scores []scored) error {
	s, err := d.choice.of(scores)
	switch {
	case err != nil:
		return err
	case s == nil && len(scores) > 0:
		d.without("it has no score by the chosen scorer")
		return nil
	case s == nil:
		d.without(unscored)
		return nil
	case s.refused != nil:
		return s.refused
	}
	for k, value := range s.values {
		if len(s.values) > 1 {
			r.Number = k + 1
		}
		reward, is, err := rewardOf(s.name, value)
		switch {
		case err != nil:
			return fmt.Errorf("task %q, rollout %d: %w", id.text, r.Number, err)
		case !is && id.text == "":
			return errNoID
		case !is:
			d.without(unscored)
			continue
		}
		if r.Reward = reward; s.share > 0 && reward >= 0 && reward <= 1 {
			err = d.addShare(id, r, s)
		} else {
			err = d.add(id, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addShare adds as many rollouts as a share is of; the reward of r is the share that passed.
func (d *draft) addShare(id taskID, r Rollout, s *scored) error {
	share, n := r.Reward, s.share
	passed := math.Round(share * float64(n))
	if math.Abs(share*float64(n)-passed) > 1e-6*float64(n) || n > maxRollouts {
		return fmt.Errorf("task %q: %s is %v, which no number of passes among %d responses is", id.text, s.name, share, n)
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

var errNoID = errors.New("a task has no id")
