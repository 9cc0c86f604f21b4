package evaluate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/evaluate/logs"
	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// donors reads what is known of the benchmark's tasks. The evaluation of the model under
// the seed is none of it; model is "" where no model is evaluated yet.
func (b *Benchmark) donors(k evaluation.Spec, model string, seed uint64) (all []evaluation.Donor, err error) {
	all = append(all, b.inline...)
	for _, source := range k.Prior {
		found, err := b.found(source, k, model, seed)
		if err != nil {
			return nil, requestf("--prior %s: %w", source, err)
		}
		for _, d := range found {
			if !slices.ContainsFunc(d.Rollouts, func(n int) bool { return n > 0 }) {
				return nil, requestf("--prior %s: %s has none of the tasks of %s: are they of another benchmark?", source, d.Name, b.tasks.ID)
			}
			if slices.ContainsFunc(all, func(other evaluation.Donor) bool { return other.Source == d.Source }) {
				return nil, requestf("--prior %s: it is there twice", source)
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// found is the content of a source: an evaluation, a file of profiles, or a log of a harness.
func (b *Benchmark) found(source string, k evaluation.Spec, model string, seed uint64) ([]evaluation.Donor, error) {
	path, _, _ := strings.Cut(source, "#")
	switch _, err := os.Stat(path); filepath.Ext(path) {
	case ".csv":
		return b.profiled(source, model)
	case ".parquet":
		found, err := b.profiled(source, model)
		var missing *rowfile.MissingColumnError
		if errors.As(err, &missing) {
			return b.logged(path, k.Reward, model)
		}
		return found, err
	default:
		if _, none := find(b.out(), source); err == nil && none != nil {
			return b.logged(path, k.Reward, model)
		}
	}
	return b.evaluated(source, k.OtherPrompts, model, seed)
}

// logged is the logs of harnesses at a path. Theirs is the choice of names: what counts
// is whether they have the benchmark's tasks.
func (b *Benchmark) logged(path, reward, model string) (all []evaluation.Donor, err error) {
	read, _, err := logs.Choice{Reward: reward, Strict: true}.Read(path)
	if err != nil {
		return nil, err
	}
	for _, log := range read {
		d := b.donor(log.Benchmark+" "+log.Model, log.Source, log.Model == model)
		graded := false
		for _, t := range log.Tasks {
			at, there := d.at[t.ID]
			if !there {
				continue
			}
			rewards := 0.0
			for _, r := range t.Rollouts {
				rewards += r.Reward
				graded = graded || r.Reward != 0 && r.Reward != 1
			}
			set(&d.Counts, at, len(t.Rollouts), rewards)
		}
		if !graded && !log.Allocated {
			d.Fixed = []evaluation.Counts{d.Counts}
		}
		all = append(all, d.Donor)
	}
	return all, nil
}

// profiled is the profiles of a file: all of the benchmark, or one model's.
func (b *Benchmark) profiled(source, evaluated string) (all []evaluation.Donor, err error) {
	path, model, one := strings.Cut(source, "#")
	profiles, err := profile.ReadAny(path)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, p := range profiles {
		if !b.named(profiles, p.Benchmark) || one && p.Model != model {
			others = append(others, p.Name())
			continue
		}
		d := b.donor(p.Name(), path+"#"+p.Model, p.Model == evaluated)
		for i, id := range p.TaskIDs {
			if at, there := d.at[id]; there {
				set(&d.Counts, at, p.Rollouts(i), p.Reward(i))
			}
		}
		if !p.Allocated && !p.Graded() {
			d.Fixed = []evaluation.Counts{d.Counts}
		}
		all = append(all, d.Donor)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("it has no profile of %s%s, but of %s", b.tasks.ID, with(model), brief(others))
	}
	return all, nil
}

// named reports whether profiles of a name are of these tasks. Another program may call
// the benchmark as it likes, where a file has no other.
func (b *Benchmark) named(profiles []profile.Profile, name string) bool {
	return name == b.tasks.ID || b.outside && !slices.ContainsFunc(profiles, func(p profile.Profile) bool { return p.Benchmark != name })
}

func with(model string) string {
	if model == "" {
		return ""
	}
	return " with " + model
}

// brief lists the first few names.
func brief(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// evaluated is a complete evaluation.
func (b *Benchmark) evaluated(name string, otherPrompts bool, model string, seed uint64) ([]evaluation.Donor, error) {
	stored, err := b.archive().Stored(name)
	var request *RequestError
	if errors.As(err, &request) {
		if _, there := os.Stat(name); errors.Is(there, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; a profile is a file that ends in .csv or .parquet", err)
		}
	}
	if err != nil {
		return nil, err
	}
	r, folder, setup := stored.Result, stored.Folder, stored.Setup
	if is, was := b.tasks.Prompts().SHA256, setup.Asked["prompts"]; is != was && !otherPrompts {
		return nil, fmt.Errorf("it asked other prompts (digest %.12s, of these %.12s): name it with --other-prompts if it knows something of these tasks all the same", was, is)
	}
	if r.Model == model && r.Seed == seed {
		return nil, fmt.Errorf("it has rollouts of this evaluation, %s under seed %d: they would count twice; take another --seed", model, seed)
	}
	d := b.donor(r.Benchmark+" "+r.Model, folder, r.Model == model)
	first, last, graded := b.counts(), b.counts(), false
	for _, t := range r.Rows {
		at, there := d.at[t.ID]
		if !there {
			continue
		}
		n, rewards := t.Counts()
		set(&d.Counts, at, n, rewards)
		for k, stage := range t.Stages {
			graded = graded || stage.Squares != stage.Rewards
			switch {
			case k == 0:
				set(&first, at, stage.Rollouts, stage.Rewards)
			case k == lastStage(r):
				set(&last, at, stage.Rollouts, stage.Rewards)
			}
		}
	}
	if !graded && r.Extends == "" {
		d.Fixed = append(d.Fixed, first)
		if lastStage(r) > 0 {
			d.Fixed = append(d.Fixed, last)
		}
	}
	return []evaluation.Donor{d.Donor}, nil
}

// lastStage is the greatest number of a stage that a task has, from 0.
func lastStage(r *evaluation.Result) (last int) {
	for _, t := range r.Rows {
		last = max(last, len(t.Stages)-1)
	}
	return last
}

// donor is a donor in the making.
type donor struct {
	evaluation.Donor
	at map[string]int
}

func (b *Benchmark) donor(name, source string, same bool) donor {
	d := donor{evaluation.Donor{Name: name, Source: source, Same: same, Counts: b.counts()}, make(map[string]int, len(b.tasks.Tasks))}
	for i, t := range b.tasks.Tasks {
		d.at[t.ID] = i
	}
	return d
}

// counts are of no rollouts yet.
func (b *Benchmark) counts() evaluation.Counts {
	n := len(b.tasks.Tasks)
	return evaluation.Counts{Passes: make([]int, n), Rollouts: make([]int, n)}
}

// set sets the counts of a task.
func set(c *evaluation.Counts, task, rollouts int, rewards float64) {
	c.Rollouts[task], c.Passes[task] = rollouts, int(math.Round(rewards))
}

// Pooled is several evaluations of one model on one benchmark, as one estimate.
type Pooled struct {
	Evaluations   []string          `json:"evaluations"` // as they were named
	Weights       []float64         `json:"weights"`     // of their estimates
	Estimates     []float64         `json:"estimates"`
	Errors        []float64         `json:"standard_errors"`
	Estimate      float64           `json:"estimate"`
	StandardError float64           `json:"standard_error"`
	Interval      [2]float64        `json:"interval"` // 95%
	Rollouts      int               `json:"rollouts"`
	Losses        evaluation.Losses `json:"losses"` // of all, with their weights
	evaluation.SampleError
}

// Pool joins stored evaluations of one model under different seeds.
// Each estimate has a weight by the variance that was expected of it before its first
// rollout, so that the whole is unbiased; the error is by all rollouts. It is a
// *RequestError if they are not of one model that was asked the same.
func (a Archive) Pool(names []string) (*Pooled, error) {
	prior, err := neyman.NewPrior(a.Config.Replay.QuadratureOrder)
	if err != nil {
		return nil, err
	}
	var all []*evaluation.Result
	var first *evaluation.Setup
	for k, name := range names {
		stored, err := a.Stored(name)
		if err != nil {
			return nil, err
		}
		r, setup := stored.Result, stored.Setup
		if k == 0 {
			first = setup
		}
		if err := poolable(first, setup); err != nil {
			return nil, requestf("%s and %s cannot be pooled: %w", names[0], name, err)
		}
		if slices.ContainsFunc(all, func(other *evaluation.Result) bool { return other.Seed == r.Seed }) {
			return nil, requestf("two of them are under seed %d and share rollouts: they would count twice; evaluate under another --seed", r.Seed)
		}
		all = append(all, r)
	}
	return pooled(prior, names, all)
}

// poolable is an error if two evaluations are not of the same model, asked the same.
func poolable(a, b *evaluation.Setup) error {
	switch {
	case a.Benchmark != b.Benchmark || !slices.Equal(a.TaskIDs, b.TaskIDs):
		return fmt.Errorf("they are of different tasks, %s with %d and %s with %d", a.Benchmark, len(a.TaskIDs), b.Benchmark, len(b.TaskIDs))
	case a.Model != b.Model:
		return fmt.Errorf("they are of different models, %s and %s", a.Model, b.Model)
	case !slices.Equal(a.Shares, b.Shares):
		return fmt.Errorf("their tasks have different weights")
	}
	for _, key := range slices.Sorted(maps.Keys(a.Asked)) {
		if a.Asked[key] != b.Asked[key] {
			return fmt.Errorf("they were asked with different %s", key)
		}
	}
	return nil
}

// pooled is the estimate of all: a task's stages are those of every evaluation.
func pooled(prior *neyman.Prior, names []string, all []*evaluation.Result) (*Pooled, error) {
	p := &Pooled{Evaluations: names}
	var parts []estimate.Part
	for _, r := range all {
		part := estimate.Part{Precision: float64(r.Budget)}
		if r.Design.Risk != nil {
			part.Precision /= min(1, *r.Design.Risk)
		}
		for _, t := range r.Rows {
			part.Tasks = append(part.Tasks, estimate.Task{Stages: t.Stages, Share: t.Share})
		}
		parts = append(parts, part)
		p.Estimates, p.Errors = append(p.Estimates, r.Estimate), append(p.Errors, r.StandardError)
		p.Rollouts += r.Rollouts
	}
	m, weights, err := estimate.Pool(prior, parts...)
	if err != nil {
		return nil, err
	}
	p.Weights = weights
	for k, r := range all {
		p.Losses.Add(r.Losses, weights[k])
	}
	p.Estimate, p.StandardError, p.Interval = m.Value, m.StandardError, [2]float64{m.Low, m.High}
	p.SampleError, err = evaluation.OverTasks(m, all[0].Shares(), all[0].ClusterOf())
	return p, err
}

// Text writes the pool for people.
func (p *Pooled) Text(w io.Writer) error {
	for k, name := range p.Evaluations {
		if _, err := fmt.Fprintf(w, "%.4f ± %.4f  weight %.3f  %s\n", p.Estimates[k], p.Errors[k], p.Weights[k], name); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n  together    %.4f ± %.4f, 95%% interval %.4f to %.4f, by %d rollouts\n  %s\n%s",
		p.Estimate, p.StandardError, p.Interval[0], p.Interval[1], p.Rollouts, show.SampleError(p.SampleError), againLine(p.Losses, "lost       ", "mean"))
	return err
}
