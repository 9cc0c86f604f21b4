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
	Example jsontext.Value `json:"example_id"`
	Error   jsontext.Value `json:"error"`
	Reward  jsontext.Value `json:"reward"`
	Metrics members        `json:"metrics"`
	Usage   ioTokens       `json:"token_usage"`

	Env struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"env"`
	Task   members          `json:"task"` // key, hash
	OK     *bool            `json:"ok"`
	Traces []verifiersTrace `json:"traces"`
}

// ioTokens are tokens as several tools count them.
type ioTokens struct {
	Input  *float64 `json:"input_tokens"`
	Output *float64 `json:"output_tokens"`
}

// verifiersTrace is a trace of an episode, whose reward is the sum of its rewards by their
// weights.
type verifiersTrace struct {
	Rewards members  `json:"rewards"`
	Input   *float64 `json:"num_input_tokens"`
	Output  *float64 `json:"num_output_tokens"`
	Agent   struct {
		Config modelName `json:"config"`
	} `json:"agent"`
	Calls []modelName `json:"calls"`
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
	d, err := b.draft("", "")
	if err != nil {
		return err
	}
	env, models := "", []string(nil)
	err = rows(path, func(row *verifiersRow) error {
		env = cmp.Or(env, row.Env.Name, row.Env.ID)
		for _, t := range row.Traces {
			for _, call := range append(t.Calls, t.Agent.Config) {
				if call.Model != "" && !slices.Contains(models, call.Model) && len(models) < maxNames {
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
	id, err := idOf(row.Example)
	switch k := row.Error.Kind(); {
	case err != nil:
		return err
	case id.text == "":
		return errors.New("it has no example_id, by which rollouts of one task are recognised: evaluate with Verifiers 0.1.6 or newer")
	case k != 0 && k != 'n':
		d.without("the rollout ended in an error")
		return nil
	}
	scores := []scored{{name: "reward", value: row.Reward}}
	for _, m := range row.Metrics {
		scores = append(scores, scored{name: "metrics/" + m.name, value: m.value})
	}
	return d.take(id, Rollout{Number: d.next(id), PromptTokens: tokens(row.Usage.Input), CompletionTokens: tokens(row.Usage.Output)}, scores)
}

// episode takes a row of traces.jsonl. Of several traces the first counts.
func (d *draft) episode(row *verifiersRow) error {
	id, err := idOf(row.Task.of("key"))
	if err == nil && id.text == "" {
		id, err = idOf(row.Task.of("hash"))
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
	scores := []scored{{name: "reward"}}
	total := 0.0
	for _, m := range t.Rewards {
		var part struct {
			Score  jsontext.Value `json:"score"`
			Weight *float64       `json:"weight"` // 1 if there is none
		}
		if err := parse(m.value, &part); err != nil {
			return err
		}
		if part.Score.Kind() != '0' {
			continue
		}
		if part.Weight == nil {
			part.Weight = new(1.0)
		}
		score, _ := strconv.ParseFloat(string(part.Score), 64)
		total += score * *part.Weight
		scores[0].value = jsontext.Value(strconv.FormatFloat(total, 'g', -1, 64))
		scores = append(scores, scored{name: "rewards/" + m.name, value: part.Score})
	}
	r := Rollout{Number: d.next(id), PromptTokens: tokens(t.Input), CompletionTokens: tokens(t.Output), Identity: identity(row.ID)}
	return d.take(id, r, scores)
}
