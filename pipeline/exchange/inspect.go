package exchange

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"

	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/servers/ending"
)

const (
	inspectVersion = 2        // of Inspect's log schema
	scorerName     = "reward" // the one scorer of an exported log
)

// inspect writes a log of Inspect: a sample for every task, and an epoch for every
// rollout that counts.
func (e *Evaluation) inspect(w io.Writer) error {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	member := func(name string, write func(w io.Writer) error) error {
		to, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		return write(to)
	}
	value := func(v any) func(w io.Writer) error {
		return func(w io.Writer) error { return json.NewEncoder(w).Encode(v) }
	}
	spec, plan := e.inspectSpec(), object{"name": "plan", "steps": []object{}, "config": object{}}
	if err := member("_journal/start.json", value(object{"version": inspectVersion, "eval": spec, "plan": plan})); err != nil {
		return err
	}
	var prompts, completions int64
	for a, err := range e.Answers() {
		if err != nil {
			return err
		}
		id := a.TaskID // in the name of a member, as Inspect looks for it
		if strings.Contains(id, "..") || strings.HasPrefix(id, "/") || strings.Contains(id, `\`) {
			id = url.PathEscape(strings.ReplaceAll(id, ".", "_"))
		}
		if err := member(fmt.Sprintf("samples/%s_epoch_%d.json", id, a.Rollout.Rollout+1), value(e.inspectSample(a))); err != nil {
			return err
		}
		prompts, completions = prompts+int64(a.PromptTokens), completions+int64(a.CompletionTokens)
	}
	summaries := func(w io.Writer) error { return e.rows(w, "[\n", ",\n", "\n]", e.inspectSummary) }
	if err := member("summaries.json", summaries); err != nil {
		return err
	}
	started := e.written.Add(-time.Duration(e.Result.Seconds * float64(time.Second)))
	err := member("header.json", value(object{
		"version": inspectVersion, "status": "success", "eval": spec, "plan": plan, "results": e.inspectResults(), "invalidated": false,
		"stats": object{
			"started_at": started.Format(time.RFC3339), "completed_at": e.written.Format(time.RFC3339),
			"model_usage": object{e.Result.Model: usage(prompts, completions)},
		},
	}))
	if err != nil {
		return err
	}
	return archive.Close()
}

// inspectSpec describes the evaluation. Its epochs are rollouts per task on average: Inspect
// shows tasks and epochs as factors of the number of samples.
func (e *Evaluation) inspectSpec() object {
	r, ids := e.Result, []string{}
	for _, t := range r.Rows {
		ids = append(ids, t.ID)
	}
	metric := func(name string) object { return object{"name": name, "options": object{}} }
	return object{
		"eval_id": e.short("eval"), "run_id": e.short("run"), "task_id": e.short("task"), "created": e.written.Format(time.RFC3339),
		"task": r.Benchmark, "task_version": 0, "task_attribs": object{}, "task_args": object{},
		"model": r.Model, "model_generate_config": e.sampling(), "model_args": object{}, "packages": object{},
		"dataset": object{"name": r.Benchmark, "samples": len(ids), "sample_ids": ids, "shuffled": false},
		"config":  object{"epochs": (r.Rollouts + r.Tasks - 1) / r.Tasks, "epochs_reducer": []string{"mean"}},
		"scorers": []object{{"name": scorerName, "options": object{}, "metrics": []object{metric("mean"), metric("stderr")}}},
		"metadata": object{
			"policy": r.Policy, "seed": r.Seed, "scorers": r.Scored, "provenance": r.Provenance, "asked": e.Setup.Asked,
		},
	}
}

// short is an id as Inspect has them, the same for the same result.
func (e *Evaluation) short(of string) string {
	sum := sha256.Sum256(append([]byte(of+" "), e.sum[:]...))
	return fmt.Sprintf("%x", sum)[:22]
}

// inspectResults are the mean with its error, and the epochs that an allocation selected.
func (e *Evaluation) inspectResults() object {
	r := e.Result
	metric := func(name string, value float64) object { return object{"name": name, "value": value} }
	results := object{
		"total_samples": r.Rollouts, "completed_samples": r.Rollouts,
		"scores": []object{{
			"name": scorerName, "scorer": scorerName, "reducer": "mean", "scored_samples": r.Tasks, "unscored_samples": 0, "params": object{},
			"metrics": object{"mean": metric("mean", r.Estimate), "stderr": metric("stderr", r.StandardError)},
			"metadata": object{
				"interval": r.Interval, "stderr_over_tasks": r.StandardErrorTasks,
				"about": "mean is the unbiased estimate of the stages, not the mean of the epochs' means; stderr is that of rollouts on these tasks",
			},
		}},
	}
	if e.allocated {
		selected := make(map[string]int, len(r.Rows))
		for i := range r.Rows {
			selected[r.Rows[i].ID] = r.Rows[i].Rollouts()
		}
		results["early_stopping"] = object{"manager": library, "early_stops": []object{}, "metadata": object{library: object{
			"protocol": 1, "selected": selected, "estimate": r.Estimate, "standard_error": r.StandardError, "interval": r.Interval, "result": r,
		}}}
	}
	return results
}

// usage is tokens as Inspect counts them.
func usage(prompts, completions int64) object {
	return object{"input_tokens": prompts, "output_tokens": completions, "total_tokens": prompts + completions}
}

// inspectSummary is the line of a sample in the list of samples.
func (e *Evaluation) inspectSummary(a evaluation.Answer) object {
	task := e.task(a)
	summary := object{
		"id": a.TaskID, "epoch": a.Rollout.Rollout + 1, "input": task.UserPrompt, "target": task.Answer, "metadata": object{}, "model_usage": object{},
		"scores":     object{scorerName: object{"value": a.Verdict.Reward(), "answer": a.Verdict.Answer, "explanation": strings.TrimSpace(a.Verdict.Scorer + " " + a.Verdict.Note)}},
		"total_time": a.LatencySeconds, "working_time": a.LatencySeconds, "uuid": e.short(fmt.Sprint(a.TaskIndex, " ", a.Rollout.Rollout)),
		"completed": true, "message_count": len(messages(task)) + 1,
	}
	if a.CompletionTokens > 0 { // 0: they were not counted
		summary["model_usage"] = object{e.Result.Model: usage(int64(a.PromptTokens), int64(a.CompletionTokens))}
	}
	if a.Metadata != "" {
		summary["metadata"] = json.RawMessage(a.Metadata)
	}
	if len(task.OptionTexts) > 0 {
		summary["choices"] = task.OptionTexts
	}
	return summary
}

// messages are the turns that were asked, none where the task is not known.
func messages(task benchmark.Task) (all []object) {
	for _, turn := range task.Turns() {
		all = append(all, object{"role": turn.Role, "content": turn.Content})
	}
	return all
}

// stopReasons are Inspect's words for endings.
var stopReasons = map[ending.Ending]string{
	ending.Finished: "stop", ending.Cut: "max_tokens", ending.Filtered: "content_filter", ending.Refused: "content_filter", ending.Called: "tool_calls",
}

// inspectSample is a sample with its messages.
func (e *Evaluation) inspectSample(a evaluation.Answer) object {
	content := []object{{"type": "text", "text": a.Text}}
	if a.Reasoning != "" {
		content = append([]object{{"type": "reasoning", "reasoning": a.Reasoning}}, content...)
	}
	message := object{"role": "assistant", "content": content, "source": "generate", "model": e.Result.Model}
	reason, known := stopReasons[ending.Of(a.FinishReason)]
	if !known {
		reason = "unknown"
	}
	sample := e.inspectSummary(a)
	delete(sample, "completed")
	delete(sample, "message_count")
	asked := messages(e.task(a))
	if len(asked) > 1 {
		sample["input"] = asked
	}
	sample["messages"], sample["store"], sample["events"], sample["attachments"] = append(asked, message), object{}, []object{}, object{}
	sample["output"] = object{
		"model": e.Result.Model, "choices": []object{{"message": message, "stop_reason": reason}},
		"usage": usage(int64(a.PromptTokens), int64(a.CompletionTokens)), "time": a.LatencySeconds,
	}
	return sample
}
