package harness

import (
	"errors"
	"path/filepath"
	"strings"
)

// verifiersFormat is traces.jsonl of Verifiers, a row for every episode, and
// results.jsonl of its earlier versions, a row for every rollout.
func verifiersFormat() format {
	traces := func(f *file) bool { return f.has("traces", "task") }
	return format{
		name: "verifiers",
		is: func(f *file) bool {
			return f.named(".jsonl") && f.starts('{') && (traces(f) || f.has("completion", "reward") && f.has("prompt"))
		},
		read: each(func(f *file, c Choice) ([]Log, error) {
			v := &verifiersLog{chooser: chooser{wanted: c.Scorer}, logBuilder: newLogBuilder(Log{Format: "verifiers", Source: f.path, Complete: true})}
			read := v.result
			if traces(f) {
				read = v.episode
			}
			if err := errors.Join(v.from(f), lines(f, read)); err != nil {
				return nil, err
			}
			v.describe(f)
			if err := v.settle(v.logBuilder); err != nil {
				return nil, err
			}
			log, err := v.done()
			return []Log{log}, err
		}),
	}
}

// verifiersLog is a log of Verifiers that is being read.
type verifiersLog struct {
	*logBuilder
	chooser
	models []string // of the traces, the first ones
}

// describe says what was evaluated: by the rows, by metadata.json, or by the name of
// the folder, <environment>--<model>--<harness>.
func (v *verifiersLog) describe(f *file) {
	log := &v.log
	if meta := sibling(filepath.Join(filepath.Dir(f.path), "metadata.json"), "env_id", "env", "model"); log.Benchmark == "" {
		log.Benchmark, log.Model = meta.first("env_id", "env"), meta.text("model")
	}
	if len(v.models) > 0 {
		log.Model = v.models[0]
	}
	if len(v.models) > 1 {
		v.note("its traces are by several models, %s", strings.Join(v.models, ", "))
	}
	for n := range 2 {
		parts := strings.Split(f.folder(n), "--")
		if len(parts) < 2 {
			continue
		}
		if log.Benchmark == "" {
			log.Benchmark = parts[0]
		}
		if log.Model == "" {
			log.Model = parts[1]
		}
	}
}

// result reads a row of results.jsonl.
func (v *verifiersLog) result(p *pullReader) error {
	r, err := pick(p, "*", "metrics.*", "token_usage.input_tokens", "token_usage.output_tokens")
	if err != nil {
		return err
	}
	id := r.id("example_id")
	if id.text == "" {
		return errors.New("it has no example_id, by which rollouts of one task are recognised: evaluate with Verifiers 0.1.6 or newer")
	}
	if kind := r.values["error"].Kind; kind != 0 && kind != 'n' {
		v.without("the rollout ended in an error")
		return nil
	}
	scores := append([]scored{{name: "reward", value: r.values["reward"]}}, r.scores("metrics.", "metrics/")...)
	return v.take(v.logBuilder, id, Rollout{
		Number: v.next(id), PromptTokens: r.count("token_usage.input_tokens"), CompletionTokens: r.count("token_usage.output_tokens"),
	}, scores)
}

// episode reads a row of traces.jsonl. The reward of a trace is the sum of its rewards
// by their weights; of several traces the first counts.
func (v *verifiersLog) episode(p *pullReader) error {
	var task, env record
	var scores []scored
	ok := true
	tokens := Rollout{PromptTokens: -1, CompletionTokens: -1}
	err := p.Object(func(key string) (err error) {
		switch key {
		case "id":
			name, err := p.Word()
			tokens.Identity = identity(name)
			return err
		case "env":
			env, err = pick(p, "id", "name")
		case "task":
			task, err = pick(p, "key", "hash")
		case "ok":
			word, err := p.Word()
			ok = word != "false"
			return err
		case "traces":
			return p.List(func(i int) error {
				if i > 0 {
					v.note("its episodes have several traces: the first of each counts")
					return p.Skip()
				}
				scores, err = v.trace(p, &tokens)
				return err
			})
		default:
			err = p.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if v.log.Benchmark == "" {
		v.log.Benchmark = env.first("name", "id")
	}
	id := task.id("key", "hash")
	switch {
	case id.text == "":
		return errors.New("its task has neither key nor hash, by which rollouts of one task are recognised")
	case !ok:
		v.without("the episode ended in an error")
		return nil
	}
	tokens.Number = v.next(id)
	return v.take(v.logBuilder, id, tokens, scores)
}

// trace reads a trace: its reward, and each that it is the sum of.
func (v *verifiersLog) trace(p *pullReader, tokens *Rollout) ([]scored, error) {
	sum := scalar{Kind: 'n'}
	var parts []scored
	err := p.Object(func(key string) error {
		switch key {
		case "rewards":
			return p.Object(func(name string) error {
				if p.Kind() == 'n' {
					return p.Skip()
				}
				r, err := pick(p, "score", "weight")
				score, weight := r.values["score"], r.values["weight"]
				if score.Kind != '0' {
					return err
				}
				if weight.Kind != '0' {
					weight.Number = 1
				}
				sum = scalar{Kind: '0', Number: sum.Number + score.Number*weight.Number}
				if len(parts) < maxNames {
					parts = append(parts, scored{name: "rewards/" + name, value: score})
				}
				return err
			})
		case "agent":
			r, err := pick(p, "config.model")
			v.model(r.text("config.model"))
			return err
		case "num_input_tokens", "num_output_tokens":
			n, err := p.Scalar()
			if n.Kind == '0' && n.Number >= 0 && n.Number < 1<<40 {
				if key == "num_input_tokens" {
					tokens.PromptTokens = int64(n.Number)
				} else {
					tokens.CompletionTokens = int64(n.Number)
				}
			}
			return err
		case "calls":
			return p.List(func(int) error {
				r, err := pick(p, "model")
				v.model(r.text("model"))
				return err
			})
		}
		return p.Skip()
	})
	return append([]scored{{name: "reward", value: sum}}, parts...), err
}

func (v *verifiersLog) model(name string) {
	for _, known := range v.models {
		if known == name {
			return
		}
	}
	if name != "" && len(v.models) < 5 {
		v.models = append(v.models, name)
	}
}
