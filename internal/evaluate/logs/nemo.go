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
	done: checkNemo,
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
	n := &b.nemo
	n.draft = b.draft(folder(path, 0), "")
	repeat, place := 0, 0
	if match := nemoFile.FindStringSubmatch(filepath.Base(path)); match != nil {
		repeat, _ = strconv.Atoi(match[1]) // "" is 0
	}
	return rows(path, func(row *members) error {
		id, err := n.id(*row, place)
		if err != nil {
			return err
		}
		place++
		reward, is, err := n.reward(*row)
		switch {
		case err != nil:
			return fmt.Errorf("task %q: %w", id.text, err)
		case !is:
			n.without(unscored)
			return nil
		}
		r := ioTokens{row.of("num_input_tokens"), row.of("num_generated_tokens")}.rollout(repeat+1, "")
		r.Reward = reward
		return n.add(id, r)
	})
}

// id returns the id of a row, or its place in its file if no row has an id.
func (n *nemoLog) id(row members, place int) (id taskID, err error) {
	for _, name := range []string{"id", "problem_id", "task_id", "index"} {
		if err = id.UnmarshalJSON(row.of(name)); err != nil || id.text != "" {
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
	if n.wanted != "" {
		known = []string{n.wanted}
	}
	for _, name := range known {
		if value := row.of(name); n.taken == "" && value != nil && (n.wanted != "" || !null(value)) {
			n.taken = name
		}
	}
	if n.taken == "" {
		return 0, false, nil
	}
	value := row.of(n.taken)
	reward, is, err = verdict(n.taken, value)
	if judgementField.MatchString(n.taken) && value.Kind() == '"' {
		if err == nil {
			n.readable++
		} else { // no verdict counts as wrong, as in NeMo-Skills
			n.unworded++
			reward, is, err = 0, true, nil
		}
	}
	for _, name := range known {
		other, says, fault := verdict(name, row.of(name))
		if err != nil || name == n.taken || fault != nil || !says || is && other == reward {
			continue
		}
		word := "nothing"
		if is {
			word = fmt.Sprint(reward)
		}
		err = fmt.Errorf("%s says %s and %s says %v: choose one with --reward, of %s", n.taken, word, name, other, strings.Join(n.seen, ", "))
	}
	return reward, is, err
}

// known returns the fields of a row that are known to be a verdict, and keeps the names of
// others that may be one. With an expected judgement the answer itself is a judgement.
func (n *nemoLog) known(row members) (known []string) {
	names := slices.Clone(firstFields)
	for _, m := range row {
		names = append(names, m.name)
	}
	for _, name := range names {
		value := row.of(name)
		switch {
		case value == nil || slices.Contains(known, name):
		case verdictField.MatchString(name), judgementField.MatchString(name) && row.of("expected_judgement") == nil:
			known = append(known, name)
			n.see(name)
		case verdictLike(value) && len(n.others) < 64 && !slices.Contains(n.others, name):
			n.others = append(n.others, name)
		}
	}
	return known
}

// checkNemo returns an error if no field could be chosen.
func checkNemo(b *book) error {
	n := &b.nemo
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
func judged(v jsontext.Value) string {
	text, err := textOf(v)
	found := bareWord.FindStringSubmatch(text)
	if all := judgeWord.FindAllStringSubmatch(text, -1); len(all) > 0 {
		found = all[len(all)-1]
	}
	if found == nil || err != nil || v.Kind() != '"' {
		return ""
	}
	return strings.ToLower(found[1])
}

// verdict converts a field to a reward. says is false if the field is null.
func verdict(name string, value jsontext.Value) (reward float64, says bool, err error) {
	switch word := judged(value); {
	case word == "yes" || word == "true" || word == "correct":
		return 1, true, nil
	case word != "":
		return 0, true, nil
	case value.Kind() == '"' && judgementField.MatchString(name):
		return 0, false, fmt.Errorf("%s has no verdict", name)
	}
	return rewardOf(name, value)
}

// verdictLike reports whether a value may be a reward.
func verdictLike(value jsontext.Value) bool {
	number, err := strconv.ParseFloat(string(value), 64)
	return value.Kind() == 't' || value.Kind() == 'f' || err == nil && number >= 0 && number <= 1 || judged(value) != ""
}
