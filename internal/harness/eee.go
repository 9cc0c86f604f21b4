package harness

import (
	"fmt"
	"strconv"
	"strings"

	"speceval/internal/harness/pull"
)

// everyEvalFormat is <uuid>_samples.jsonl of Every Eval Ever, a row for every scored
// answer; the <uuid>.json beside it says who evaluated.
func everyEvalFormat() format {
	return format{
		name: "every-eval-ever",
		is: func(f *file) bool {
			return f.named(".jsonl") && f.starts('{') && f.has("evaluation_id", "sample_id", "evaluation")
		},
		read: func(files []*file, c Choice) (logs []Log, err error) {
			for _, f := range files {
				trials := &trials{format: "every-eval-ever", choice: c}
				if err := lines(f, func(p *pull.Reader) error { return trials.instance(f, p) }); err != nil {
					return nil, fmt.Errorf("%s: %w", f.path, err)
				}
				about := beside(strings.TrimSuffix(f.path, "_samples.jsonl")+".json", "eval_library.name", "evaluation_timestamp")
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
					read[i].Created = about.text("evaluation_timestamp")
					read[i].Allocated = read[i].Allocated || about.text("eval_library.name") == manager
				}
				logs = append(logs, read...)
			}
			return logs, nil
		},
	}
}

// instance reads a row. Rows of several results of one evaluation are scores by several
// scorers.
func (t *trials) instance(f *file, p *pull.Reader) error {
	r, err := pick(p, "evaluation_name", "model_id", "sample_id", "evaluation_result_id", "evaluation.score", "error",
		"token_usage.input_tokens", "token_usage.output_tokens", "metadata.epoch", "metadata."+manager)
	if err != nil {
		return err
	}
	log := t.of(f.path, r.text("evaluation_name"), r.text("model_id"))
	log.log.Allocated = log.log.Allocated || r.text("metadata."+manager) != ""
	if kind := r.values["error"].Kind; kind == '"' {
		log.without("the sample ended in an error")
		return nil
	}
	name := r.first("evaluation_result_id", "evaluation_name")
	score := []scored{{strings.ReplaceAll(name, "/", ":"), r.values["evaluation.score"]}}
	log.see(score[0].name)
	if log.taken != "" && log.taken != score[0].name {
		return nil // a row of another result
	}
	id := r.text("sample_id")
	number := log.next(id)
	if epoch, err := strconv.Atoi(r.text("metadata.epoch")); err == nil && epoch > 0 {
		number = epoch
	}
	return log.take(log.tally, id, Rollout{Number: number, PromptTokens: r.count("token_usage.input_tokens"), CompletionTokens: r.count("token_usage.output_tokens")}, score)
}
