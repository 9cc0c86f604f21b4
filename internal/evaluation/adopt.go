package evaluation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"speceval/internal/benchmark/sampler"
	"speceval/internal/servers/router"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/journal"
	"speceval/internal/store/rollout"
)

// adopt begins the journals with what is there: the rollouts that count of the evaluation that
// this one extends, or all answers and requests of one that differs in a smaller limit alone.
// They are the same ones by their numbers and seeds, and what had been seen of unfinished ones
// is kept with them. It comes before the setup is written, and begins anew after a kill.
func (s *Settings) adopt() error {
	if _, err := os.Lstat(filepath.Join(s.Folder, setupFile)); err == nil {
		return nil
	}
	from, extends := s.smaller(), s.Setup.Extends != nil
	if extends {
		from = s.Setup.Extends.Folder
	}
	if from == "" {
		return nil
	}
	stored, err := Open(from)
	if err == nil {
		err = stored.Needs(RolloutsFile, ScoresFile, RequestsFile)
	}
	switch {
	case err == nil:
		err = s.copyStored(stored)
	case !extends && errors.Is(err, fs.ErrNotExist): // under way: unfinished answers first, since one that ends meanwhile must be in a copy
		err = nil
		for _, name := range []string{sampler.PartialsName, "rollouts" + journal.Suffix, "scores" + journal.Suffix, "requests" + journal.Suffix} {
			err = errors.Join(err, atomicfile.Copy(filepath.Join(from, name), filepath.Join(s.Folder, name)))
		}
	case !extends:
		s.say(fmt.Sprintf("the answers of %s are not taken over: %v", from, err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("the answers of %s cannot be taken over: %w", from, err)
	}
	if !extends {
		s.say("the answers of " + filepath.Base(from) + ", whose limit is smaller, are taken over")
	}
	return nil
}

// smaller is the folder of the evaluation that differs in a smaller limit alone, of several with
// the largest; "" if there is none.
func (s *Settings) smaller() (folder string) {
	if s.Setup.Stop == nil {
		return ""
	}
	parent := filepath.Dir(s.Folder)
	siblings, _ := os.ReadDir(parent) // none of the first evaluation
	var best *Stop
	for _, e := range siblings {
		there, err := ReadSetup(filepath.Join(parent, e.Name()))
		if err == nil && there.Policy == s.Setup.Policy && there.Seed == s.Setup.Seed && there.Extends == nil && len(there.Asked) == len(s.Setup.Asked) &&
			there.Stop.below(s.Setup.Stop) && !there.Stop.below(best) && there.alike(&s.Setup) == nil {
			folder, best = filepath.Join(parent, e.Name()), there.Stop
		}
	}
	return folder
}

// below reports whether a limit differs from another one in being smaller alone.
func (s *Stop) below(other *Stop) bool {
	return s != nil && other != nil && s.StandardError == other.StandardError && *s != *other &&
		s.Rollouts <= other.Rollouts && s.Tokens <= other.Tokens && s.Dollars <= other.Dollars &&
		(s.Rollouts > 0) == (other.Rollouts > 0) && (s.Tokens > 0) == (other.Tokens > 0) && (s.Dollars > 0) == (other.Dollars > 0)
}

// copyStored writes the files of a complete evaluation as the journals that they were made of.
// Of answers that had not ended nothing is left: they are torn.
func (s *Settings) copyStored(from *Stored) error {
	path := func(what string) string { return filepath.Join(s.Folder, what+journal.Suffix) }
	x, rules := s.Setup.Extends, from.Result.Rules
	if x != nil {
		rules = s.Rules // its command has held them to be alike
	}
	counts := func(id rollout.ID) bool { return x == nil || int(id.Rollout) < x.Rollouts(int(id.Task)) }
	there := make(map[rolloutKey]bool)
	err := journal.Convert(path("rollouts"), rollout.Rollouts([]string{from.path(RolloutsFile)}), func(r *rollout.Rollout) (*rollout.Rollout, bool) {
		there[rolloutKey{r.TaskID, r.Rollout}] = true
		return r, counts(r.ID())
	})
	if err != nil {
		return err
	}
	err = journal.Convert(path("scores"), rollout.Scores(from.path(ScoresFile)), func(v *rollout.Score) (*verdict, bool) {
		return &verdict{*v, rules}, counts(v.ID())
	})
	if err != nil || x != nil {
		return err
	}
	rows, err := readRequests(from.Folder)
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
			q.State = completed
		case !there[q.key()] && (q.AbortedTokens == nil || *q.AbortedTokens > 0):
			partials.Torn(rollout.ID{Task: int32(slices.Index(s.Setup.TaskIDs, q.Task)), Rollout: q.Rollout}, true)
		}
	}
	return errors.Join(partials.Close(), journal.Write(path("requests"), slices.Values(all)))
}
