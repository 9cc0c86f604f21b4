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
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

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
	tally   ending.Tally                                // of the responses

	unparsable atomic.Int64 // answers of the judge
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
	return s.writeProfile()
}

// writeProfile writes the profile of the passes of all tasks, and notes what is odd about it.
func (s *pass) writeProfile() error {
	p := profile.Profile{Benchmark: s.benchmark.ID, Model: s.model.ID, PassCounts: s.passed, TestedK: s.Rollouts}
	for _, task := range s.benchmark.Tasks {
		p.TaskIDs = append(p.TaskIDs, task.ID)
	}
	var versions []string
	families, _ := s.benchmark.families()
	for _, f := range families {
		versions = append(versions, s.version(f))
	}
	p.Scorer = strings.Join(versions, "+")
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
	if len(s.needs()) == 0 {
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
func (s *pass) score(ctx context.Context, item *scored) (err error) {
	task, id := &s.benchmark.Tasks[item.response.TaskIndex], item.response.ID()
	named := func(err error) error { return fmt.Errorf("score %s (%s): %w", id, task.ID, err) }
	defer func() {
		if p := recover(); p != nil {
			err = named(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if item.part, err = s.model.partOf(item.response); err != nil {
		return named(err)
	}
	item.found = true
	if s.kept != nil && s.kept.Has(id) {
		item.score, err = s.kept.Read(id)
		return err
	}
	item.score, err = s.scorers.score(ctx, item.response, item.part)
	unparsable := errors.Is(err, judge.ErrUnparsable)
	if unparsable {
		asked := s.responses(family.Judge)
		if most := math.Ceil(tolerated * float64(asked)); float64(s.unparsable.Add(1)) > most {
			err = fmt.Errorf("on more than %g%% of %d responses: %w; mend the judge (judge.model, judge.prompt) and run again, which asks for the missing verdicts alone", 100*tolerated, asked, err)
		} else {
			err = nil
		}
	}
	if err != nil {
		return named(err)
	}
	item.found = family.Found(item.score.Scorer, item.score.Answer)
	if familyOf(*task).Slow() && !unparsable {
		return s.kept.Append(item.score)
	}
	return nil
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
	part     part
	found    bool // the scorer found an answer
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
		all.Go(func() { s.read(ctx, parts, queue) })
		written := 0
		for item := range queue {
			<-item.done
			if !yield(item.score, item.err) || item.err != nil {
				return
			}
			s.tally.Add(item.part.Text, item.part.closed, len(item.response.Text), item.part.end, item.found)
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
func (s *pass) read(ctx context.Context, parts []string, queue chan<- *scored) {
	defer close(queue)
	var scoring errgroup.Group
	scoring.SetLimit(s.scorers.atATime)
	defer scoring.Wait()
	place := 0
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
		scoring.Go(func() error { // ends soon where ctx does
			item.err = s.score(ctx, item)
			close(item.done)
			return nil
		})
	}
}
