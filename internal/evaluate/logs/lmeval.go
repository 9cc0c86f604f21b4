package logs

import (
	"bytes"
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// lmEval is samples_<task>_<time>.jsonl of lm-evaluation-harness: a row for every
// document and filter. Versions before 0.4 name no filter.
var lmEval = format{
	name: "lm-eval",
	is: func(path string, h head) (string, bool) {
		return path, strings.HasSuffix(path, ".jsonl") && h.has("doc_id") && (h.has("filtered_resps") || h.has("resps"))
	},
	read: readLMEval,
}

// lmEvalKeys are keys of a row that do not name a metric.
var lmEvalKeys = []string{"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}

func readLMEval(b *book, path string) error {
	task, at := filepath.Base(path), ""
	if name := trimmed(task, "samples_", ".jsonl"); name != "" {
		if cut := strings.LastIndexByte(name, '_'); cut > 0 {
			task, at = name[:cut], name[cut+1:]
		} else {
			task = name
		}
	}
	about := struct {
		Model string         `json:"model_name"`
		Date  jsontext.Value `json:"date"`
	}{Model: folder(path, 0)}
	beside(path, "results_"+at+".json", &about)
	d, err := b.draft(task, about.Model)
	if err != nil {
		return err
	}
	d.Created = moment(about.Date)
	if b.choice.Score != nil {
		d.Scorer = b.choice.Scorer
		seen := make(map[taskID]bool) // a document has a row for each filter
		return rows(path, func(row *members) error { return d.rescored(*row, seen, b.choice.Score) })
	}
	return rows(path, func(row *members) error { return d.metrics(*row) })
}

// metrics takes a row: its metrics, as METRIC/FILTER, are of one response to a
// document, or of several.
func (d *draft) metrics(row members) error {
	id, err := idOf(row.of("doc_id"))
	if err == nil && id.text == "" {
		err = errors.New("it has no doc_id")
	}
	if err != nil {
		return err
	}
	filter, _ := textOf(row.of("filter"))
	of := repeatsOf(row.of("resps"), row.of("filtered_resps"))
	var single, lists []scored
	for _, m := range row {
		if slices.Contains(lmEvalKeys, m.name) {
			continue
		}
		s := scored{name: joined("/", m.name, filter), value: m.value}
		switch m.value.Kind() {
		case '0', 't', 'f', 'n':
			s.share, s.refused = of.over(m.name, filter)
			single = append(single, s)
		case '[':
			if s.each, _ = listOf(m.value); len(s.each) > 1 && len(s.each) == of.all && !slices.ContainsFunc(s.each, func(v jsontext.Value) bool {
				return v.Kind() == '"' || v.Kind() == '[' || v.Kind() == '{'
			}) {
				lists = append(lists, s)
			}
		}
	}
	scores := append(lists, single...)
	if _, err := d.choice.of(scores); err != nil {
		return err
	}
	if _, taken, _ := strings.Cut(d.taken, "/"); len(scores) > 0 && (d.taken == "" || taken != filter) {
		return nil // the row of another filter
	}
	if of.all > 1 && of.seen == 1 && len(lists) == 0 {
		d.note("the metrics are of the first of %d repeats of each document, or the one that the filter takes; --scorer NAME scores all of them", of.all)
	}
	return d.take(id, Rollout{Number: 1, PromptTokens: -1, CompletionTokens: -1}, scores)
}

// rescored takes all responses to a document, each with the reward of a scorer of ours.
func (d *draft) rescored(row members, seen map[taskID]bool, score func(gold, response string) float64) error {
	id, err := idOf(row.of("doc_id"))
	if err != nil || seen[id] {
		return err
	}
	seen[id] = true
	gold, err := textOf(row.of("target"))
	if err != nil || gold == "" {
		return errors.Join(err, errors.New("its target is no text: --scorer compares answers with it"))
	}
	requests, _ := listOf(row.of("resps"))
	for number := 0; len(requests) > 0; requests = requests[1:] {
		responses, is := listOf(requests[0])
		if !is {
			responses = requests[:1]
		}
		for _, r := range responses {
			text, err := textOf(r)
			if err != nil || r.Kind() != '"' {
				return errors.Join(err, errors.New("its resps are no texts: --scorer reads answers"))
			}
			number++
			if err := d.add(id, Rollout{Number: number, Reward: score(gold, text), PromptTokens: -1, CompletionTokens: -1}); err != nil {
				return err
			}
		}
	}
	return nil
}

// repeatsOf counts the responses to a document in resps, a list of them for each request,
// and the responses that the filter left for the metrics.
func repeatsOf(resps, filtered jsontext.Value) (of repeats) {
	requests, _ := listOf(resps)
	for _, r := range requests {
		if responses, is := listOf(r); is {
			of.all = max(of.all, len(responses))
		}
	}
	of.all = cmp.Or(of.all, len(requests))
	of.seen = of.all
	if given := leaves(resps); filtered.Kind() == '[' && given > 0 {
		of.seen = max(1, min(of.all, of.all*leaves(filtered)/given))
	}
	return of
}

// leaves counts the values in lists of lists.
func leaves(v jsontext.Value) (n int) {
	for d := decode(bytes.NewReader(v)); ; {
		switch d.PeekKind() {
		case 0: // the end
			return n
		case '[', ']':
			d.ReadToken()
		default:
			d.SkipValue()
			n++
		}
	}
}
