package config

import (
	"fmt"
	"slices"

	"speceval/internal/profile"
)

// Profiles reads the profiles of the corpus, sorted by benchmark and model,
// degenerate ones included. A file of the user's ([corpus] profiles) is used
// whole; of the published profiles, held in memory and called name, those of
// the listed models on the listed benchmarks.
func (c *Config) Profiles(published []byte, name string) ([]profile.Profile, error) {
	if c.Corpus.Profiles != "" {
		profiles, err := profile.Read(c.Corpus.Profiles)
		if err != nil {
			return nil, fmt.Errorf("corpus.profiles: %w", err)
		}
		return profiles, nil
	}
	profiles, err := profile.Parse(published, name)
	if err != nil {
		return nil, err
	}
	for _, m := range c.Models {
		if !slices.ContainsFunc(profiles, func(p profile.Profile) bool { return p.Model == m.ID }) {
			return nil, fmt.Errorf("model %q: %s has no profile of this model", m.ID, name)
		}
	}
	for _, b := range c.Benchmarks {
		if !slices.ContainsFunc(profiles, func(p profile.Profile) bool { return p.Benchmark == b.ID }) {
			return nil, fmt.Errorf("benchmark %q: %s has no profile on this benchmark", b.ID, name)
		}
	}
	return slices.DeleteFunc(profiles, func(p profile.Profile) bool { return !c.covers(p) }), nil
}

// StandIn says, for plans, which profiles make generating and scoring
// unnecessary; published is the name of the published ones.
func (c Corpus) StandIn(published string) string {
	if c.Profiles != "" {
		return "profiles from " + c.Profiles
	}
	return "published profiles stand in: " + published
}

// covers reports whether the experiment lists the model and the benchmark.
func (c *Config) covers(p profile.Profile) bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool { return m.ID == p.Model }) &&
		slices.ContainsFunc(c.Benchmarks, func(b Benchmark) bool { return b.ID == p.Benchmark })
}
