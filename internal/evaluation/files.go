package evaluation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"speceval/internal/atomicfile"
	"speceval/internal/digest"
	"speceval/internal/evaluation/manifest"
	"speceval/internal/rollout"
)

// Files of a complete evaluation, beside the result.
const (
	RolloutsFile = "rollouts.parquet" // rollout.Rollout, completed ones that do not count too
	ScoresFile   = "scores.parquet"   // rollout.Score
	requestsFile = "requests.parquet" // Request, or gradedRequest
	tasksFile    = "tasks.parquet"    // Task, or gradedTask
)

// Values of the footer key speceval.schema.
const (
	requestsSchema = "evaluation-requests/1"
	tasksSchema    = "evaluation-tasks/1"
)

// footer is that of a file of the evaluation.
func (s *Settings) footer(schema string) map[string]string {
	text, _ := json.Marshal(s.Setup) // cannot fail
	key := sha256.Sum256(text)
	footer := map[string]string{
		"speceval.schema": schema, "speceval.key": hex.EncodeToString(key[:]), "speceval.provenance": s.Provenance,
	}
	maps.Copy(footer, s.Footer)
	return footer
}

// write writes the files of the evaluation, the result last.
func (s *Settings) write(st *store, r *Result, rows []Request) error {
	setup, err := digest.Of(s.Folder, setupFile)
	if err != nil {
		return err
	}
	rollouts, err := s.file(RolloutsFile, func(w io.Writer) error {
		return rollout.WritePart(w, st.answers(), s.footer(rollout.Schema))
	})
	if err != nil {
		return err
	}
	requests, err := s.file(requestsFile, func(w io.Writer) error { return writeRequests(w, rows, s.footer(requestsSchema)) })
	if err != nil {
		return err
	}
	graded, err := st.graded(s.Rules)
	if err != nil {
		return err
	}
	scores, err := s.writeScores(st.scores(s.Rules), graded)
	if err != nil {
		return err
	}
	return s.finish(manifest.New(s.Footer["speceval.commit"]), r, []digest.File{setup, rollouts, scores, requests})
}

// writeScores writes verdicts, of which some are graded or none is.
func (s *Settings) writeScores(scores iter.Seq2[*rollout.Score, error], graded bool) (digest.File, error) {
	write := rollout.WriteScores
	if graded {
		write = rollout.WriteGraded
	}
	return s.file(ScoresFile, func(w io.Writer) error { return write(w, scores, s.footer(rollout.ScoreSchema)) })
}

// file writes a file of the evaluation, and returns its record.
func (s *Settings) file(name string, write func(io.Writer) error) (f digest.File, err error) {
	err = atomicfile.Write(filepath.Join(s.Folder, name), func(w io.Writer) error {
		to := digest.NewWriter(w)
		err := write(to)
		f = to.File(name)
		return err
	})
	return f, err
}

// answers are all rollouts in the order of files. Those of a task have no gaps but
// for surplus that was aborted.
func (s *store) answers() iter.Seq2[*rollout.Rollout, error] {
	return func(yield func(*rollout.Rollout, error) bool) {
		for _, id := range s.ids() {
			r, err := s.rollouts.Read(id)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// scores are the verdicts by some rules, in the order of files.
func (s *store) scores(rules string) iter.Seq2[*rollout.Score, error] {
	return func(yield func(*rollout.Score, error) bool) {
		for _, id := range s.ids() {
			_, v, err := s.find(id, rules)
			if err == nil && v == nil {
				continue // surplus that nobody asked for in this session
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&v.Score, nil) {
				return
			}
		}
	}
}

// ids are the rollouts that have been answered, in the order of files.
func (s *store) ids() []rollout.ID {
	ids := s.rollouts.IDs()
	slices.SortFunc(ids, rollout.ID.Compare)
	return ids
}
