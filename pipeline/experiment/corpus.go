package experiment

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"speceval/data"
	"speceval/internal/profile"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/generate"
	"speceval/stages/score"
)

// corpus is what is evaluated, and the stages that make its profiles.
type corpus struct {
	pairs     []pair.Pair       // sorted by benchmark, then model
	leftOut   []profile.Profile // known ones that cannot be evaluated
	published bool              // their profiles are the paper's
	generate  dag.Stage
	score     dag.Stage
	notes     []string // what the user should know

	// close ends the servers that answer and judge; nil: there are none.
	close func(ctx context.Context) error
}

// newCorpus is the corpus that the configuration asks for.
func newCorpus(cfg *config.Config, o Outside) (corpus, error) {
	if cfg.Corpus.Source == config.SourceVLLM {
		return sampledCorpus(cfg, o)
	}
	return knownCorpus(cfg)
}

// knownCorpus is one whose profiles stand in for rollouts: the paper's, or a
// file of the user's.
func knownCorpus(cfg *config.Config) (corpus, error) {
	all, err := cfg.Profiles(data.Profiles(), data.ProfilesName)
	if err != nil {
		return corpus{}, err
	}
	profiles, degenerate, err := profile.Evaluated(all)
	if err != nil {
		return corpus{}, err
	}
	standIn := cfg.Corpus.StandIn(data.ProfilesName)
	c := corpus{pairs: pair.AllKnown(profiles), leftOut: degenerate, generate: generate.Satisfied(standIn), score: score.Satisfied(standIn)}
	for _, p := range degenerate {
		c.notes = append(c.notes, p.Name()+" is left out: its variance is zero, every task passes always or never")
	}
	c.published, err = arePublished(profiles)
	return c, err
}

// arePublished reports whether profiles, evaluated ones, are exactly the
// paper's: only then do its numbers apply. Both are sorted.
func arePublished(profiles []profile.Profile) (bool, error) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return false, err
	}
	papers, _, err := profile.Evaluated(all)
	return slices.EqualFunc(profiles, papers, func(a, b profile.Profile) bool {
		return a.SHA256() == b.SHA256()
	}), err
}

// sampledCorpus is one whose rollouts are sampled from servers, and scored.
func sampledCorpus(cfg *config.Config, o Outside) (corpus, error) {
	servers, judges := Servers(cfg, o), Judges(cfg, o)
	tasks, err := readTasks(cfg)
	if err != nil {
		return corpus{}, err
	}
	sampled, err := generateSettings(cfg, servers, tasks)
	if err != nil {
		return corpus{}, err
	}
	scored, notes, err := ScoreSettings(cfg, o, judges, tasks)
	if err != nil {
		return corpus{}, err
	}
	stage, err := score.Stage(scored)
	if err != nil {
		return corpus{}, err
	}
	pairs := score.Pairs(scored)
	slices.SortFunc(pairs, func(a, b pair.Pair) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model))
	})
	return corpus{
		pairs: pairs, generate: generate.Stage(sampled), score: stage, notes: notes,
		close: func(ctx context.Context) error { return errors.Join(servers.Close(ctx), judges.Close(ctx)) },
	}, nil
}

// end ends the servers that rollouts are sampled from.
func (c corpus) end(ctx context.Context) error {
	if c.close == nil {
		return nil
	}
	return c.close(ctx)
}
