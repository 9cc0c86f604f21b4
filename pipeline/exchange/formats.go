package exchange

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"

	"speceval/internal/ending"
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
			"file_path": path.Join("data", e.recordPath()+samplesSuffix),
		},
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(record)
}

// samplesSuffix ends the name of the file of samples.
const samplesSuffix = "_samples.jsonl"

// recordPath returns the path of an evaluation's record in a store of records, without
// the suffix of its name.
func (e *Evaluation) recordPath() string {
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
	base := filepath.Join(to, filepath.FromSlash(e.recordPath()))
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

// inspectVersion is that of Inspect's log schema.
const inspectVersion = 2

// scorerName is the one scorer of an exported log.
const scorerName = "reward"

// inspect writes a log of Inspect: a sample for every task, an epoch for every rollout
// that counts. An evaluation does not store its prompts.
func (e *Evaluation) inspect(w io.Writer) error {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	spec, plan := e.inspectSpec(), object{"name": "plan", "steps": []object{}, "config": object{}}
	if err := member(archive, "_journal/start.json", object{"version": inspectVersion, "eval": spec, "plan": plan}); err != nil {
		return err
	}
	var prompts, completions int64
	for a, err := range e.answers() {
		if err == nil {
			err = member(archive, sampleName(a), e.inspectSample(a))
		}
		if err != nil {
			return err
		}
		prompts, completions = prompts+int64(a.PromptTokens), completions+int64(a.CompletionTokens)
	}
	if err := e.summaries(archive); err != nil {
		return err
	}
	results, err := e.inspectResults()
	if err != nil {
		return err
	}
	at := e.written.Format(time.RFC3339)
	err = member(archive, "header.json", object{
		"version": inspectVersion, "status": "success", "eval": spec, "plan": plan, "results": results, "invalidated": false,
		"stats": object{"started_at": at, "completed_at": at, "model_usage": object{e.Model: usage(prompts, completions)}},
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

// member writes a value as a member of an archive.
func member(archive *zip.Writer, name string, value any) error {
	to, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	return json.NewEncoder(to).Encode(value)
}

// sampleName is the member of a rollout, as Inspect looks for it.
func sampleName(a answer) string {
	id := a.TaskID
	if strings.Contains(id, "..") || strings.HasPrefix(id, "/") || strings.Contains(id, `\`) {
		id = url.PathEscape(strings.ReplaceAll(id, ".", "_"))
	}
	return fmt.Sprintf("samples/%s_epoch_%d.json", id, a.Rollout.Rollout+1)
}

// most is the greatest number of rollouts of a task.
func (e *Evaluation) most() (most int) {
	for i := range e.Rows {
		most = max(most, e.Rows[i].Rollouts())
	}
	return most
}

// inspectSpec is what was evaluated.
func (e *Evaluation) inspectSpec() object {
	ids := make([]string, len(e.Rows))
	for i, t := range e.Rows {
		ids[i] = t.ID
	}
	return object{
		"eval_id": e.short("eval"), "run_id": e.short("run"), "task_id": e.short("task"), "created": e.written.Format(time.RFC3339),
		"task": e.Benchmark, "task_version": 0, "task_attribs": object{}, "task_args": object{}, "model": e.Model, "model_args": object{},
		"dataset": object{"name": e.Benchmark, "samples": len(ids), "sample_ids": ids, "shuffled": false},
		"config":  object{"epochs": e.most(), "epochs_reducer": []string{"mean"}},
		"scorers": []object{{"name": scorerName, "options": object{}, "metrics": []object{{"name": "mean", "options": object{}}, {"name": "stderr", "options": object{}}}}},
		"metadata": object{
			"policy": e.Policy, "seed": e.Seed, "scorers": e.Scored, "provenance": e.Provenance,
		},
		"packages": object{},
	}
}

// short is an id as Inspect has them, the same for the same result.
func (e *Evaluation) short(of string) string {
	sum := sha256.Sum256(append([]byte(of+" "), e.sum[:]...))
	return fmt.Sprintf("%x", sum)[:22]
}

// inspectResults are the mean with its error, and the allocation: which epochs were
// selected, and which were not run.
func (e *Evaluation) inspectResults() (object, error) {
	metric := func(name string, value float64) object { return object{"name": name, "value": value} }
	results := object{
		"total_samples": e.Tasks * e.most(), "completed_samples": e.Rollouts,
		"scores": []object{{
			"name": scorerName, "scorer": scorerName, "reducer": "mean", "scored_samples": e.Tasks, "unscored_samples": 0, "params": object{},
			"metrics": object{"mean": metric("mean", e.Estimate), "stderr": metric("stderr", e.StandardError)},
			"metadata": object{
				"interval": e.Interval, "stderr_over_tasks": e.StandardErrorTasks,
				"about": "mean is the unbiased estimate of the stages, not the mean of the epochs' means; stderr is that of rollouts on these tasks",
			},
		}},
	}
	allocated, err := e.allocated()
	if err != nil || !allocated {
		return results, err
	}
	stops, selected := []object{}, make(map[string]int, len(e.Rows))
	for i := range e.Rows {
		t := &e.Rows[i]
		selected[t.ID] = t.Rollouts()
		for epoch := t.Rollouts() + 1; epoch <= e.most(); epoch++ {
			stops = append(stops, object{"id": t.ID, "epoch": epoch, "reason": library + ": not allocated"})
		}
	}
	results["early_stopping"] = object{
		"manager": library, "early_stops": stops,
		"metadata": object{library: object{
			"protocol": 1, "selected": selected, "estimate": e.Estimate, "standard_error": e.StandardError, "interval": e.Interval,
		}},
	}
	return results, nil
}

// usage is tokens as Inspect counts them.
func usage(prompts, completions int64) object {
	return object{"input_tokens": prompts, "output_tokens": completions, "total_tokens": prompts + completions}
}

// inspectSummary is what Inspect lists of a sample.
func (e *Evaluation) inspectSummary(a answer) object {
	uses := object{}
	if a.CompletionTokens > 0 { // 0: they were not counted
		uses[e.Model] = usage(int64(a.PromptTokens), int64(a.CompletionTokens))
	}
	return object{
		"id": a.TaskID, "epoch": a.Rollout.Rollout + 1, "input": "", "target": "", "metadata": object{},
		"scores":      object{scorerName: object{"value": a.verdict.Reward(), "answer": a.verdict.Answer, "explanation": strings.TrimSpace(a.verdict.Scorer + " " + a.verdict.Note)}},
		"model_usage": uses, "total_time": a.LatencySeconds, "uuid": e.short(fmt.Sprint(a.TaskIndex, " ", a.Rollout.Rollout)),
	}
}

// stopReasons are those of Inspect.
var stopReasons = map[ending.Ending]string{
	ending.Finished: "stop", ending.Cut: "max_tokens", ending.Filtered: "content_filter", ending.Refused: "content_filter", ending.Called: "tool_calls",
}

// inspectSample is a sample with its answer.
func (e *Evaluation) inspectSample(a answer) object {
	content := []object{{"type": "text", "text": a.Text}}
	if a.Reasoning != "" {
		content = append([]object{{"type": "reasoning", "reasoning": a.Reasoning}}, content...)
	}
	message := object{"role": "assistant", "content": content, "source": "generate", "model": e.Model}
	reason, known := stopReasons[ending.Of(a.FinishReason)]
	if !known {
		reason = "unknown"
	}
	sample := e.inspectSummary(a)
	sample["messages"], sample["store"], sample["events"], sample["attachments"] = []object{message}, object{}, []object{}, object{}
	sample["output"] = object{"model": e.Model, "choices": []object{{"message": message, "stop_reason": reason}}, "usage": usage(int64(a.PromptTokens), int64(a.CompletionTokens))}
	return sample
}

// summaries writes the list of all samples.
func (e *Evaluation) summaries(archive *zip.Writer) error {
	to, err := archive.CreateHeader(&zip.FileHeader{Name: "summaries.json", Method: zip.Deflate})
	if err != nil {
		return err
	}
	between := "["
	for a, err := range e.answers() {
		if err != nil {
			return err
		}
		summary := e.inspectSummary(a)
		summary["completed"], summary["message_count"] = true, 1
		row, err := json.Marshal(summary)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to, "%s%s", between, row); err != nil {
			return err
		}
		between = ","
	}
	_, err = io.WriteString(to, "]")
	return err
}
