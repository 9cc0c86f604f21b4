package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	undisturbed "speceval/drills/lab"
)

// spoiled are ways to spoil a manifest; other is that of another unit.
var spoiled = []struct {
	name string
	do   func(text, other []byte, m *undisturbed.Moments) []byte
}{
	{"truncated", func(text, _ []byte, m *undisturbed.Moments) []byte {
		return text[:1+m.Below(len(bytes.TrimSpace(text))-1)]
	}},
	{"random", func(text, _ []byte, m *undisturbed.Moments) []byte {
		for i := range text {
			text[i] = byte(m.Below(256))
		}
		return text
	}},
	{"another unit's", func(_, other []byte, _ *undisturbed.Moments) []byte { return other }},
	{"of another format", func(text, _ []byte, _ *undisturbed.Moments) []byte {
		return bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 7`), 1)
	}},
	{"of another shape", func([]byte, []byte, *undisturbed.Moments) []byte {
		return []byte(`{"format": 1, "key": ["a"], "outputs": "none"}`)
	}},
	{"a list", func([]byte, []byte, *undisturbed.Moments) []byte { return []byte("[]") }},
	{"null", func([]byte, []byte, *undisturbed.Moments) []byte { return []byte("null") }},
	{"edited", func(text, _ []byte, _ *undisturbed.Moments) []byte {
		return bytes.Replace(text, []byte(`"seed": "`), []byte(`"seed": "x`), 1)
	}},
	{"empty", func([]byte, []byte, *undisturbed.Moments) []byte { return nil }},
}

// manifests damages a manifest of every stage, in every way.
func (l *lab) manifests(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(l.seed, "manifests")
	for i := range l.often(2, len(spoiled)) {
		out, err := l.copied(fmt.Sprintf("manifests-%d", i))
		if err != nil {
			return err
		}
		var names []string
		for j, stage := range undisturbed.Stages {
			how := spoiled[(i*len(undisturbed.Stages)+j)%len(spoiled)]
			units, err := undisturbed.Units(out, stage)
			if err != nil {
				return err
			}
			at := moments.Below(len(units))
			text, err := os.ReadFile(units[at].Path)
			if err != nil {
				return err
			}
			other, err := os.ReadFile(units[(at+1)%len(units)].Path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(units[at].Path, how.do(text, other, moments), 0o666); err != nil {
				return err
			}
			names = append(names, fmt.Sprintf("%s: %s", units[at].Name(), how.name))
		}
		s, err := l.status(ctx, out)
		for _, stage := range undisturbed.Stages {
			if err == nil {
				err = s.expect(stage, "manifest cannot be used", 1)
			}
		}
		if err != nil {
			return fmt.Errorf("%v: %w", names, err)
		}
		if err := l.finish(ctx, t, out); err != nil {
			return fmt.Errorf("%v: %w", names, err)
		}
	}
	t.injured("%d in %d ways", l.often(2, len(spoiled))*len(undisturbed.Stages), len(spoiled))
	return nil
}
