package logs

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// lmEvalKeys are keys of a row that do not name a metric.
var lmEvalKeys = []string{"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}

// readLMEval reads samples_<task>_<time>.jsonl of lm-evaluation-harness: a row for every
// document and filter. Versions before 0.4 name no filter.
func readLMEval(b *book, path string) error {
	task, at := strings.TrimSuffix(strings.TrimPrefix(base(path), "samples_"), ".jsonl"), ""
	if cut := strings.LastIndexByte(task, '_'); cut > 0 {
		task, at = task[:cut], task[cut+1:]
	}
	about := struct {
		Model string `json:"model_name"`
	}{folder(path, 0)}
	beside(path, "results_"+at+".json", &about)
	d := b.draft(task, about.Model)
	d.Scorer = b.Scorer
	seen := make(map[taskID]bool)
	return rows(path, func(row *members) error {
		var id taskID
		err := id.UnmarshalJSON(row.of("doc_id"))
		switch again := seen[id]; {
		case err != nil:
			return err
		case id.text == "":
			return errors.New("it has no doc_id")
		case b.Score == nil:
			return d.metrics(id, *row)
		case again: // a document has a row for each filter
			return nil
		}
		seen[id] = true
		return d.rescored(id, *row, b.Score)
	})
}

// metrics takes a row: its metrics, as METRIC/FILTER, are of one response to a document, or
// of several. Those that have a value for each response come first.
func (d *draft) metrics(id taskID, fields members) error {
	filter, _ := textOf(fields.of("filter"))
	of := responsesOf(fields.of("resps"), fields.of("filtered_resps"))
	var lists, single members
	for _, m := range fields {
		s := member{joined("/", m.name, filter), m.value}
		switch {
		case slices.Contains(lmEvalKeys, m.name):
		case of.list(m.value) != nil:
			lists = append(lists, s)
		case strings.ContainsRune(`0tfn`, rune(m.value.Kind())):
			single = append(single, s)
		}
	}
	scores := append(lists, single...)
	if err := d.choose(scores, of); err != nil {
		return err
	}
	if _, taken, _ := strings.Cut(d.taken, "/"); len(scores) > 0 && (d.taken == "" || taken != filter) {
		return nil // the row of another filter
	}
	if of.all > 1 && of.seen == 1 && len(lists) == 0 {
		d.note("the metrics are of the first of %d repeats of each document, or the one that the filter takes; --scorer NAME scores all of them", of.all)
	}
	return d.addScored(row{Rollout: ioTokens{}.rollout(1, ""), id: id, scores: scores, of: of})
}

// rescored takes all responses to a document, each with the reward of a scorer of ours.
func (d *draft) rescored(id taskID, row members, score func(gold, response string) (float64, error)) error {
	gold, err := textOf(row.of("target"))
	if err != nil || gold == "" {
		return cmp.Or(err, errors.New("its target is no text: --scorer compares answers with it"))
	}
	number := 0
	for _, request := range listOf(row.of("resps")) {
		responses := listOf(request)
		if responses == nil {
			responses = []jsontext.Value{request}
		}
		for _, r := range responses {
			text, err := textOf(r)
			if err != nil || r.Kind() != '"' {
				return cmp.Or(err, errors.New("its resps are no texts: --scorer reads answers"))
			}
			number++
			next := ioTokens{}.rollout(number, "")
			if next.Reward, err = score(gold, text); err == nil {
				err = d.addRollout(id, next)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// responsesOf counts the responses to a document in resps, a list of them for each request,
// and the responses that the filter left for the metrics.
func responsesOf(resps, filtered jsontext.Value) *responses {
	of, requests := new(responses), listOf(resps)
	for _, r := range requests {
		of.all = max(of.all, len(listOf(r)))
	}
	of.all = cmp.Or(of.all, len(requests))
	of.seen = of.all
	if given := leaves(resps, 4); resps.Kind() == '[' && filtered.Kind() == '[' && given > 0 {
		of.seen = max(1, min(of.all, of.all*leaves(filtered, 4)/given))
	}
	return of
}

// leaves counts the values in lists of lists, to a depth.
func leaves(v jsontext.Value, deep int) (n int) {
	if v.Kind() != '[' || deep == 0 {
		return 1
	}
	for _, inner := range listOf(v) {
		n += leaves(inner, deep-1)
	}
	return n
}
