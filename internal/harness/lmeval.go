package harness

import (
	"errors"
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

// maxRepeats is how many repeats of a document a list of their values may have.
const maxRepeats = 1 << 16

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
	if err := lines(f, func(p *pullReader) error { return lmEvalRow(p, t, choose) }); err != nil {
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

// lmEvalRow reads a row: its metrics, as METRIC/FILTER, are of one response to a
// document, or of several.
func lmEvalRow(p *pullReader, t *logBuilder, choose *chooser) error {
	var id taskID
	var scores []scored
	var resps, filtered shape
	filter := ""
	err := p.Object(func(key string) (err error) {
		switch {
		case key == "doc_id":
			value, err := p.Scalar()
			id = value.id()
			return err
		case key == "filter":
			filter, err = p.Word()
		case key == "resps":
			err = resps.read(p, 0)
		case key == "filtered_resps":
			err = filtered.read(p, 0)
		case slices.Contains(lmEvalKeys, key) || len(scores) == maxNames:
			err = p.Skip()
		default:
			var value scored
			if value, err = lmEvalMetric(p, key); value.name != "" {
				scores = append(scores, value)
			}
		}
		return err
	})
	if err == nil && id.text == "" {
		err = errors.New("it has no doc_id")
	}
	if err != nil {
		return err
	}
	of := resps.repeats(filtered)
	scores = slices.DeleteFunc(scores, func(s scored) bool { return s.each != nil && (len(s.each) < 2 || len(s.each) != of.all) })
	slices.SortStableFunc(scores, func(a, b scored) int { return min(len(b.each), 1) - min(len(a.each), 1) })
	for i := range scores {
		s := &scores[i]
		if s.each == nil {
			s.share, s.refused = of.over(s.name, filter)
		}
		s.name += "/" + filter
	}
	if _, err := choose.choose(scores); err != nil {
		return err
	}
	if len(scores) > 0 && (choose.taken == "" || filterOf(choose.taken) != filter) {
		return nil // the row of another filter
	}
	if of.all > 1 && of.seen == 1 && !slices.ContainsFunc(scores, func(s scored) bool { return s.each != nil }) {
		t.note("the metrics are of the first of %d repeats of each document, or the one that the filter takes: lm-eval scores no other", of.all)
	}
	return choose.take(t, id, Rollout{Number: 1, PromptTokens: -1, CompletionTokens: -1}, scores)
}

// lmEvalMetric reads the value of a metric, or a list of its values for each repeat. It
// has no name if it is neither.
func lmEvalMetric(p *pullReader, key string) (s scored, err error) {
	number := func() (v scalar, is bool, err error) {
		v, err = p.Scalar()
		return v, v.Kind == '0' || v.Kind == 't' || v.Kind == 'f' || v.Kind == 'n', err
	}
	if p.Kind() != '[' {
		v, is, err := number()
		if is {
			s = scored{name: key, value: v}
		}
		return s, err
	}
	s = scored{name: key, each: []scalar{}}
	err = p.List(func(int) error {
		v, is, err := number()
		if s.each = append(s.each, v); !is || len(s.each) > maxRepeats {
			s.each = s.each[:0] // no list of values
		}
		return err
	})
	return s, err
}

// shape is how many values a list has, in all and in the longest of its lists.
type shape struct{ values, most int }

func (s *shape) read(p *pullReader, depth int) error {
	if p.Kind() != '[' {
		s.values++
		return p.Skip()
	}
	return p.List(func(i int) error {
		if depth == 1 {
			s.most = max(s.most, i+1)
		}
		return s.read(p, depth+1)
	})
}

// repeats is how many responses a document has, by the shape of resps, a list of them
// for each request; and how many of them the filter left for the metrics.
func (s shape) repeats(filtered shape) repeats {
	all := s.most
	if all == 0 {
		all = s.values
	}
	if all == 0 {
		return repeats{}
	}
	return repeats{all, max(1, min(all, all*filtered.values/s.values))}
}
