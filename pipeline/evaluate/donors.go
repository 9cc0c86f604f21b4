package evaluate

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/evaluate/logs"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/store/rowfile"
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
	path, _, _ := ofModel(source)
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

// ofModel is the file of FILE#MODEL and its model, or else the whole of a word. A file's name may
// have a # as well.
func ofModel(word string) (path, model string, one bool) {
	at := strings.LastIndexByte(word, '#')
	if _, err := os.Stat(word); err == nil || at < 0 {
		return word, "", false
	}
	return word[:at], word[at+1:], true
}

// profiled is the profiles of a file: all of the benchmark, or one model's.
func (b *Benchmark) profiled(source, evaluated string) (all []evaluation.Donor, err error) {
	path, model, one := ofModel(source)
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
