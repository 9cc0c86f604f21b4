package evaluation

import (
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"speceval/internal/store/rollout"
)

// Stored is a complete evaluation in its folder, whose setup and result are as they were
// made.
type Stored struct {
	Folder  string
	Setup   *Setup
	Result  *Result
	Text    []byte   // of the result, as its file has it
	Altered []string // which of the other files are not as they were made

	manifest *manifest
	faults   map[string]string // of the other files, by name
}

// Open reads the evaluation in a folder. fs.ErrNotExist is in the error if there is none, or
// none that is complete. Any other error names the file that is not as it was made.
func Open(folder string) (*Stored, error) {
	s := &Stored{Folder: folder, faults: make(map[string]string)}
	var err error
	if s.Setup, err = ReadSetup(folder); err != nil {
		return nil, err
	}
	if s.manifest, err = readManifest(folder); err != nil {
		return nil, err
	}
	if !s.manifest.complete() {
		return nil, fmt.Errorf("%s is not complete: %w", folder, fs.ErrNotExist)
	}
	if s.Text, err = s.manifest.read(folder, ResultFile, restoreAdvice); err != nil {
		return nil, err
	}
	if s.Result, err = ParseResult(s.Text, s.path(ResultFile)); err != nil {
		return nil, err
	}
	for _, name := range []string{RolloutsFile, ScoresFile, RequestsFile, tasksFile} {
		if s.Result.Outside() {
			s.faults[name] = "is not there, since another program has run the rollouts"
			continue
		}
		if fault := s.manifest.fault(folder, name); fault != "" {
			s.faults[name] = fault
			s.Altered = append(s.Altered, fmt.Sprintf("%s %s; the result is as it was made", s.path(name), fault))
		}
	}
	if len(s.manifest.records(ScoresFile)) > 1 {
		s.faults[ScoresFile] = "is of a rescore that has not ended"
		s.Altered = append(s.Altered, fmt.Sprintf("%s %s: the result may be the one before; %s", s.path(ScoresFile), s.faults[ScoresFile], s.rescore()))
	}
	return s, nil
}

// Answer is a rollout that counts, with its verdict.
type Answer struct {
	*rollout.Rollout
	Verdict *rollout.Score
}

// Answers are the rollouts that count, by task and number.
func (s *Stored) Answers() iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		verdicts := make(map[rollout.ID]*rollout.Score)
		for v, err := range rollout.Scores(s.path(ScoresFile)) {
			if err != nil {
				yield(Answer{}, err)
				return
			}
			verdicts[v.ID()] = v
		}
		for r, err := range rollout.Rollouts([]string{s.path(RolloutsFile)}) {
			switch {
			case err != nil:
				yield(Answer{}, err)
				return
			case int(r.Rollout) < s.Result.Rows[r.TaskIndex].Rollouts() && !yield(Answer{r, verdicts[r.ID()]}, nil):
				return
			}
		}
	}
}

// path of a file of the evaluation.
func (s *Stored) path(name string) string { return filepath.Join(s.Folder, name) }

func (s *Stored) rescore() string { return "speceval evaluate rescore " + s.Folder }

// Needs is an error if one of these files is not as it was made.
func (s *Stored) Needs(names ...string) error {
	for _, name := range names {
		then := "put back what was there; without it the evaluation can be shown and compared, and no more"
		if s.Result.Outside() {
			then = "the evaluation can be shown and compared, and no more"
		} else if name == ScoresFile {
			then = "put back what was there, or score the answers again: " + s.rescore()
		}
		if fault := s.faults[name]; fault != "" {
			return altered(s.Folder, name, fault, then)
		}
	}
	return nil
}
