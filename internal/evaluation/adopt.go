package evaluation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"speceval/internal/rollout"
	"speceval/internal/router"
	"speceval/internal/servers/sampler"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/journal"
	"speceval/internal/store/rowfile"
)

// adopt copies the answers, verdicts and requests of an evaluation that differs from this one
// in a smaller limit alone, so that this one goes on from there: rollouts are the same ones by
// their numbers and seeds, and what had been seen of unfinished ones is kept with them. It
// comes before the setup is written, and begins anew after a kill. An evaluation that has
// begun adopts nothing.
func (s *Settings) adopt() error {
	if _, err := os.Lstat(filepath.Join(s.Folder, setupFile)); err == nil || s.Setup.Stop == nil || s.Setup.Extends != nil {
		return nil
	}
	from, name, err := s.smaller()
	if from == "" || err != nil {
		return err
	}
	if err := os.MkdirAll(s.Folder, 0o777); err != nil {
		return err
	}
	stored, err := Open(from)
	switch {
	case err == nil:
		err = s.adoptStored(stored)
	case errors.Is(err, fs.ErrNotExist): // unfinished answers first, or one that ends meanwhile would be in no copy
		err = nil
		for _, name := range []string{sampler.PartialsName, journals[0] + journal.Suffix, journals[1] + journal.Suffix, journals[2] + journal.Suffix} {
			err = errors.Join(err, copyFile(filepath.Join(from, name), filepath.Join(s.Folder, name)))
		}
	}
	if err != nil {
		return fmt.Errorf("the answers of %s cannot be taken over: %w", from, err)
	}
	s.say("the answers of " + name + ", whose limit is smaller, are taken over")
	return nil
}

// smaller finds the folder and the name of the evaluation with the largest of smaller limits.
func (s *Settings) smaller() (folder, name string, err error) {
	siblings, err := os.ReadDir(filepath.Dir(s.Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	var best Stop
	for _, e := range siblings {
		there, err := ReadSetup(filepath.Join(filepath.Dir(s.Folder), e.Name()))
		if err != nil || there.Extends != nil || there.Policy != s.Setup.Policy || there.Seed != s.Setup.Seed || !there.Stop.below(s.Setup.Stop) || there.alike(&s.Setup) != nil {
			continue
		}
		if folder == "" || best.below(there.Stop) {
			folder, name, best = filepath.Join(filepath.Dir(s.Folder), e.Name()), e.Name(), *there.Stop
		}
	}
	return folder, name, err
}

// below reports whether a limit differs from another one in being smaller alone.
func (s *Stop) below(other *Stop) bool {
	return s != nil && s.StandardError == other.StandardError && *s != *other &&
		s.Rollouts <= other.Rollouts && s.Tokens <= other.Tokens && s.Dollars <= other.Dollars &&
		(s.Rollouts > 0) == (other.Rollouts > 0) && (s.Tokens > 0) == (other.Tokens > 0) && (s.Dollars > 0) == (other.Dollars > 0)
}

// adoptStored writes the files of a complete evaluation as the journals that they were made
// of. Of answers that had not ended nothing is left: they are torn.
func (s *Settings) adoptStored(from *Stored) error {
	if err := from.Needs(RolloutsFile, ScoresFile, RequestsFile); err != nil {
		return err
	}
	path := func(what string) string { return filepath.Join(s.Folder, what+journal.Suffix) }
	there, graded := make(map[rolloutKey]bool), make(map[rolloutKey]float64)
	err := journaled(path("rollouts"), rollout.Rollouts([]string{from.path(RolloutsFile)}), func(r *rollout.Rollout) *rollout.Rollout {
		there[rolloutKey{r.TaskID, r.Rollout}] = true
		return r
	})
	if err != nil {
		return err
	}
	err = journaled(path("scores"), rollout.Scores(from.path(ScoresFile)), func(v *rollout.Score) *verdict {
		graded[rolloutKey{v.TaskID, v.Rollout}] = v.Partial
		return &verdict{*v, from.Result.Rules}
	})
	if err != nil {
		return err
	}
	rows, _, err := rowfile.ReadFile[Request](from.path(RequestsFile))
	if err != nil {
		return err
	}
	partials, _, err := sampler.OpenPartials(s.Folder, sampler.PartialsSettings{Clock: s.Clock, Sync: func() error { return nil }})
	if err != nil {
		return err
	}
	all := make([]*Request, len(rows))
	for i := range rows {
		q := &rows[i]
		all[i] = q
		switch {
		case q.State == router.Accepted.String() || q.State == router.Discarded.String():
			q.State, q.Partial = completed, graded[q.key()]
		case !there[q.key()] && (q.AbortedTokens == nil || *q.AbortedTokens > 0):
			partials.Torn(rollout.ID{Task: int32(slices.Index(s.Setup.TaskIDs, q.Task)), Rollout: q.Rollout}, true)
		}
	}
	return errors.Join(partials.Close(), journal.Write(path("requests"), slices.Values(all)))
}

// journaled writes a journal of rows in another form.
func journaled[From, To any](path string, rows iter.Seq2[*From, error], form func(*From) *To) (fault error) {
	err := journal.Write(path, func(yield func(*To) bool) {
		for r, err := range rows {
			if fault = err; err != nil || !yield(form(r)) {
				return
			}
		}
	})
	return errors.Join(fault, err)
}

// copyFile copies a file, if there is one.
func copyFile(from, to string) error {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return atomicfile.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
