package harness

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// lmEvalFormat is samples_<task>_<time>.jsonl of lm-evaluation-harness: a row for every
// document and filter.
func lmEvalFormat() format {
	return format{
		name: "lm-eval",
		is: func(f *file) bool {
			return f.named(".jsonl") && f.starts('{') && f.has("doc_id", "filter", "filtered_resps")
		},
		read: each(readLMEval),
	}
}

// lmEvalKeys are those of a row that are no metrics.
var lmEvalKeys = []string{"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}

func readLMEval(f *file, c Choice) ([]Log, error) {
	task, at := f.base(), ""
	if name := trimmed(f.base(), "samples_", ".jsonl"); name != "" {
		if cut := strings.LastIndexByte(name, '_'); cut > 0 {
			task, at = name[:cut], name[cut+1:]
		}
	}
	results := sibling(filepath.Join(filepath.Dir(f.path), "results_"+at+".json"), "model_name", "date")
	t := newLogBuilder(Log{Format: "lm-eval", Source: f.path, Benchmark: task, Model: results.text("model_name"), Complete: true})
	if t.log.Model == "" {
		t.log.Model = f.folder(0)
	}
	t.log.Created = moment(results.text("date"))
	choose := &chooser{wanted: c.Scorer}
	if err := t.from(f); err != nil {
		return nil, err
	}
	err := lines(f, func(p *pullReader) error {
		id, scores, repeats, err := lmEvalRow(p)
		if err != nil {
			return err
		}
		if repeats > 1 {
			t.note("the metrics are of the first of %d repeats of each document: lm-eval scores no other", repeats)
		}
		if len(scores) > 0 && choose.taken != "" && filterOf(scores[0].name) != filterOf(choose.taken) {
			for _, s := range scores {
				choose.see(s.name)
			}
			return nil // the row of another filter
		}
		return choose.take(t, id, Rollout{Number: 1, PromptTokens: -1, CompletionTokens: -1}, scores)
	})
	if err != nil {
		return nil, err
	}
	if err := choose.settle(t); err != nil {
		return nil, err
	}
	log, err := t.done()
	return []Log{log}, err
}

func filterOf(name string) string {
	_, filter, _ := strings.Cut(name, "/")
	return filter
}

// lmEvalRow reads a row: its metrics as METRIC/FILTER, and how many repeats it had.
func lmEvalRow(p *pullReader) (id string, scores []scored, repeats int, err error) {
	filter := ""
	err = p.Object(func(key string) (err error) {
		switch {
		case key == "doc_id":
			id, err = p.Word()
		case key == "filter":
			filter, err = p.Word()
		case key == "resps" && p.Kind() == '[':
			return p.List(func(int) error {
				if p.Kind() != '[' {
					return p.Skip()
				}
				return p.List(func(i int) error {
					repeats = max(repeats, i+1)
					return p.Skip()
				})
			})
		case slices.Contains(lmEvalKeys, key) || len(scores) == maxNames:
			return p.Skip()
		default:
			kind := p.Kind()
			value, err := p.Scalar()
			if kind == '0' || kind == 't' || kind == 'f' || kind == 'n' {
				scores = append(scores, scored{key, value})
			}
			return err
		}
		return err
	})
	for i := range scores {
		scores[i].name += "/" + filter
	}
	if err == nil && id == "" {
		err = fmt.Errorf("it has no doc_id")
	}
	return id, scores, repeats, err
}
