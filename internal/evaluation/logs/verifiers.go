package logs

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// verifiersRow is a row of either form.
type verifiersRow struct {
	ID      taskID         `json:"id"`
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

// readVerifiers reads traces.jsonl of Verifiers, a row for every episode, and results.jsonl of
// its earlier versions, a row for every rollout.
func readVerifiers(b *book, path string) error {
	var about struct {
		ID    string `json:"env_id"`
		Env   string `json:"env"`
		Model string `json:"model"`
	}
	beside(path, "metadata.json", &about)
	d, env, models := b.draft("", ""), "", []string(nil)
	err := rows(path, func(r *verifiersRow) error {
		env = cmp.Or(env, r.Env.Name, r.Env.ID)
		for _, t := range r.Traces {
			for _, call := range append(t.Calls, t.Agent.Config) {
				if call.Model != "" && !slices.Contains(models, call.Model) && len(models) < 64 {
					models = append(models, call.Model)
				}
			}
		}
		if r.Traces == nil && r.Task.of("key") == nil && r.Task.of("hash") == nil {
			return d.result(r)
		}
		return d.episode(r)
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
func (d *draft) result(r *verifiersRow) error {
	switch {
	case r.Example.text == "":
		return errors.New("it has no example_id, by which rollouts of one task are recognised: evaluate with Verifiers 0.1.6 or newer")
	case !null(r.Error) && string(r.Error) != `""`:
		return d.addScored(row{left: "the rollout ended in an error"})
	}
	scores := members{{"reward", r.Reward}}
	for _, m := range r.Metrics {
		scores = append(scores, member{"metrics/" + m.name, m.value})
	}
	return d.addScored(row{Rollout: r.Usage.rollout(d.next(r.Example), ""), id: r.Example, scores: scores})
}

// episode takes a row of traces.jsonl. Of several traces the first counts.
func (d *draft) episode(r *verifiersRow) error {
	var id taskID
	err := id.UnmarshalJSON(r.Task.of("key"))
	if err == nil && id.text == "" {
		err = id.UnmarshalJSON(r.Task.of("hash"))
	}
	switch {
	case err != nil:
		return err
	case id.text == "":
		return errors.New("its task has neither key nor hash, by which rollouts of one task are recognised")
	case r.OK != nil && !*r.OK:
		return d.addScored(row{left: "the episode ended in an error"})
	case len(r.Traces) == 0:
		return d.addScored(row{left: unscored})
	case len(r.Traces) > 1:
		d.note("its episodes have several traces: the first of each counts")
	}
	t := r.Traces[0]
	scores, total := members{{"reward", nil}}, 0.0
	for _, m := range t.Rewards {
		part := struct {
			Score  jsontext.Value `json:"score"`
			Weight *float64       `json:"weight"` // 1 if there is none
		}{}
		if err := parse(m.value, &part); err != nil {
			return err
		}
		score, err := strconv.ParseFloat(string(part.Score), 64)
		if err != nil {
			continue // it is not scored by this one
		}
		if part.Weight != nil {
			score *= *part.Weight
		}
		total += score
		scores[0].value = jsontext.Value(strconv.FormatFloat(total, 'g', -1, 64))
		scores = append(scores, member{"rewards/" + m.name, part.Score})
	}
	return d.addScored(row{Rollout: ioTokens{t.Input, t.Output}.rollout(d.next(id), r.ID.text), id: id, scores: scores})
}
