package harness

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/harness/pull"
)

// scored is a score of a rollout, by the name of its scorer or metric: NAME, or
// NAME/KEY of a score that has several parts.
type scored struct {
	name  string
	value pull.Scalar
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
	wanted string   // by the user
	taken  string   // "" until the first rollout
	seen   []string // all names so far
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
		first, _, parts := strings.Cut(scores[0].name, "/")
		if parts && slices.ContainsFunc(scores[1:], func(s scored) bool { return strings.HasPrefix(s.name, first+"/") }) {
			return fmt.Errorf("the score %s has several parts: choose one with --scorer, of %s", first, strings.Join(c.seen, ", "))
		}
		c.taken = scores[0].name
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
		return fmt.Errorf("--scorer %s is several: choose one of %s", c.wanted, strings.Join(fit, ", "))
	}
	if len(fit) == 1 {
		c.taken = fit[0]
	}
	return nil
}

// settle says at the end of a log what was chosen of what.
func (c *chooser) settle(t *tally) error {
	if c.taken == "" && c.wanted != "" && len(c.seen) > 0 {
		return fmt.Errorf("it has no scores by %q, but by %s", c.wanted, strings.Join(c.seen, ", "))
	}
	t.log.Scorer = c.taken
	if len(c.seen) > 1 && c.taken != c.wanted {
		t.note("the rewards are by %s, of %s: --scorer chooses another", c.taken, strings.Join(c.seen, ", "))
	}
	return nil
}
