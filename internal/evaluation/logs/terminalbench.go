package logs

import (
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// terminalTrial is a trial, or all trials of a run.
type terminalTrial struct {
	Results  []terminalTrial `json:"results"`
	ID       string          `json:"id"`
	Task     taskID          `json:"task_id"`
	Trial    string          `json:"trial_name"`
	Resolved jsontext.Value  `json:"is_resolved"`
	Input    jsontext.Value  `json:"total_input_tokens"`
	Output   jsontext.Value  `json:"total_output_tokens"`
}

// trialNumber is the number in the name of a trial, "hello.2-of-5.run".
var trialNumber = regexp.MustCompile(`\.(\d{1,6})-of-\d+\.`)

// readTerminalBench reads <run>/<task>/<trial>/results.json of Terminal-Bench 1, a file for
// every trial, or <run>/results.json, which has all of them.
func readTerminalBench(b *book, path string) error {
	var t terminalTrial
	if err := object(path, &t); err != nil {
		return err
	}
	var about struct {
		Model     string `json:"model_name"`
		Agent     string `json:"agent_name"`
		Benchmark string `json:"dataset_name"`
	}
	trials, place := t.Results, "run_metadata.json"
	if trials == nil {
		trials, place = []terminalTrial{t}, "../../"+place
	} else if len(b.paths) > 1 {
		return nil // it repeats the trials
	}
	beside(path, place, &about)
	d := b.draft(about.Benchmark, joined("+", about.Model, about.Agent))
	for _, t := range trials {
		number := d.next(t.Task)
		if match := trialNumber.FindStringSubmatch(t.Trial); match != nil {
			number, _ = strconv.Atoi(match[1])
		}
		r := row{Rollout: ioTokens{t.Input, t.Output}.rollout(number, t.ID), id: t.Task, scores: members{{"is_resolved", t.Resolved}}}
		if null(t.Resolved) { // its tests timed out or could not be read
			r.left = unscored + ", which Terminal-Bench counts as failed"
		}
		if err := d.addScored(r); err != nil {
			return err
		}
	}
	return nil
}
