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
	done: func(b *book) error { return b.nemo.check() },
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

// nemoLog is the log of a benchmark, and properties of the rows of all of its files.
type nemoLog struct {
	*draft
	named              bool     // the first row has an id
	others             []string // fields that are not known and may be a verdict
	readable, unworded int      // judgements with and without a verdict
}

func readNemo(b *book, path string) error {
	d, err := b.draft(folder(path, 0), "")
	if err != nil {
		return err
	}
	b.nemo.draft = d
	repeat := 0
	if match := nemoFile.FindStringSubmatch(filepath.Base(path)); match != nil {
		repeat, _ = strconv.Atoi(match[1]) // "" is 0
	}
	place := 0
	return rows(path, func(row *members) error {
		id, err := b.nemo.id(*row, place)
		if err != nil {
			return err
		}
		place++
		reward, is, err := b.nemo.reward(*row)
		switch {
		case err != nil:
			return fmt.Errorf("task %q: %w", id.text, err)
		case !is:
			d.without(unscored)
			return nil
		}
		return d.add(id, Rollout{Number: repeat + 1, Reward: reward, PromptTokens: row.tokens("num_input_tokens"), CompletionTokens: row.tokens("num_generated_tokens")})
	})
}

// id returns the id of a row, or its place in its file if no row has an id.
func (n *nemoLog) id(row members, place int) (id taskID, err error) {
	for _, name := range []string{"id", "problem_id", "task_id", "index"} {
		if id, err = idOf(row.of(name)); err != nil || id.text != "" {
			break
		}
	}
	named := id.text != ""
	if n.rollouts+n.Left == 0 {
		n.named = named
	}
	switch {
	case err != nil:
	case named != n.named:
		err = errors.New("some rows have an id and others have none")
	case !named:
		id = taskID{strconv.Itoa(place), true}
		n.note("the rows have no ids: tasks are called by their place, from 0")
	}
	return id, err
}

// reward reads the field that was asked for, or the first known verdict; all known verdicts
// of a row must agree.
func (n *nemoLog) reward(row members) (reward float64, is bool, err error) {
	known := n.known(row)
	value := row.within(n.wanted)
	switch {
	case n.wanted != "" && value == nil:
		return 0, false, nil
	case n.wanted != "":
		n.taken, known = n.wanted, nil
	case n.taken == "":
		at := slices.IndexFunc(known, func(name string) bool { return row.of(name).Kind() != 'n' })
		if at < 0 {
			return 0, false, nil
		}
		n.taken = known[at]
	}
	if n.wanted == "" {
		value = row.of(n.taken)
	}
	reward, is, err = verdict(n.taken, value)
	switch {
	case !judgementField.MatchString(n.taken) || value.Kind() != '"':
	case err != nil: // no verdict counts as wrong, as in NeMo-Skills
		n.unworded++
		reward, is, err = 0, true, nil
	default:
		n.readable++
	}
	if err != nil {
		return 0, false, err
	}
	for _, name := range known {
		other, says, err := verdict(name, row.of(name))
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

// known returns the fields of a row that are known to be a verdict, and keeps the names of
// others that may be one. With an expected judgement the answer itself is a judgement.
func (n *nemoLog) known(row members) (known []string) {
	names := firstFields
	for _, m := range row {
		names = append(names[:len(names):len(names)], m.name)
	}
	for _, name := range names {
		value := row.of(name)
		switch {
		case value == nil || slices.Contains(known, name):
		case verdictField.MatchString(name), judgementField.MatchString(name) && row.of("expected_judgement") == nil:
			known = append(known, name)
			n.see(name)
		case verdictLike(value) && len(n.others) < maxNames && !slices.Contains(n.others, name):
			n.others = append(n.others, name)
		}
	}
	return known
}

// check returns an error if no field could be chosen.
func (n *nemoLog) check() error {
	choices := strings.Join(slices.Concat(n.seen, n.others), ", ")
	switch {
	case n.taken == "" && n.wanted != "":
		return fmt.Errorf("it has no field %q: --reward takes one of %s", n.wanted, choices)
	case n.taken == "" && len(n.seen) == 0:
		return fmt.Errorf("no field of its rows is known to be the reward: choose one with --reward, of %s", choices)
	case n.unworded > 0 && n.readable == 0:
		return fmt.Errorf("no %s says Yes or No: choose another field with --reward, of %s", n.taken, choices)
	case n.unworded > 0:
		n.note("%d by %s say neither Yes nor No: they count as wrong, as in NeMo-Skills", n.unworded, n.taken)
	}
	return nil
}

// judged returns the verdict in a judgement, "" if there is none. The last one counts.
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

// verdict converts a field to a reward. says is false if the field is null.
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
