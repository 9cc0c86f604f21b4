package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// everyEvalFormat is <uuid>_samples.jsonl of Every Eval Ever, a row for every scored
// answer; the <uuid>.json next to it names the evaluator.
func everyEvalFormat() format {
	return format{
		name: "every-eval-ever",
		is: func(f *file) bool {
			return f.named(".jsonl") && f.starts('{') && f.has("evaluation_id", "sample_id", "evaluation")
		},
		read: func(files []*file, c Choice) (logs []Log, err error) {
			for _, f := range files {
				trials := &trials{format: "every-eval-ever", choice: c}
				if err := lines(f, func(p *pullReader) error { return trials.instance(f, p) }); err != nil {
					return nil, fmt.Errorf("%s: %w", f.path, err)
				}
				about := sibling(strings.TrimSuffix(f.path, "_samples.jsonl")+".json", "eval_library.name", "evaluation_timestamp")
				for _, log := range trials.logs {
					if err := log.from(f); err != nil {
						return nil, fmt.Errorf("%s: %w", f.path, err)
					}
				}
				read, err := trials.done()
				if err != nil {
					return nil, err
				}
				for i := range read {
					if about.text("eval_library.name") == "inspect" && repeated(read[i]) {
						return nil, fmt.Errorf("%s: it was converted from a log of Inspect with several epochs, whose converter gives each of them the mean of all: import the log of Inspect itself", f.path)
					}
					read[i].Created = moment(about.text("evaluation_timestamp"))
				}
				logs = append(logs, read...)
			}
			return logs, nil
		},
	}
}

// repeated reports whether a task has several rollouts.
func repeated(log Log) bool {
	return slices.ContainsFunc(log.Tasks, func(t Task) bool { return len(t.Rollouts) > 1 })
}

// moment is a time in seconds since 1970, or what it is if it is none.
func moment(text string) string {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1<<40 {
		return time.Unix(int64(s), 0).UTC().Format(time.RFC3339)
	}
	return text
}

// instance reads a row. Rows of several results of one evaluation are scores by several
// scorers.
func (t *trials) instance(f *file, p *pullReader) error {
	r, err := pick(p, "evaluation_name", "model_id", "sample_id", "evaluation_result_id", "evaluation.score", "error",
		"token_usage.input_tokens", "token_usage.output_tokens", "metadata.epoch", "metadata."+manager)
	if err != nil {
		return err
	}
	log, err := t.of(f.path, r.text("evaluation_name"), r.text("model_id"))
	if err != nil {
		return err
	}
	log.log.Allocated = log.log.Allocated || r.text("metadata."+manager) != ""
	if kind := r.values["error"].Kind; kind == '"' {
		log.without("the sample ended in an error")
		return nil
	}
	name := r.first("evaluation_result_id", "evaluation_name")
	score := []scored{{name: strings.ReplaceAll(name, "/", ":"), value: r.values["evaluation.score"]}}
	log.see(score[0].name)
	if log.taken != "" && log.taken != score[0].name {
		return nil // a row of another result
	}
	id := r.id("sample_id")
	number := log.next(id)
	if epoch, err := strconv.Atoi(r.text("metadata.epoch")); err == nil && epoch > 0 {
		number = epoch
	}
	return log.take(log.logBuilder, id, Rollout{Number: number, PromptTokens: r.count("token_usage.input_tokens"), CompletionTokens: r.count("token_usage.output_tokens")}, score)
}
