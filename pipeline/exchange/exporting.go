// Package exchange reads the logs of other tools as profiles (speceval import), and
// writes evaluations in their formats (speceval export): the result with its error, and
// every rollout that counts. The same evaluation gives the same bytes.
package exchange

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/evaluate/logs"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/store/atomicfile"
)

// Format is a form of results.
type Format struct {
	Name  string
	files func(e *Evaluation, to string) ([]output, error) // "" stands for a place of its own choice
}

// output is a file and what it holds.
type output struct {
	path  string
	write func(w io.Writer) error
}

// Formats is all forms.
func Formats() []Format {
	return []Format{
		{"eee", (*Evaluation).everyEvalFiles},
		{"inspect", func(e *Evaluation, to string) ([]output, error) { return e.one(to, ".eval", e.inspect) }},
		{"json", func(e *Evaluation, to string) ([]output, error) { return e.one(to, ".json", e.plain) }},
	}
}

// FormatNames is the names of all forms.
func FormatNames() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// FindFormat is a form by its name.
func FindFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("there is no format %q: want one of %s", name, strings.Join(FormatNames(), ", "))
}

// one is a form of one file.
func (e *Evaluation) one(to, suffix string, write func(w io.Writer) error) ([]output, error) {
	if to == "" {
		to = e.uuid() + suffix
	}
	if filepath.Ext(to) != suffix {
		return nil, fmt.Errorf("--to %q: this format is a file that ends in %s", to, suffix)
	}
	return []output{{to, write}}, nil
}

// Evaluation is a complete one that is exported.
type Evaluation struct {
	*evaluation.Result
	folder  string
	written time.Time // when its result was, by the clock of the file system
	sum     [sha256.Size]byte
}

// OpenEvaluation is a stored evaluation, whose answers and verdicts must be as they were
// made.
func OpenEvaluation(s *evaluation.Stored) (*Evaluation, error) {
	if err := s.Needs(evaluation.RolloutsFile, evaluation.ScoresFile); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(s.Folder, evaluation.ResultFile))
	if err != nil {
		return nil, err
	}
	return &Evaluation{Result: s.Result, folder: s.Folder, written: info.ModTime().UTC(), sum: sha256.Sum256(s.Text)}, nil
}

// Write writes the evaluation in a form to a file, of eee to a folder; "" stands for a
// place that the form has of its own, in the current folder. It tells the files.
func (e *Evaluation) Write(f Format, to string) (paths []string, err error) {
	files, err := f.files(e, to)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o777); err != nil {
			return nil, err
		}
		if err := atomicfile.Write(file.path, file.write); err != nil {
			return nil, err
		}
		paths = append(paths, file.path)
	}
	return paths, nil
}

// uuid is an id in the form of a UUID of version 4, the same for the same result.
func (e *Evaluation) uuid() string {
	text := fmt.Sprintf("%x", e.sum)
	return text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-a" + text[17:20] + "-" + text[20:32]
}

// answer is a rollout that counts, with its verdict.
type answer struct {
	*rollout.Rollout
	verdict *rollout.Score
}

// answers are the rollouts that count, by task and number. Both files have them in
// that order, among others.
func (e *Evaluation) answers() iter.Seq2[answer, error] {
	return func(yield func(answer, error) bool) {
		verdicts, stop := iter.Pull2(rollout.Scores(filepath.Join(e.folder, evaluation.ScoresFile)))
		defer stop()
		found := 0
		for r, err := range rollout.Rollouts([]string{filepath.Join(e.folder, evaluation.RolloutsFile)}) {
			if err != nil {
				yield(answer{}, err)
				return
			}
			if int(r.TaskIndex) >= len(e.Rows) || int(r.Rollout) >= e.Rows[r.TaskIndex].Rollouts() {
				continue
			}
			v, err := until(verdicts, r.ID())
			if err != nil {
				yield(answer{}, fmt.Errorf("%s: %w", e.folder, err))
				return
			}
			found++
			if !yield(answer{r, v}, nil) {
				return
			}
		}
		if found != e.Rollouts {
			yield(answer{}, fmt.Errorf("%s has %d of the %d rollouts that count", filepath.Join(e.folder, evaluation.RolloutsFile), found, e.Rollouts))
		}
	}
}

// until is the next verdict on a rollout.
func until(next func() (*rollout.Score, error, bool), id rollout.ID) (*rollout.Score, error) {
	for {
		v, err, more := next()
		switch {
		case err != nil:
			return nil, err
		case !more || v.ID().Compare(id) > 0:
			return nil, fmt.Errorf("%v counts and has no verdict", id)
		case v.ID() == id:
			return v, nil
		}
	}
}

// allocated reports whether what was seen decided how many rollouts tasks have.
func (e *Evaluation) allocated() (bool, error) {
	own, err := policy.FindExecution(e.Policy)
	return err == nil && !own.Uniform(), err
}

// sums add rollouts up, task by task.
type sums struct {
	at      map[string]int
	tasks   []sum
	ids     []string
	counted map[uint64]bool // rollouts by their identities
	graded  bool
}

// sum is of one task. Tokens are −1 where one rollout lacks them.
type sum struct {
	passes, rollouts     int
	rewards, squares     float64
	prompts, completions int64
}

func newSums() *sums { return &sums{at: make(map[string]int), counted: make(map[uint64]bool)} }

// add adds the rollouts of a task that are not there yet, and tells how many are.
func (s *sums) add(t logs.Task) (repeated int) {
	for _, r := range t.Rollouts {
		if r.Identity != 0 && s.counted[r.Identity] {
			repeated++
			continue
		}
		if r.Identity != 0 {
			s.counted[r.Identity] = true
		}
		at, there := s.at[t.ID]
		if !there {
			at = len(s.tasks)
			s.at[t.ID] = at
			s.tasks, s.ids = append(s.tasks, sum{}), append(s.ids, t.ID)
		}
		s.tasks[at].add(r)
		s.graded = s.graded || r.Reward > 0 && r.Reward < 1
	}
	return repeated
}

func (s *sum) add(r logs.Rollout) {
	s.rollouts++
	if r.Reward == 1 {
		s.passes++
	}
	s.rewards += r.Reward
	s.squares += r.Reward * r.Reward
	s.prompts, s.completions = plus(s.prompts, r.PromptTokens), plus(s.completions, r.CompletionTokens)
}

// plus adds counts of which −1 is unknown.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// profile is the sums as a profile.
func (s *sums) profile() (p profile.Profile) {
	p.TaskIDs = s.ids
	var prompts, completions []int64
	known := [2]bool{}
	for _, t := range s.tasks {
		p.PassCounts, p.Tested = append(p.PassCounts, t.passes), append(p.Tested, t.rollouts)
		prompts, completions = append(prompts, t.prompts), append(completions, t.completions)
		known = [2]bool{known[0] || t.prompts >= 0, known[1] || t.completions >= 0}
		if s.graded {
			p.Rewards, p.Squares = append(p.Rewards, t.rewards), append(p.Squares, t.squares)
		}
	}
	if known[0] {
		p.PromptTokens = prompts
	}
	if known[1] {
		p.CompletionTokens = completions
	}
	if equal(p.Tested) {
		p.TestedK, p.Tested = p.Tested[0], nil
	}
	return p
}

func equal(counts []int) bool {
	for _, n := range counts {
		if n != counts[0] {
			return false
		}
	}
	return len(counts) > 0
}

// counted is how many rollouts a log has, and their tokens, −1 where one lacks them.
func counted(l *logs.Log) (rollouts int, prompts, completions int64) {
	for _, t := range l.Tasks {
		for _, r := range t.Rollouts {
			rollouts++
			prompts, completions = plus(prompts, r.PromptTokens), plus(completions, r.CompletionTokens)
		}
	}
	return rollouts, prompts, completions
}

// plainSchema names the form json.
const plainSchema = "speceval-export/1"

// plainRollout is a rollout that counts.
type plainRollout struct {
	Task             string  `json:"task_id"`
	Rollout          int32   `json:"rollout"` // from 0
	Reward           float64 `json:"reward"`
	Answer           string  `json:"answer"`
	Scorer           string  `json:"scorer"`
	Note             string  `json:"note,omitempty"`
	Seed             int64   `json:"seed"`
	PromptTokens     int32   `json:"prompt_tokens"`
	CompletionTokens int32   `json:"completion_tokens"`
	FinishReason     string  `json:"finish_reason"`
	Text             string  `json:"text"`
	Reasoning        string  `json:"reasoning,omitempty"`
}

// plain writes one document: the result as it is stored, and the rollouts.
func (e *Evaluation) plain(w io.Writer) error {
	result, err := json.Marshal(e.Result)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "{\"schema\":%q,\n\"result\":%s,\n\"rollouts\":[", plainSchema, result); err != nil {
		return err
	}
	between := "\n"
	for a, err := range e.answers() {
		if err != nil {
			return err
		}
		row, err := json.Marshal(plainRollout{
			a.TaskID, a.Rollout.Rollout, a.verdict.Reward(), a.verdict.Answer, a.verdict.Scorer, a.verdict.Note, a.Seed,
			a.PromptTokens, a.CompletionTokens, a.FinishReason, a.Text, a.Reasoning,
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", between, row); err != nil {
			return err
		}
		between = ",\n"
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}
