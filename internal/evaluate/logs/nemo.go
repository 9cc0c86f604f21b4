package logs

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// nemo is eval-results/<benchmark>/output-rs<k>.jsonl of NeMo-Skills: a file for every
// repeat, with a row for every problem.
var nemo = format{
	name: "nemo-skills",
	is: func(path string, h head) (string, bool) {
		return filepath.Dir(path), nemoFile.MatchString(filepath.Base(path)) && h.has("generation")
	},
	read: readNemo,
	done: func(b *book) error { return b.fields.settled(b.drafts[0]) },
}

// Fields of a row that say whether it is correct, the first ones before others. Other
// truth values say something else: generation_finished, truncated.
var (
	nemoFile       = regexp.MustCompile(`^output(?:-rs(\d{1,6}))?\.jsonl$`)
	verdictField   = regexp.MustCompile(`^(symbolic_correct|judge_correct|is_correct(-.+)?|correct|passed)$`)
	judgementField = regexp.MustCompile(`^judge?ment([-_].+)?$`)
	judgeWord      = regexp.MustCompile(`(?i)judge?ment\W*:\W*(yes|no)\b`) // "Reasoning: … **Judgement**: Yes"
	bareWord       = regexp.MustCompile(`(?i)^\W*(yes|no|true|false|correct|incorrect)\W*$`)
	firstFields    = []string{"symbolic_correct", "judge_correct", "is_correct"}
)

// nemoFields are what the rows of all files of a benchmark have.
type nemoFields struct {
	named              bool     // the first row has an id
	unknown            []string // fields that may be a verdict
	readable, unworded int      // judgements with and without a verdict
}

// nemoRow is a row, in the log that it is of.
type nemoRow struct {
	*draft
	*nemoFields
	members
}

func readNemo(b *book, path string) error {
	d, err := b.draft(folder(path, 0), "")
	if err != nil {
		return err
	}
	repeat := 0
	if match := nemoFile.FindStringSubmatch(filepath.Base(path)); match != nil {
		repeat, _ = strconv.Atoi(match[1]) // "" is 0
	}
	place := 0
	return rows(path, func(fields *members) error {
		row := nemoRow{d, &b.fields, *fields}
		id, err := row.id(place)
		if err != nil {
			return err
		}
		place++
		reward, is, err := row.reward()
		switch {
		case err != nil:
			return fmt.Errorf("task %q: %w", id.text, err)
		case !is:
			d.without(unscored)
			return nil
		}
		return d.add(id, Rollout{Number: repeat + 1, Reward: reward, PromptTokens: fields.tokens("num_input_tokens"), CompletionTokens: fields.tokens("num_generated_tokens")})
	})
}

// id is the id of a row, or its place in its file if the rows have none.
func (n nemoRow) id(place int) (id taskID, err error) {
	for _, name := range []string{"id", "problem_id", "task_id", "index"} {
		if id, err = idOf(n.of(name)); err != nil || id.text != "" {
			break
		}
	}
	if err != nil {
		return id, err
	}
	named := id.text != ""
	if n.rollouts+n.Left == 0 {
		n.named = named
	}
	if !named {
		id = taskID{strconv.Itoa(place), true}
		n.note("the rows have no ids: tasks are called by their place, from 0")
	}
	if named != n.named {
		err = errors.New("some rows have an id and others have none")
	}
	return id, err
}

// reward is the reward of a row: the field that was asked for, or all that are known to
// be a verdict, which must agree.
func (n nemoRow) reward() (reward float64, is bool, err error) {
	names := slices.Clone(firstFields)
	for _, m := range n.members {
		names = append(names, m.name)
	}
	var known []string
	answers := n.of("expected_judgement") != nil // the answer itself is a judgement
	for _, name := range names {
		value := n.of(name)
		switch {
		case value == nil || slices.Contains(known, name):
		case verdictField.MatchString(name), judgementField.MatchString(name) && !answers:
			known = append(known, name)
			n.see(name)
		case verdictLike(value) && len(n.unknown) < maxNames && !slices.Contains(n.unknown, name):
			n.unknown = append(n.unknown, name)
		}
	}
	if n.wanted != "" {
		value := n.within(n.wanted)
		if value == nil {
			return 0, false, nil
		}
		n.taken = n.wanted
		return n.verdict(n.wanted, value)
	}
	if n.taken == "" {
		at := slices.IndexFunc(known, func(name string) bool { return n.of(name).Kind() != 'n' })
		if at < 0 {
			return 0, false, nil
		}
		n.taken = known[at]
	}
	if reward, is, err = n.verdict(n.taken, n.of(n.taken)); err != nil {
		return 0, false, err
	}
	for _, name := range known {
		other, says, err := verdict(name, n.of(name))
		if name == n.taken || err != nil || !says || is && other == reward {
			continue
		}
		said := "nothing"
		if is {
			said = fmt.Sprint(reward)
		}
		return 0, false, fmt.Errorf("%s says %s and %s says %v: choose one with --reward, of %s", n.taken, said, name, other, strings.Join(n.seen, ", "))
	}
	return reward, is, nil
}

// verdict is what the chosen field says. A judgement without a verdict counts as wrong,
// as NeMo-Skills counts it.
func (n nemoRow) verdict(name string, value jsontext.Value) (reward float64, is bool, err error) {
	reward, is, err = verdict(name, value)
	if !judgementField.MatchString(name) || value.Kind() != '"' {
		return reward, is, err
	}
	if err != nil {
		n.unworded++
		return 0, true, nil
	}
	n.readable++
	return reward, is, nil
}

// settled reports after the last file what was chosen, or why nothing can be.
func (n *nemoFields) settled(d *draft) error {
	choices := strings.Join(slices.Concat(d.seen, n.unknown), ", ")
	switch {
	case d.taken == "" && d.wanted != "":
		return fmt.Errorf("it has no field %q: --reward takes one of %s", d.wanted, choices)
	case d.taken == "" && len(d.seen) == 0:
		return fmt.Errorf("no field of its rows is known to be the reward: choose one with --reward, of %s", choices)
	case n.unworded > 0 && n.readable == 0:
		return fmt.Errorf("no %s says Yes or No: choose another field with --reward, of %s", d.taken, choices)
	case n.unworded > 0:
		d.note("%d by %s say neither Yes nor No: they count as wrong, as in NeMo-Skills", n.unworded, d.taken)
	}
	return nil
}

// judged is the verdict in a judgement, "" if there is none. The last one counts.
func judged(text string) string {
	found := bareWord.FindStringSubmatch(text)
	if all := judgeWord.FindAllStringSubmatch(text, -1); len(all) > 0 {
		found = all[len(all)-1]
	}
	if found == nil {
		return ""
	}
	return strings.ToLower(found[1])
}

// verdict is what a field says as a reward; says is false if it is null.
func verdict(name string, value jsontext.Value) (reward float64, says bool, err error) {
	text, err := textOf(value)
	if value.Kind() != '"' || err != nil {
		return rewardOf(name, value)
	}
	switch word := judged(text); {
	case word == "yes" || word == "true" || word == "correct":
		return 1, true, nil
	case word != "":
		return 0, true, nil
	case judgementField.MatchString(name):
		return 0, false, fmt.Errorf("%s has no verdict", name)
	}
	return rewardOf(name, value)
}

// verdictLike reports whether a value may be a reward.
func verdictLike(value jsontext.Value) bool {
	text, _ := textOf(value)
	number, err := strconv.ParseFloat(text, 64)
	switch value.Kind() {
	case 't', 'f':
		return true
	case '0':
		return err == nil && number >= 0 && number <= 1
	}
	return judged(text) != ""
}
