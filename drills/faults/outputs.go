package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	undisturbed "speceval/drills/lab"
)

// damage is a way to spoil the content of a file.
type damage struct {
	name string
	do   func(text []byte, m *undisturbed.Moments) []byte
}

// damages are those of outputs.
var damages = []damage{
	{"flipped", func(text []byte, m *undisturbed.Moments) []byte {
		for range 3 {
			text[m.Below(len(text))] ^= 0x55
		}
		return text
	}},
	{"truncated", func(text []byte, m *undisturbed.Moments) []byte { return text[:1+m.Below(len(text)-1)] }},
	{"empty", func([]byte, *undisturbed.Moments) []byte { return nil }},
	{"header only", func(text []byte, _ *undisturbed.Moments) []byte { return text[:4] }},
}

// outputs damages an output of every stage, in every way.
func (l *lab) outputs(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(l.seed, "outputs")
	var rounds []map[string]damage
	if l.small { // every way once, in all stages at a time
		for i := range damages[:2] {
			round := make(map[string]damage)
			for j, stage := range undisturbed.Stages {
				round[stage] = damages[(2*i+j)%len(damages)]
			}
			rounds = append(rounds, round)
		}
	} else {
		for _, stage := range undisturbed.Stages {
			for _, d := range damages {
				rounds = append(rounds, map[string]damage{stage: d})
			}
		}
	}
	done := make(map[string]int)
	for i, round := range rounds {
		if err := l.damageOutputs(ctx, t, fmt.Sprintf("outputs-%d", i), round, moments, done); err != nil {
			return err
		}
	}
	for _, d := range damages {
		t.injured("%s %d", d.name, done[d.name])
	}
	return nil
}

// damageOutputs damages an output of some stages, each in a way of its own.
func (l *lab) damageOutputs(ctx context.Context, t *trial, name string, round map[string]damage, moments *undisturbed.Moments, done map[string]int) error {
	out, err := l.copied(name)
	if err != nil {
		return err
	}
	for _, stage := range undisturbed.Stages {
		d, ok := round[stage]
		if !ok {
			continue
		}
		output, err := pick(out, stage, moments)
		if err != nil {
			return err
		}
		if err := spoil(output, d, moments); err != nil {
			return err
		}
		done[d.name]++
	}
	s, err := l.status(ctx, out)
	for stage, d := range round {
		if err == nil {
			err = s.expect(stage, "not as recorded", 1)
		}
		if err != nil {
			return fmt.Errorf("an output of %s that is %s: %w", stage, d.name, err)
		}
	}
	return l.finish(ctx, t, out)
}

// pick draws an output of a stage: of Parquet, where the stage has such.
func pick(out, stage string, moments *undisturbed.Moments) (path string, err error) {
	units, err := undisturbed.Units(out, stage)
	if err != nil {
		return "", err
	}
	var parquet, all []string
	for _, m := range units {
		for _, f := range m.Outputs {
			path := filepath.Join(out, filepath.FromSlash(f.Path))
			all = append(all, path)
			if filepath.Ext(path) == ".parquet" {
				parquet = append(parquet, path)
			}
		}
	}
	if len(parquet) > 0 && stage != "report" {
		all = parquet
	}
	if len(all) == 0 {
		return "", errors.New("no outputs of " + stage)
	}
	return all[moments.Below(len(all))], nil
}

// spoil damages a file.
func spoil(path string, d damage, moments *undisturbed.Moments) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, d.do(text, moments), 0o666)
}
