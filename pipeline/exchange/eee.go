package exchange

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/store/atomicfile"
)

const (
	eeeSchema     = "0.3.0" // version of Every Eval Ever's schema
	library       = "speceval"
	samplesSuffix = "_samples.jsonl"

	// How errors are computed, in the words of records.
	errorMethod    = "rollouts on these tasks, unbiased estimate in stages whose sizes and weights are set before a stage is seen"
	intervalMethod = "95% of the same error"
)

// everyEval writes the two files of Every Eval Ever in a store of records.
func (e *Evaluation) everyEval(to string) (paths []string, err error) {
	if to = cmp.Or(to, "data"); filepath.Ext(to) != "" {
		return nil, fmt.Errorf("--to %q: the format eee is a folder, whose files have the names of Every Eval Ever", to)
	}
	base := filepath.Join(to, filepath.FromSlash(e.recordPath()))
	err = atomicfile.Write(base+samplesSuffix, func(w io.Writer) error { return e.rows(w, "", "\n", "\n", e.eeeSample) })
	if err == nil {
		err = atomicfile.Write(base+".json", func(w io.Writer) error { return atomicfile.EncodeJSON(w, e.eeeRecord()) })
	}
	return []string{base + samplesSuffix, base + ".json"}, err
}

var notFolder = regexp.MustCompile(`[^A-Za-z0-9._+-]`)

// recordPath is the path of the record in a store of records, without the suffix of its
// name.
func (e *Evaluation) recordPath() string {
	developer, name := e.maker()
	parts := []string{e.Result.Benchmark, developer, name}
	for i := range parts { // names of folders, and no way out of them
		if parts[i] = notFolder.ReplaceAllString(parts[i], "_"); strings.Trim(parts[i], ".") == "" {
			parts[i] = "_"
		}
	}
	return path.Join(append(parts, e.uuid())...)
}

// maker splits the model's name into its maker and the rest.
func (e *Evaluation) maker() (developer, name string) {
	if developer, name, found := strings.Cut(e.Result.Model, "/"); found {
		return developer, name
	}
	return "unknown", e.Result.Model
}

func (e *Evaluation) eeeID() string {
	return fmt.Sprintf("%s/%s/%d", e.Result.Benchmark, strings.ReplaceAll(e.Result.Model, "/", "_"), e.written.Unix())
}

// eeeRecord has the mean with its error, and the mean of each benchmark of a suite.
func (e *Evaluation) eeeRecord() object {
	r, at := e.Result, strconv.FormatInt(e.written.Unix(), 10)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	results := []object{e.eeeResult("mean", r.Benchmark, r.Estimate, r.StandardError, r.Interval, r.Rollouts, object{
		"policy": r.Policy, "seed": strconv.FormatUint(r.Seed, 10), "tasks": strconv.Itoa(r.Tasks), "rollouts": strconv.Itoa(r.Rollouts),
		"provenance": r.Provenance, "scorers": strings.Join(r.Scored, ", "), "notes": strings.Join(r.Notes, "; "),
		"standard_error_over_tasks": number(r.StandardErrorTasks), "interval_over_tasks": number(r.IntervalTasks[0]) + " to " + number(r.IntervalTasks[1]),
		"uniform_budget_for_this_error": number(r.Uniform.Budget),
	})}
	for _, part := range r.Suite {
		results = append(results, e.eeeResult("mean:"+part.Benchmark, part.Benchmark, part.Estimate, part.StandardError, part.Interval, part.Rollouts, object{"of_suite": r.Benchmark}))
	}
	developer, _ := e.maker()
	return object{
		"schema_version": eeeSchema, "evaluation_id": e.eeeID(), "evaluation_timestamp": at, "retrieved_timestamp": at,
		"source_metadata": object{
			"source_name": library, "source_type": "evaluation_run", "source_organization_name": "unknown", "evaluator_relationship": "other",
		},
		"eval_library": object{"name": library, "version": "unknown"},
		"model_info": object{
			"name": r.Model, "id": r.Model, "developer": developer,
			"additional_details": object{"deployment_type": "unknown", "model_availability": "unknown"},
		},
		"evaluation_results": results,
		"detailed_evaluation_results": object{
			"format": "jsonl", "total_rows": r.Rollouts, "file_path": path.Join("data", e.recordPath()+samplesSuffix),
		},
	}
}

// eeeResult is one number with its error.
func (e *Evaluation) eeeResult(id, benchmark string, mean, se float64, interval [2]float64, rollouts int, details object) object {
	return object{
		"evaluation_result_id": id, "evaluation_name": benchmark,
		"source_data": object{"dataset_name": benchmark, "source_type": "other"},
		"metric_config": object{
			"evaluation_description": "mean over the tasks of their expected reward", "metric_name": "mean reward", "metric_kind": "accuracy",
			"metric_unit": "proportion", "lower_is_better": false, "score_type": "continuous", "min_score": 0, "max_score": 1,
		},
		"score_details": object{
			"score": mean, "details": details,
			"uncertainty": object{
				"standard_error":      object{"value": se, "method": errorMethod},
				"confidence_interval": object{"lower": interval[0], "upper": interval[1], "confidence_level": 0.95, "method": intervalMethod},
				"num_samples":         rollouts,
			},
		},
		"generation_config": object{"generation_args": e.sampling()},
	}
}

// eeeSample is a rollout that counts.
func (e *Evaluation) eeeSample(a evaluation.Answer) object {
	task := e.task(a)
	metadata := object{"epoch": strconv.Itoa(int(a.Rollout.Rollout) + 1), "finish_reason": a.FinishReason, "seed": strconv.FormatInt(a.Seed, 10)}
	if e.allocated {
		metadata[library] = "allocated"
	}
	output := object{"raw": []string{a.Text}}
	if a.Reasoning != "" {
		output["reasoning_trace"] = []string{a.Reasoning}
	}
	input := object{"raw": task.UserPrompt, "reference": []string{}}
	if task.Answer != "" {
		input["reference"] = []string{task.Answer}
	}
	if len(task.OptionTexts) > 0 {
		input["choices"] = task.OptionTexts
	}
	row := object{
		"schema_version": eeeSchema, "evaluation_id": e.eeeID(), "model_id": e.Result.Model, "evaluation_name": e.Result.Benchmark,
		"evaluation_result_id": "mean", "sample_id": a.TaskID, "interaction_type": "single_turn",
		"input": input, "output": output, "messages": nil,
		"answer_attribution": []object{{
			"turn_idx": 0, "source": "output.raw", "extracted_value": a.Verdict.Answer, "extraction_method": a.Verdict.Scorer, "is_terminal": true,
		}},
		"evaluation":  object{"score": a.Verdict.Reward(), "is_correct": a.Verdict.Correct},
		"metadata":    metadata,
		"performance": object{"latency_ms": a.LatencySeconds * 1000},
	}
	if a.CompletionTokens > 0 { // 0: they were not counted
		row["token_usage"] = object{"input_tokens": a.PromptTokens, "output_tokens": a.CompletionTokens, "total_tokens": int64(a.PromptTokens) + int64(a.CompletionTokens)}
	}
	return row
}
