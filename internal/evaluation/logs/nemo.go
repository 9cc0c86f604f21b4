package logs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Fields of a row that say whether it is correct, the first ones before others. Other
// truth values say something else: generation_finished, truncated.
var (
	firstFields    = []string{"symbolic_correct", "judge_correct", "is_correct"}
	verdictField   = regexp.MustCompile(`^(symbolic_correct|judge_correct|is_correct(-.+)?|correct|passed)$`)
	judgementField = regexp.MustCompile(`^judge?ment([-_].+)?$`)
	judgeWord      = regexp.MustCompile(`(?i)judge?ment\W*:\W*(yes|no)\b`) // "Reasoning: … **Judgement**: Yes"
	bareWord       = regexp.MustCompile(`(?i)^\W*(yes|no|true|false|correct|incorrect)\W*$`)
)

// readNemo reads eval-results/<benchmark>/output-rs<k>.jsonl of NeMo-Skills: a file for every
// repeat, with a row for every problem.
func readNemo(b *book, path string) error {
	d := b.draft(folder(path, 0), "")
	repeat, place := 0, 0
	if match := nemoFile.FindStringSubmatch(base(path)); match != nil {
		repeat, _ = strconv.Atoi(match[1]) // "" is 0
	}
	return rows(path, func(fields *members) error {
		var id taskID
		for _, name := range []string{"id", "problem_id", "task_id", "index"} {
			if err := id.UnmarshalJSON(fields.of(name)); err != nil {
				return err
			} else if id.text != "" {
				break
			}
		}
		if unnamed := id.text == ""; d.rollouts+d.Left > 0 && unnamed != d.unnamed {
			return errors.New("some rows have an id and others have none")
		} else if d.unnamed = unnamed; unnamed {
			id = taskID{strconv.Itoa(place), true}
			d.note("the rows have no ids: tasks are called by their place, from 0")
			if asked := string(fields.of("problem")) + string(fields.of("question")); place == len(d.asked) {
				d.asked = append(d.asked, asked)
			} else if asked != d.asked[place] {
				return errors.New("it has no id, and asks something else than this row of another file: give the rows ids, or import the files apart")
			}
		}
		place++
		r := row{Rollout: ioTokens{fields.of("num_input_tokens"), fields.of("num_generated_tokens")}.rollout(repeat+1, ""), id: id}
		if r.scores = verdicts(*fields, d.wanted); len(r.scores) == 0 && d.wanted == "" {
			r.left = "no field is known to say that it is correct: choose one with --reward"
		}
		r.scores = slices.DeleteFunc(r.scores, func(m member) bool { return null(m.value) })
		var unread []string // judgements that say neither
		for i, m := range r.scores {
			word, judgement := judged(m.value), judgementField.MatchString(m.name) && m.value.Kind() == '"'
			if word == "" && judgement {
				unread = append(unread, m.name)
			}
			if word != "" || judgement {
				r.scores[i].value = jsontext.Value(strconv.FormatBool(word == "yes" || word == "true" || word == "correct"))
			}
		}
		err := d.addScored(r)
		if slices.Contains(unread, d.taken) { // it counts as wrong, as in NeMo-Skills
			d.unread++
		}
		if err == nil && d.wanted == "" {
			err = disagreement(id, d.taken, r.scores, unread)
		}
		return err
	})
}

// disagreement is an error that names two verdicts on a row that differ: which one counts is not
// guessed. Verdicts that say nothing agree with all, but for the one that counts.
func disagreement(id taskID, taken string, verdicts members, unread []string) error {
	counts, there, _ := rewardOf(taken, verdicts.of(taken))
	word := "nothing"
	if there {
		word = fmt.Sprint(counts)
	}
	for _, v := range verdicts {
		says, is, err := rewardOf(v.name, v.value)
		if is && err == nil && (says != counts || !there) && !slices.Contains(unread, v.name) {
			return fmt.Errorf("task %q: %s says %s and %s says %v: choose one with --reward", id, taken, word, v.name, says)
		}
	}
	return nil
}

// verdicts are the fields of a row that are known to be a verdict, and the one that is wanted.
// With an expected judgement the answer itself is a judgement.
func verdicts(fields members, wanted string) (all members) {
	names := slices.Clone(firstFields)
	for _, m := range fields {
		if verdictField.MatchString(m.name) || judgementField.MatchString(m.name) && fields.of("expected_judgement") == nil {
			names = append(names, m.name)
		}
	}
	if wanted != "" {
		names = append(names, wanted)
	}
	for k, name := range names {
		if value := fields.of(name); value != nil && !slices.Contains(names[:k], name) {
			all = append(all, member{name, value})
		}
	}
	return all
}

// judged returns the verdict in a judgement, "" if there is none. The last one counts.
func judged(v jsontext.Value) string {
	said := ""
	if v.Kind() == '"' {
		said, _ = textOf(v)
	}
	found := bareWord.FindStringSubmatch(said)
	if all := judgeWord.FindAllStringSubmatch(said, -1); len(all) > 0 {
		found = all[len(all)-1]
	}
	if found == nil {
		return ""
	}
	return strings.ToLower(found[1])
}
