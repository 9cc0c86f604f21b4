package exporting

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// eeeSchema is the version of Every Eval Ever's schema.
const eeeSchema = "0.3.0"

// object is a JSON object, written with its keys sorted.
type object map[string]any

// library is how results name this program.
const library = "speceval"

// methods are how errors are computed, in the words of results.
const (
	errorMethod    = "rollouts on these tasks, unbiased estimate in stages whose sizes and weights are set before a stage is seen"
	intervalMethod = "95% of the same error"
)

// id is the evaluation_id.
func (e *Evaluation) id() string {
	return fmt.Sprintf("%s/%s/%d", e.Benchmark, strings.ReplaceAll(e.Model, "/", "_"), e.written.Unix())
}

// everyEval writes the aggregate record of Every Eval Ever: the mean with its error,
// and that of each benchmark of a suite.
func (e *Evaluation) everyEval(w io.Writer) error {
	results := []object{e.eeeResult("mean", e.Benchmark, e.Estimate, e.StandardError, e.Interval, e.Rollouts, e.eeeDetails())}
	for _, part := range e.Suite {
		results = append(results, e.eeeResult("mean:"+part.Benchmark, part.Benchmark, part.Estimate, part.StandardError, part.Interval, part.Rollouts, object{"of_suite": e.Benchmark}))
	}
	at := strconv.FormatInt(e.written.Unix(), 10)
	developer, _ := e.maker()
	record := object{
		"schema_version": eeeSchema, "evaluation_id": e.id(), "evaluation_timestamp": at, "retrieved_timestamp": at,
		"source_metadata": object{
			"source_name": library, "source_type": "evaluation_run", "source_organization_name": "unknown", "evaluator_relationship": "other",
		},
		"eval_library": object{"name": library, "version": "unknown"},
		"model_info": object{
			"name": e.Model, "id": e.Model, "developer": developer,
			"additional_details": object{"deployment_type": "unknown", "model_availability": "unknown"},
		},
		"evaluation_results": results,
		"detailed_evaluation_results": object{
			"format": "jsonl", "total_rows": e.Rollouts,
			"file_path": path.Join("data", e.place()+samplesSuffix),
		},
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(record)
}

// samplesSuffix ends the name of the file of samples.
const samplesSuffix = "_samples.jsonl"

// place is where the record of an evaluation stands in a store of them, without the
// end of its name.
func (e *Evaluation) place() string {
	developer, name := e.maker()
	parts := []string{e.Benchmark, developer, name}
	for i := range parts { // names of folders, and no way out of them
		if parts[i] = notFolder.ReplaceAllString(parts[i], "_"); strings.Trim(parts[i], ".") == "" {
			parts[i] = "_"
		}
	}
	return path.Join(append(parts, e.uuid())...)
}

// maker is who made the model, and its name without that.
func (e *Evaluation) maker() (developer, name string) {
	if developer, name, found := strings.Cut(e.Model, "/"); found {
		return developer, name
	}
	return "unknown", e.Model
}

var notFolder = regexp.MustCompile(`[^A-Za-z0-9._+-]`)

// everyEvalFiles are the two files of Every Eval Ever, in a store of them.
func (e *Evaluation) everyEvalFiles(to string) ([]output, error) {
	if to == "" {
		to = "data"
	}
	if filepath.Ext(to) != "" {
		return nil, fmt.Errorf("--to %q: the format eee is a folder, whose files have the names of Every Eval Ever", to)
	}
	base := filepath.Join(to, filepath.FromSlash(e.place()))
	return []output{{base + samplesSuffix, e.everyEvalSamples}, {base + ".json", e.everyEval}}, nil
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
	}
}

// eeeDetails are what else there is to know of the mean, as texts.
func (e *Evaluation) eeeDetails() object {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return object{
		"policy": e.Policy, "seed": strconv.FormatUint(e.Seed, 10), "tasks": strconv.Itoa(e.Tasks), "rollouts": strconv.Itoa(e.Rollouts),
		"provenance": e.Provenance, "scorers": strings.Join(e.Scored, ", "), "notes": strings.Join(e.Notes, "; "),
		"standard_error_over_tasks": number(e.StandardErrorTasks), "interval_over_tasks": number(e.IntervalTasks[0]) + " to " + number(e.IntervalTasks[1]),
		"uniform_budget_for_this_error": number(e.Uniform.Budget),
	}
}

// everyEvalSamples writes a row for every rollout that counts. An evaluation does not
// store its prompts.
func (e *Evaluation) everyEvalSamples(w io.Writer) error {
	allocated, err := e.allocated()
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for a, err := range e.answers() {
		if err != nil {
			return err
		}
		metadata := object{"epoch": strconv.Itoa(int(a.Rollout.Rollout) + 1), "finish_reason": a.FinishReason, "seed": strconv.FormatInt(a.Seed, 10)}
		if allocated {
			metadata[library] = "allocated"
		}
		output := object{"raw": []string{a.Text}}
		if a.Reasoning != "" {
			output["reasoning_trace"] = []string{a.Reasoning}
		}
		row := object{
			"schema_version": eeeSchema, "evaluation_id": e.id(), "model_id": e.Model, "evaluation_name": e.Benchmark,
			"evaluation_result_id": "mean", "sample_id": a.TaskID, "interaction_type": "single_turn",
			"input": object{"raw": "", "reference": []string{}}, "output": output, "messages": nil,
			"answer_attribution": []object{{
				"turn_idx": 0, "source": "output.raw", "extracted_value": a.verdict.Answer, "extraction_method": a.verdict.Scorer, "is_terminal": true,
			}},
			"evaluation": object{"score": a.verdict.Reward(), "is_correct": a.verdict.Correct},
			"metadata":   metadata,
		}
		if a.CompletionTokens > 0 { // 0: they were not counted
			row["token_usage"] = object{"input_tokens": a.PromptTokens, "output_tokens": a.CompletionTokens, "total_tokens": int64(a.PromptTokens) + int64(a.CompletionTokens)}
		}
		if err := out.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
