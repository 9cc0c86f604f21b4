package evaluation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/machine/clock"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/journal"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/method/estimate"
)

// verdict is a score with what it depends on besides the answer.
type verdict struct {
	rollout.Score
	Rules string `json:"rules"` // digest
}

// store holds the answers, verdicts and requests so far.
type store struct {
	folder   string
	rollouts *rollout.Journal
	partials *sampler.Partials // of answers that are not there
	verdicts *journal.Journal[verdict, rollout.ID]
	requests *journal.Journal[Request, requestID]
	session  int32
	damaged  int // lines that could not be read
}

func openStore(folder string, clock clock.Clock) (_ *store, err error) {
	s := &store{folder: folder}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	var damaged [4]int
	if s.rollouts, damaged[0], err = rollout.OpenJournal(s.path("rollouts")); err != nil {
		return nil, err
	}
	if s.verdicts, damaged[1], err = journal.Open(s.path("scores"), func(v *verdict) rollout.ID { return v.ID() }); err != nil {
		return nil, err
	}
	if s.requests, damaged[2], err = journal.Open(s.path("requests"), (*Request).id); err != nil {
		return nil, err
	}
	s.partials, damaged[3], err = sampler.OpenPartials(folder, sampler.PartialsSettings{
		Clock: clock, Has: s.rollouts.Has, Keep: s.rollouts.Append, Sync: s.rollouts.Sync,
	})
	if err != nil {
		return nil, err
	}
	s.damaged = damaged[0] + damaged[1] + damaged[2] + damaged[3]
	return s, nil
}

func (s *store) path(what string) string { return filepath.Join(s.folder, what+journal.Suffix) }

// find is a rollout that has been answered, and its verdict by the given rules if
// it has one.
func (s *store) find(id rollout.ID, rules string) (*rollout.Rollout, *verdict, error) {
	if !s.rollouts.Has(id) {
		return nil, nil, nil
	}
	r, err := s.rollouts.Read(id)
	if err != nil || !s.verdicts.Has(id) {
		return r, nil, err
	}
	v, err := s.verdicts.Read(id)
	if err != nil || v.Rules != rules {
		return r, nil, err
	}
	return r, v, nil
}

// rows are all requests of all sessions, in order.
func (s *store) rows() (rows []Request, err error) {
	for r, err := range s.requests.Records(s.requests.IDs()) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Number, b.Number))
	})
	return rows, nil
}

// sync makes what has come in survive a machine that stops.
func (s *store) sync() error {
	return errors.Join(s.partials.Sync(), s.rollouts.Sync(), s.verdicts.Sync(), s.requests.Sync())
}

// Clear removes the journals of an evaluation that is complete.
func Clear(folder string) error {
	err := sampler.RemovePartials(folder)
	for _, name := range []string{progressFile, "rollouts" + journal.Suffix, "scores" + journal.Suffix, "requests" + journal.Suffix} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, name)))
	}
	return err
}

// Files of a complete evaluation, next to the result.
const (
	RolloutsFile = "rollouts.parquet" // rollout.Rollout, completed ones that do not count too
	ScoresFile   = "scores.parquet"   // rollout.Score
	RequestsFile = "requests.parquet" // Request
	tasksFile    = "tasks.parquet"    // Task
	PageFile     = "report.html"      // the page of package show, which the manifest does not have
)

// Values of the footer key speceval.schema.
const (
	requestsSchema = "evaluation-requests/1"
	tasksSchema    = "evaluation-tasks/1"
)

// footer is the footer of a file of the evaluation.
func (s *Settings) footer(schema string) map[string]string {
	text, _ := json.Marshal(s.Setup) // cannot fail
	key := sha256.Sum256(text)
	return map[string]string{
		"speceval.schema": schema, "speceval.key": hex.EncodeToString(key[:]), "speceval.provenance": s.Provenance, "speceval.commit": s.Commit,
	}
}

// scored are the files that follow from verdicts.
func (s *Settings) scored(r *Result, scores []*rollout.Score) []part {
	type row struct {
		Task
		Rewards float64 `parquet:"rewards"` // their sum
	}
	tasks := make([]row, len(r.Rows))
	for i, t := range r.Rows {
		tasks[i] = row{t, estimate.Sum(t.Stages).Rewards}
	}
	all := func(yield func(*rollout.Score, error) bool) {
		for _, v := range scores {
			if !yield(v, nil) {
				return
			}
		}
	}
	return []part{
		{ScoresFile, func(w io.Writer) error { return rollout.WriteGraded(w, all, s.footer(rollout.ScoreSchema)) }},
		{tasksFile, func(w io.Writer) error { return rowfile.Write(w, tasks, s.footer(tasksSchema)) }},
		{ResultFile, func(w io.Writer) error { return atomicfile.EncodeJSON(w, r) }},
	}
}

// scores are the verdicts by some rules, in the order of files, but for surplus that was not
// requested in this session.
func (s *store) scores(rules string) (all []*rollout.Score, err error) {
	for _, id := range s.ids() {
		_, v, err := s.find(id, rules)
		if err != nil {
			return nil, err
		}
		if v != nil {
			all = append(all, &v.Score)
		}
	}
	return all, nil
}

// ids are the rollouts that have been answered, in the order of files. Those of a task have no
// gaps but for surplus that was aborted.
func (s *store) ids() []rollout.ID {
	ids := s.rollouts.IDs()
	slices.SortFunc(ids, rollout.ID.Compare)
	return ids
}
