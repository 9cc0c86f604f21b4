package harness

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nemoFormat is eval-results/<benchmark>/output-rs<k>.jsonl of NeMo-Skills: a file for
// every repeat, with a row for every problem.
func nemoFormat() format {
	return format{
		name: "nemo-skills",
		is: func(f *file) bool {
			return nemoFile.MatchString(f.base()) && f.starts('{') && f.has("generation")
		},
		read: func(files []*file, c Choice) (logs []Log, err error) {
			for _, group := range grouped(files, func(f *file) string { return filepath.Dir(f.path) }) {
				log, err := readNemo(group, c)
				if err != nil {
					return nil, err
				}
				logs = append(logs, log)
			}
			return logs, nil
		},
	}
}

var nemoFile = regexp.MustCompile(`^output(?:-rs(\d{1,6}))?\.jsonl$`)

// grouped are the files by a key of each, in the order of the first ones.
func grouped(files []*file, key func(f *file) string) (groups [][]*file) {
	at := make(map[string]int)
	for _, f := range files {
		k := key(f)
		i, there := at[k]
		if !there {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// repeat is which repeat the rows of a file are, from 0.
func repeat(f *file) int {
	match := nemoFile.FindStringSubmatch(f.base())
	if match == nil {
		return 0
	}
	n, _ := strconv.Atoi(match[1]) // "" is 0
	return n
}

func readNemo(files []*file, c Choice) (Log, error) {
	first := files[0]
	slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(repeat(a), repeat(b)) })
	t := newLogBuilder(Log{Format: "nemo-skills", Source: filepath.Dir(first.path), Benchmark: first.folder(0), Complete: true})
	if len(files) == 1 {
		t.log.Source = first.path
	}
	n := &nemoLog{logBuilder: t, chooser: chooser{wanted: c.Scorer}}
	for k, f := range files {
		if k > 0 && repeat(f) == repeat(files[k-1]) {
			return Log{}, fmt.Errorf("%s and %s are the same repeat of one benchmark: import them apart", files[k-1].path, f.path)
		}
		err := t.from(f)
		if err == nil {
			n.row = 0
			err = lines(f, func(p *pullReader) error { return n.read(p, repeat(f)+1) })
		}
		if err != nil {
			return Log{}, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	err := n.settle()
	var log Log
	if err == nil {
		log, err = t.done()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", t.log.Source, err)
	}
	return log, err
}

// nemoLog is a log of NeMo-Skills that is being read.
type nemoLog struct {
	*logBuilder
	chooser
	row                int  // rows of the file read so far
	named              bool // the first row has an id
	candidates         []string
	readable, unworded int    // judgements with and without a verdict
	unclear            string // the first judgement without one
}

// read reads a row, which is one rollout.
func (n *nemoLog) read(p *pullReader, number int) error {
	r, err := pick(p, "*", n.wanted)
	if err != nil {
		return err
	}
	n.row++
	id := r.id("id", "problem_id", "task_id", "index")
	if n.rollouts+n.log.Left == 0 {
		n.named = id.text != ""
	}
	switch {
	case n.named != (id.text != ""):
		return errors.New("some rows have an id and others have none")
	case !n.named:
		id = taskID{strconv.Itoa(n.row - 1), true}
		n.note("the rows have no ids: tasks are called by their place, from 0")
	}
	reward, is, err := n.reward(r)
	switch {
	case err != nil:
		return fmt.Errorf("task %q: %w", id.text, err)
	case !is:
		n.without(unscored)
		return nil
	}
	return n.add(id, Rollout{Number: number, Reward: reward, PromptTokens: r.count("num_input_tokens"), CompletionTokens: r.count("num_generated_tokens")})
}

// Fields of a row that say whether it is correct. Other truth values say something else:
// generation_finished, truncated.
var (
	verdictField   = regexp.MustCompile(`^(symbolic_correct|judge_correct|is_correct(-.+)?|correct|passed)$`)
	judgementField = regexp.MustCompile(`^judge?ment([-_].+)?$`)
)

// reward is the reward of a row: the field that was asked for, or all that are known
// to be a verdict, which must agree.
func (n *nemoLog) reward(r record) (reward float64, is bool, err error) {
	var known []string
	for _, name := range append([]string{"symbolic_correct", "judge_correct", "is_correct"}, r.order...) {
		value, there := r.values[name]
		_, expected := r.values["expected_judgement"] // then the answer itself is a judgement
		switch {
		case !there || slices.Contains(known, name):
		case verdictField.MatchString(name), judgementField.MatchString(name) && !expected:
			known = append(known, name)
			n.see(name)
		case verdictLike(value) && len(n.candidates) < maxNames && !slices.Contains(n.candidates, name):
			n.candidates = append(n.candidates, name)
		}
	}
	if n.wanted != "" {
		value, there := r.values[n.wanted]
		if !there {
			return 0, false, nil
		}
		n.taken = n.wanted
		return n.verdict(n.wanted, value)
	}
	if n.taken == "" {
		at := slices.IndexFunc(known, func(name string) bool { return r.values[name].Kind != 'n' })
		if at < 0 {
			return 0, false, nil
		}
		n.taken = known[at]
	}
	if value, there := r.values[n.taken]; there {
		if reward, is, err = n.verdict(n.taken, value); err != nil {
			return 0, false, err
		}
	}
	for _, name := range known {
		if name == n.taken {
			continue
		}
		other, says, err := scored{name: name, value: r.values[name]}.verdict()
		if err == nil && says && (!is || other != reward) {
			said := "nothing"
			if is {
				said = fmt.Sprint(reward)
			}
			return 0, false, fmt.Errorf("%s says %s and %s says %v: choose one with --reward, of %s", n.taken, said, name, other, strings.Join(n.seen, ", "))
		}
	}
	return reward, is, nil
}

// verdict is what the chosen field says. A judgement without a verdict counts as wrong,
// as NeMo-Skills counts it.
func (n *nemoLog) verdict(name string, value scalar) (reward float64, is bool, err error) {
	reward, is, err = scored{name: name, value: value}.verdict()
	switch {
	case !judgementField.MatchString(name) || value.Kind != '"':
	case err == nil:
		n.readable++
	default:
		if n.unworded++; n.unworded == 1 {
			n.unclear = value.Text
		}
		return 0, true, nil
	}
	return reward, is, err
}

// settle reports at the end of the log what was chosen, or why nothing can be.
func (n *nemoLog) settle() error {
	switch {
	case n.taken == "" && n.wanted != "":
		return fmt.Errorf("it has no field %q: --reward takes one of %s", n.wanted, strings.Join(append(n.seen, n.candidates...), ", "))
	case n.taken == "" && len(n.seen) == 0 && len(n.candidates) > 0:
		return fmt.Errorf("no field of its rows is known to be the reward: choose one with --reward, of %s", strings.Join(n.candidates, ", "))
	case n.taken == "" && len(n.seen) == 0:
		return errors.New("no field of its rows is known to be the reward, as symbolic_correct and judgement are: choose one with --reward")
	case n.unworded > 0 && n.readable == 0:
		return fmt.Errorf("no %s says Yes or No, but %.40q: choose another field with --reward", n.taken, n.unclear)
	case n.unworded > 0:
		n.note("%d by %s say neither Yes nor No: they count as wrong, as in NeMo-Skills", n.unworded, n.taken)
	}
	return n.chooser.settle(n.logBuilder)
}

var (
	judgeWord = regexp.MustCompile(`(?i)judge?ment\W*:\W*(yes|no)\b`) // "Reasoning: … **Judgement**: Yes"
	bareWord  = regexp.MustCompile(`(?i)^\W*(yes|no|true|false|correct|incorrect)\W*$`)
)

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

// verdictOf is the verdict in the text of a field, "" if the field is no judgement.
func verdictOf(name, text string) string {
	if !judgementField.MatchString(name) {
		return ""
	}
	return judged(text)
}

// verdict is what a field says as a reward; says is false if it is null.
func (s scored) verdict() (reward float64, says bool, err error) {
	if s.value.Kind == '"' {
		switch word := judged(s.value.Text); {
		case word == "yes" || word == "true" || word == "correct":
			return 1, true, nil
		case word != "":
			return 0, true, nil
		case judgementField.MatchString(s.name):
			return 0, false, fmt.Errorf("%s has no verdict", s.name)
		}
	}
	return s.reward()
}

// verdictLike reports whether a value may be a reward.
func verdictLike(value scalar) bool {
	return value.Kind == 't' || value.Kind == 'f' || value.Kind == '0' && value.Number >= 0 && value.Number <= 1 || value.Kind == '"' && judged(value.Text) != ""
}
