package score

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
	"speceval/internal/servers/ending"
	"speceval/internal/store/journal"
	"speceval/internal/store/profile"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
)

// pass is a unit under way.
type pass struct {
	*scoredRollouts
	scorers *Scorers
	job     *dag.Job
	kept    *journal.Journal[rollout.Score, rollout.ID] // of slow verdicts; nil if there are none
	stored  int                                         // verdicts that earlier attempts had reached
	passed  []int                                       // rollouts, by task

	unparsable atomic.Int64 // answers of the judge
	counting   sync.Mutex   // guards the tally
	tally      ending.Tally // of the responses
}

// run is the unit. The profile is written last: with it, all is there.
func (c *scoredRollouts) run(ctx context.Context, job *dag.Job) (err error) {
	parts, provenance, err := parts(job)
	if err != nil {
		return err
	}
	job.Provenance(provenance)
	s := &pass{scoredRollouts: c, job: job, passed: make([]int, len(c.benchmark.Tasks))}
	if err := s.openKept(); err != nil {
		return err
	}
	if s.kept != nil {
		defer func() { err = errors.Join(err, s.kept.Close()) }()
	}
	if s.scorers, err = c.scorers(ctx); err != nil {
		return err
	}
	defer s.scorers.Release()
	err = job.Write(c.file("scores"), c.total(), func(w io.Writer) error {
		footer := job.Footer(rollout.ScoreSchema)
		footer[rollout.RolloutsKey] = c.rollouts(job)
		if err := rollout.WriteScores(w, s.scores(ctx, parts), footer); err != nil {
			return err
		}
		return c.supersede(job)
	})
	if err != nil {
		return err
	}
	return s.writeProfile(c.profile(s.passed))
}

// writeProfile writes the profile, and notes what is odd about it.
func (s *pass) writeProfile(p profile.Profile) error {
	if p.VarianceSum() == 0 {
		s.job.Note("%s is degenerate: every task passes always or never, so that it is left out of replays and timed runs", p.Name())
	}
	for _, line := range s.tally.Lines(0) {
		s.job.Note("%s: %s", p.Name(), line)
	}
	if n := s.unparsable.Load(); n > 0 {
		s.job.Note("the judge gave no verdict on %d responses, which count as wrong", n)
	}
	return s.job.Write(s.file("profile"), p.N(), func(w io.Writer) error {
		return profile.Write(w, []profile.Profile{p}, s.job.Footer(profile.Schema))
	})
}

// parts are the files of the rollouts, and their provenance: simulated if one is.
func parts(job *dag.Job) (paths []string, provenance string, err error) {
	for _, output := range job.Inputs() {
		path, err := job.Input(output)
		if err != nil {
			return nil, "", err
		}
		_, footer, err := rowfile.ReadFooter(path)
		if err != nil {
			return nil, "", err
		}
		if p := footer["speceval.provenance"]; provenance == "" || p == "simulated" {
			provenance = p
		}
		paths = append(paths, path)
	}
	return paths, provenance, nil
}

// openKept opens the journal of slow verdicts, if there will be some.
func (s *pass) openKept() error {
	if !slices.ContainsFunc(s.families, family.Family.Slow) {
		return nil
	}
	dir, err := s.job.Scratch()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "scores"+journal.Suffix)
	kept, damaged, err := journal.Open(path, (*rollout.Score).ID)
	if err != nil {
		return err
	}
	if damaged > 0 {
		s.job.Note("%d lines of %s were damaged; those responses are scored again", damaged, path)
	}
	s.kept, s.stored = kept, kept.Len()
	return nil
}

// score reaches the verdict on a response. It may be called concurrently. A panic
// of a scorer becomes an error, which leaves other units alone.
func (s *pass) score(ctx context.Context, r *rollout.Response) (_ *rollout.Score, err error) {
	task := &s.benchmark.Tasks[r.TaskIndex]
	by := s.family(task.Scorer)
	id := rollout.ID{Task: r.TaskIndex, Rollout: r.Rollout}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("score %s (%s): panic: %v\n%s", id, task.ID, p, debug.Stack())
		}
	}()
	part, err := s.model.partOf(r)
	if err != nil {
		return nil, fmt.Errorf("score %s (%s): %w", id, task.ID, err)
	}
	found := true
	defer func() {
		s.counting.Lock()
		defer s.counting.Unlock()
		s.tally.Add(part.Text, part.closed, len(r.Text), part.end, found)
	}()
	if s.kept != nil && s.kept.Has(id) {
		return s.kept.Read(id)
	}
	v, err := s.scorers.of(r.TaskIndex).Score(ctx, part.Response)
	unparsable := errors.Is(err, judge.ErrUnparsable)
	if unparsable {
		v = scoring.Verdict{Note: judge.ErrUnparsable.Error()}
		asked := s.responses(family.Judge)
		if most := math.Ceil(tolerated * float64(asked)); float64(s.unparsable.Add(1)) > most {
			err = fmt.Errorf("on more than %g%% of %d responses: %w; mend the judge (judge.model, judge.prompt) and run again, which asks for the missing verdicts alone", 100*tolerated, asked, err)
		} else {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("score %s (%s): %w", id, task.ID, err)
	}
	score := &rollout.Score{
		Benchmark: s.benchmark.ID, Model: s.model.ID, TaskIndex: r.TaskIndex, TaskID: task.ID, Rollout: r.Rollout,
		// As copies: a piece of a response would keep all of it in memory.
		Answer: strings.Clone(v.Answer), Scorer: s.version(by), Note: strings.Clone(v.Note), Metadata: task.Metadata,
	}
	if err := score.Grade(v.Reward); err != nil {
		return nil, err
	}
	found = family.Found(score.Scorer, score.Answer)
	if by.Slow() && !unparsable {
		err = s.kept.Append(score)
	}
	return score, err
}

// tolerated is the share of responses on which a judge may give no verdict.
const tolerated = 0.01

// rollouts tells one set of rollouts from another.
func (c *scoredRollouts) rollouts(job *dag.Job) string {
	var digests []string
	for _, output := range job.Inputs() {
		digests = append(digests, job.InputSHA256(output))
	}
	return strings.Join(digests, " ")
}

// supersede moves scores of the same rollouts by other rules aside, so that the
// two can be compared.
func (c *scoredRollouts) supersede(job *dag.Job) error {
	return job.Clear(func(output, path string) bool {
		if output != c.file("scores") {
			return true
		}
		_, footer, err := rowfile.ReadFooter(path)
		return err != nil || footer["speceval.key"] == job.Key() || footer[rollout.RolloutsKey] != c.rollouts(job)
	})
}

// window is how many responses are in memory at most, between the one that is
// written next and the one that was read last.
const window = 1024

// scored is a response on its way from reader to writer.
type scored struct {
	response *rollout.Response
	score    *rollout.Score
	err      error
	done     chan struct{} // closed when score or err is there
}

// advanceEvery is the number of responses between progress reports.
const advanceEvery = 64

// scores gives the scores of all responses, in the order in which these are
// stored, while several are being scored. The first error ends it.
func (s *pass) scores(ctx context.Context, parts []string) iter.Seq2[*rollout.Score, error] {
	return func(yield func(*rollout.Score, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		queue := make(chan *scored, window)
		all.Go(func() {
			defer close(queue)
			s.read(ctx, parts, queue, &all)
		})
		written := 0
		for item := range queue {
			<-item.done
			if !yield(item.score, item.err) || item.err != nil {
				return
			}
			if item.score.Correct {
				s.passed[item.response.TaskIndex]++
			}
			if written++; written%advanceEvery == 0 || written == s.total() {
				s.job.Advance(dag.Progress{Done: written, Total: s.total(), Stored: min(s.stored, written), What: "responses"})
			}
			if written%s.Rollouts == 0 {
				s.scorers.done(item.response.TaskIndex + 1)
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		} else if written < s.total() {
			yield(nil, fmt.Errorf("%d of %d rollouts are there; run `speceval run generate` to sample the missing ones", written, s.total()))
		}
	}
}

// read hands every response to the writer's queue and has it scored, some at a time, until
// there are no more or the run wants to end.
func (s *pass) read(ctx context.Context, parts []string, queue chan<- *scored, all *sync.WaitGroup) {
	places, place := make(chan struct{}, s.scorers.atATime), 0
	for response, err := range rollout.Responses(parts) {
		item := &scored{response: response, err: err, done: make(chan struct{})}
		if err == nil {
			item.err = s.check(response, place)
		}
		place++
		select {
		case <-s.job.Draining():
			item.err = dag.ErrDrained
		default:
		}
		if item.err != nil {
			close(item.done)
		}
		select {
		case queue <- item:
		case <-ctx.Done():
			return
		}
		if item.err != nil {
			return
		}
		places <- struct{}{} // scoring ends soon where ctx does
		all.Go(func() {
			item.score, item.err = s.score(ctx, item.response)
			close(item.done)
			<-places
		})
	}
}
