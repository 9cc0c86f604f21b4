// Package exchange reads the logs of other tools as profiles (speceval import), and
// writes evaluations in their formats (speceval export): the result with its error, and
// every rollout that counts. The same evaluation gives the same bytes.
package exchange

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/store/atomicfile"
)

// FormatNames are the names of the formats of results.
func FormatNames() []string { return []string{"eee", "inspect", "json"} }

// Evaluation is a complete evaluation that is exported.
type Evaluation struct {
	*evaluation.Stored
	tasks     []benchmark.Task // nil where they are not known
	allocated bool             // what was seen decided how many rollouts tasks have
	written   time.Time        // when its result was, by the clock of the file system
	sum       [sha256.Size]byte
}

// ErrOtherPrompts is an error of OpenEvaluation: the tasks ask something else.
var ErrOtherPrompts = errors.New("the task file asks other prompts than the evaluation did")

// OpenEvaluation opens a stored evaluation, whose answers and verdicts must be as they
// were made. Inputs and targets come from the tasks; without tasks they are empty.
func OpenEvaluation(s *evaluation.Stored, tasks []benchmark.Task) (*Evaluation, error) {
	if err := s.Needs(evaluation.RolloutsFile, evaluation.ScoresFile); err != nil {
		return nil, err
	}
	if tasks != nil && benchmark.PromptDigest(tasks) != s.Setup.Asked["prompts"] {
		return nil, fmt.Errorf("%s: %w", s.Folder, ErrOtherPrompts)
	}
	info, err := os.Stat(filepath.Join(s.Folder, evaluation.ResultFile))
	if err != nil {
		return nil, err
	}
	return &Evaluation{s, tasks, cmp.Or(s.Result.Used, s.Result.Policy) != "uniform", info.ModTime().UTC(), sha256.Sum256(s.Text)}, nil
}

// Write writes the evaluation in a format to a file, of eee to a folder, and returns the
// paths of its files. Where to is empty the name is the evaluation's own id.
func (e *Evaluation) Write(format, to string) (paths []string, err error) {
	suffix, write := ".json", e.plain
	switch format {
	case "eee":
		return e.everyEval(to)
	case "inspect":
		suffix, write = ".eval", e.inspect
	case "json":
	default:
		return nil, fmt.Errorf("there is no format %q: want one of %s", format, strings.Join(FormatNames(), ", "))
	}
	if to = cmp.Or(to, e.uuid()+suffix); filepath.Ext(to) != suffix {
		return nil, fmt.Errorf("--to %q: this format is a file that ends in %s", to, suffix)
	}
	return []string{to}, atomicfile.Write(to, write)
}

// uuid is an id in the form of a UUID of version 4, the same for the same result.
func (e *Evaluation) uuid() string {
	text := fmt.Sprintf("%x", e.sum)
	return text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-a" + text[17:20] + "-" + text[20:32]
}

// task is the task of a rollout; empty where it is not known.
func (e *Evaluation) task(a evaluation.Answer) (t benchmark.Task) {
	if e.tasks != nil {
		t = e.tasks[a.TaskIndex]
	}
	return t
}

// sampling returns the sampling parameters that requests stated.
func (e *Evaluation) sampling() object {
	all := object{}
	for _, name := range []string{"temperature", "top_p", "top_k", "max_tokens"} {
		asked, left := e.Setup.Asked["sampling."+name], e.Setup.Asked["sampling.leave_out"]
		if json.Valid([]byte(asked)) && !strings.Contains(left, `"`+name+`"`) {
			all[name] = json.RawMessage(asked)
		}
	}
	return all
}

// object is a JSON object, written with its keys sorted.
type object map[string]any

// rows writes an object for each answer, with these texts before, between and after.
func (e *Evaluation) rows(w io.Writer, before, between, after string, row func(a evaluation.Answer) object) error {
	for a, err := range e.Answers() {
		var text []byte
		if err == nil {
			text, err = json.Marshal(row(a))
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%s%s", before, text)
		}
		if err != nil {
			return err
		}
		before = between
	}
	_, err := io.WriteString(w, after)
	return err
}

// plain writes one document: the result as it is stored, and the rollouts, numbered from 0.
func (e *Evaluation) plain(w io.Writer) error {
	result, err := json.Marshal(e.Result)
	if err != nil {
		return err
	}
	before := fmt.Sprintf("{\"schema\":\"speceval-export/1\",\n\"allocated\":%t,\n\"result\":%s,\n\"rollouts\":[\n", e.allocated, result)
	return e.rows(w, before, ",\n", "\n]}\n", func(a evaluation.Answer) object {
		row := object{
			"task_id": a.TaskID, "rollout": a.Rollout.Rollout, "reward": a.Verdict.Reward(), "answer": a.Verdict.Answer, "scorer": a.Verdict.Scorer,
			"seed": a.Seed, "prompt_tokens": a.PromptTokens, "completion_tokens": a.CompletionTokens, "finish_reason": a.FinishReason, "text": a.Text,
		}
		if a.Verdict.Note != "" {
			row["note"] = a.Verdict.Note
		}
		if a.Reasoning != "" {
			row["reasoning"] = a.Reasoning
		}
		return row
	})
}
