package logs

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// everyEvalRow is a row. Rows of several results of one evaluation are scores by several
// scorers.
type everyEvalRow struct {
	Benchmark  string         `json:"evaluation_name"`
	Model      string         `json:"model_id"`
	Sample     taskID         `json:"sample_id"`
	Result     string         `json:"evaluation_result_id"`
	Error      jsontext.Value `json:"error"`
	Evaluation struct {
		Score jsontext.Value `json:"score"`
	} `json:"evaluation"`
	Usage    ioTokens `json:"token_usage"`
	Metadata struct {
		Epoch    jsontext.Value `json:"epoch"`
		Speceval jsontext.Value `json:"speceval"`
	} `json:"metadata"`
}

// readEveryEval reads <uuid>_samples.jsonl of Every Eval Ever, a row for every scored answer;
// the <uuid>.json next to it names the evaluator.
func readEveryEval(b *book, path string) error {
	var about struct {
		Library struct {
			Name string `json:"name"`
		} `json:"eval_library"`
	}
	beside(path, strings.TrimSuffix(base(path), "_samples.jsonl")+".json", &about)
	err := rows(path, func(r *everyEvalRow) error {
		d := b.draft(r.Benchmark, r.Model)
		d.Allocated = d.Allocated || r.Metadata.Speceval != nil
		if r.Error.Kind() == '"' {
			return d.addScored(row{left: "the sample ended in an error"})
		}
		score := member{strings.ReplaceAll(cmp.Or(r.Result, r.Benchmark), "/", ":"), r.Evaluation.Score}
		if err := d.choose(members{score}, nil); err != nil || d.taken != score.name {
			return err // it is a row of another result
		}
		number := d.next(r.Sample)
		said, _ := textOf(r.Metadata.Epoch)
		if epoch, err := strconv.Atoi(said); err == nil && epoch > 0 {
			number = epoch
		}
		return d.addScored(row{Rollout: r.Usage.rollout(number, ""), id: r.Sample, scores: members{score}})
	})
	for _, d := range b.drafts {
		repeated := slices.ContainsFunc(d.Tasks, func(t Task) bool { return len(t.Rollouts) > 1 })
		if err == nil && repeated && about.Library.Name == "inspect" {
			err = errors.New("it was converted from a log of Inspect with several epochs, whose converter gives each of them the mean of all: import the log of Inspect itself")
		}
	}
	return err
}
