package logs

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// verifiers is traces.jsonl of Verifiers, a row for every episode, and results.jsonl of
// its earlier versions, a row for every rollout.
var verifiers = format{
	name: "verifiers",
	is: func(path string, h head) (string, bool) {
		return path, strings.HasSuffix(path, ".jsonl") && (h.has("traces", "task") || h.has("completion", "reward", "prompt"))
	},
	read: readVerifiers,
}

// verifiersRow is a row of either form.
type verifiersRow struct {
	ID      string         `json:"id"`
	Example taskID         `json:"example_id"`
	Error   jsontext.Value `json:"error"`
	Reward  jsontext.Value `json:"reward"`
	Metrics members        `json:"metrics"`
	Usage   ioTokens       `json:"token_usage"`

	Env struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"env"`
	Task   members `json:"task"` // key, hash
	OK     *bool   `json:"ok"`
	Traces []struct {
		Rewards members        `json:"rewards"` // whose sum by weights is the reward
		Input   jsontext.Value `json:"num_input_tokens"`
		Output  jsontext.Value `json:"num_output_tokens"`
		Agent   struct {
			Config modelName `json:"config"`
		} `json:"agent"`
		Calls []modelName `json:"calls"`
	} `json:"traces"`
}

type modelName struct {
	Model string `json:"model"`
}

func readVerifiers(b *book, path string) error {
	var about struct {
		ID    string `json:"env_id"`
		Env   string `json:"env"`
		Model string `json:"model"`
	}
	beside(path, "metadata.json", &about)
	d, env, models := b.draft("", ""), "", []string(nil)
	err := rows(path, func(row *verifiersRow) error {
		env = cmp.Or(env, row.Env.Name, row.Env.ID)
		for _, t := range row.Traces {
			for _, call := range append(t.Calls, t.Agent.Config) {
				if call.Model != "" && !slices.Contains(models, call.Model) && len(models) < 64 {
					models = append(models, call.Model)
				}
			}
		}
		if row.Traces == nil && row.Task.of("key") == nil && row.Task.of("hash") == nil {
			return d.result(row)
		}
		return d.episode(row)
	})
	if len(models) > 1 {
		d.note("its traces are by several models, %s", strings.Join(models, ", "))
	}
	d.Benchmark = cmp.Or(env, about.ID, about.Env)
	d.Model = cmp.Or(append(models, about.Model)...)
	for n := range 2 { // <environment>--<model>--<harness>
		if parts := strings.Split(folder(path, n), "--"); len(parts) > 1 {
			d.Benchmark, d.Model = cmp.Or(d.Benchmark, parts[0]), cmp.Or(d.Model, parts[1])
		}
	}
	return err
}

// result takes a row of results.jsonl.
func (d *draft) result(row *verifiersRow) error {
	switch {
	case row.Example.text == "":
		return errors.New("it has no example_id, by which rollouts of one task are recognised: evaluate with Verifiers 0.1.6 or newer")
	case !null(row.Error):
		d.without("the rollout ended in an error")
		return nil
	}
	scores := members{member{"reward", row.Reward}}
	for _, m := range row.Metrics {
		scores = append(scores, member{"metrics/" + m.name, m.value})
	}
	return d.take(row.Example, row.Usage.rollout(d.next(row.Example)), scores, nil)
}

// episode takes a row of traces.jsonl. Of several traces the first counts.
func (d *draft) episode(row *verifiersRow) error {
	var id taskID
	err := id.UnmarshalJSON(row.Task.of("key"))
	if err == nil && id.text == "" {
		err = id.UnmarshalJSON(row.Task.of("hash"))
	}
	switch {
	case err != nil:
		return err
	case id.text == "":
		return errors.New("its task has neither key nor hash, by which rollouts of one task are recognised")
	case row.OK != nil && !*row.OK:
		d.without("the episode ended in an error")
		return nil
	case len(row.Traces) == 0:
		d.without(unscored)
		return nil
	case len(row.Traces) > 1:
		d.note("its episodes have several traces: the first of each counts")
	}
	t := row.Traces[0]
	scores, total := members{member{"reward", nil}}, 0.0
	for _, m := range t.Rewards {
		var part struct {
			Score  jsontext.Value `json:"score"`
			Weight *float64       `json:"weight"` // 1 if there is none
		}
		if err := parse(m.value, &part); err != nil {
			return err
		}
		score, err := strconv.ParseFloat(string(part.Score), 64)
		if err != nil {
			continue // it is not scored by this one
		}
		if part.Weight == nil {
			part.Weight = new(1.0)
		}
		total += score * *part.Weight
		scores[0] = member{"reward", jsontext.Value(strconv.FormatFloat(total, 'g', -1, 64))}
		scores = append(scores, member{"rewards/" + m.name, part.Score})
	}
	r := ioTokens{t.Input, t.Output}.rollout(d.next(id))
	r.Identity = identity(row.ID)
	return d.take(id, r, scores, nil)
}
