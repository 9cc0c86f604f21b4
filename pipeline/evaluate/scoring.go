package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"speceval/internal/evaluation"
	"speceval/internal/servers/pool"
	"speceval/internal/store/rollout"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
	"speceval/stages/score"
)

// equipment serves all evaluations of a command: the servers that they ask, and the
// scorers of their answers with the judges, whose limits are of the whole machine.
type equipment struct {
	servers, judges *pool.Servers
	scored          func() (score.Settings, error) // by the rules of the score stage
}

// equip is the equipment of evaluations of some models on the benchmarks.
func (b *Benchmark) equip(h Host, models ...config.Model) *equipment {
	cfg := *b.Config
	cfg.Models = models
	judges := experiment.Judges(&cfg, h.Outside)
	return &equipment{experiment.Servers(&cfg, h.Outside), judges, sync.OnceValues(func() (score.Settings, error) {
		s, _, err := experiment.ScoreSettings(&cfg, h.Outside, judges, b.files)
		if err != nil {
			err = &RequestError{err}
		}
		return s, err
	})}
}

// close lets go of all, and adds what goes wrong to an error.
func (e *equipment) close(err *error) {
	*err = errors.Join(*err, e.servers.Close(context.Background()), e.judges.Close(context.Background()))
}

// rules is the digest of what verdicts on the model's answers depend on besides these.
func (s *Subject) rules(by score.Settings) string {
	var text []byte
	for k, f := range s.files {
		rules := by.Rules(f.ID, s.model.ID)
		text = append(text, by.Benchmarks[k].Answers.SHA256...)
		for _, key := range slices.Sorted(maps.Keys(rules)) {
			text = fmt.Appendf(text, "\n%s=%s", key, rules[key])
		}
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// within does something with the settings of an evaluation, still without servers, while its
// folder is locked and the scorers of all benchmarks are open.
func (s *Subject) within(ctx context.Context, e *equipment, setup evaluation.Setup, folder string, h Host, do func(evaluation.Settings) error) (err error) {
	by, err := e.scored()
	if err != nil {
		return err
	}
	lock, err := s.lock(folder, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	var all []*score.Scorers // by benchmark
	for _, f := range s.files {
		scorers, err := by.Open(ctx, f.ID, s.model.ID)
		if err != nil {
			return fmt.Errorf("answers on %s cannot be scored: %w", f.ID, err)
		}
		defer scorers.Release()
		all = append(all, scorers)
	}
	settings := s.settings(setup, folder)
	settings.Rules, settings.Host = s.rules(by), h.Host
	settings.Score = func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
		at, task := 0, int(r.TaskIndex)
		for task >= len(s.files[at].Tasks) {
			task -= len(s.files[at].Tasks)
			at++
		}
		own := *r
		own.TaskIndex = int32(task)
		score, err := all[at].Score(ctx, &own)
		if err != nil {
			return nil, err
		}
		score.Benchmark, score.TaskIndex, score.TaskID = s.tasks.ID, r.TaskIndex, s.tasks.Tasks[r.TaskIndex].ID
		return score, nil
	}
	return do(settings)
}
