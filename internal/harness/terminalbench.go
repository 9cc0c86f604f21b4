package harness

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
)

// terminalBenchFormat is <run>/<task>/<trial>/results.json of Terminal-Bench 1, a file
// for every trial, or <run>/results.json, which has all of them.
func terminalBenchFormat() format {
	return format{
		name: "terminal-bench",
		is: func(f *file) bool {
			return f.named(".json") && f.starts('{') && f.has("is_resolved", "trial_name")
		},
		read: func(files []*file, c Choice) ([]Log, error) {
			trials := &trials{format: "terminal-bench", choice: c}
			runs := make(map[string]bool) // that have files of trials
			for _, f := range files {
				if !f.has("results") {
					runs[filepath.Dir(filepath.Dir(filepath.Dir(f.path)))] = true
				}
			}
			for _, f := range files {
				whole := f.has("results")
				if whole && runs[filepath.Dir(f.path)] {
					continue // it repeats the trials
				}
				if err := f.reader(trials.terminalBench(f, whole)); err != nil {
					return nil, fmt.Errorf("%s: %w", f.path, err)
				}
			}
			return trials.done()
		},
	}
}

// trialNumber is the number in the name of a trial, "hello.2-of-5.run".
var trialNumber = regexp.MustCompile(`\.(\d{1,6})-of-\d+\.`)

// terminalBench reads a trial, or all of a run.
func (t *trials) terminalBench(f *file, whole bool) func(r io.Reader) error {
	run := filepath.Dir(f.path)
	if !whole {
		run = filepath.Dir(filepath.Dir(run))
	}
	meta := sibling(filepath.Join(run, "run_metadata.json"), "model_name", "agent_name", "dataset_name", "start_time")
	log, fault := t.of(run, meta.text("dataset_name"), agent(meta.text("agent_name"), "", meta.text("model_name")))
	if fault == nil {
		log.log.Created = meta.text("start_time")
		fault = log.from(f)
	}
	return func(from io.Reader) error {
		if fault != nil {
			return fault
		}
		p := newPullReader(from)
		read := func(int) error {
			r, err := pick(p, "id", "task_id", "trial_name", "is_resolved", "total_input_tokens", "total_output_tokens")
			if err != nil {
				return err
			}
			id := r.id("task_id")
			number := log.next(id)
			if match := trialNumber.FindStringSubmatch(r.text("trial_name")); match != nil {
				number, _ = strconv.Atoi(match[1])
			}
			return log.take(log.logBuilder, id, Rollout{
				Number: number, PromptTokens: r.count("total_input_tokens"), CompletionTokens: r.count("total_output_tokens"), Identity: identity(r.text("id")),
			}, r.scores("is_resolved", "is_resolved"))
		}
		if !whole {
			return read(0)
		}
		return p.Object(func(key string) error {
			if key != "results" {
				return p.Skip()
			}
			return p.List(read)
		})
	}
}
