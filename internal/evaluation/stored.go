package evaluation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/atomicfile"
	"speceval/internal/evaluation/manifest"
	"speceval/internal/files"
	"speceval/internal/journal"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Stored is a complete evaluation as its folder has it, read with what vouches for it:
// every file is held to the hash that the manifest has of it, and the result to what its
// verdicts and its design come to.
type Stored struct {
	Folder string
	Setup  *Setup
	Result *Result // what is stored, or what was computed again
	Text   []byte  // of the result, as a file has it

	// Said is what a user should know of the files: which are not as they were made, what
	// was computed again, and that there are no hashes to tell by.
	Said []string

	prior    *neyman.Prior
	manifest *manifest.Manifest // nil: none that can be used
	faults   map[string]string  // of files, by name
	onDisk   *Result            // nil: missing, damaged or edited
	rebuilt  bool               // Result is computed again
	readable *found             // the evidence; nil if there is none that can be used
}

// Open reads the evaluation in a folder. The prior is for evaluations whose manifest does
// not name one. fs.ErrNotExist is in the error if there is none, or none that is complete;
// a *manifest.AlteredError says that no result can be given.
func Open(folder string, prior *neyman.Prior) (*Stored, error) {
	s := &Stored{Folder: folder, prior: prior, faults: make(map[string]string)}
	var err error
	if s.Setup, err = ReadSetup(folder); err != nil {
		return nil, err
	}
	s.manifest, err = manifest.Read(folder)
	if err != nil {
		s.manifest = nil
		if !errors.Is(err, fs.ErrNotExist) {
			s.say("%v", err)
		}
	}
	if !s.manifest.Complete() {
		return s, s.openUnrecorded()
	}
	return s, s.openRecorded()
}

func (s *Stored) say(format string, args ...any) {
	s.Said = append(s.Said, fmt.Sprintf(format, args...))
}

// path of a file of the evaluation.
func (s *Stored) path(name string) string { return filepath.Join(s.Folder, name) }

// openRecorded is Open with a manifest.
func (s *Stored) openRecorded() error {
	if p, err := neyman.NewPrior(s.manifest.Order); err == nil {
		s.prior = p
	}
	sound := true
	for _, name := range append(slices.Clone(evidence), tasksFile, ResultFile) {
		fault := s.manifest.Fault(s.Folder, name)
		if fault == "" {
			continue
		}
		s.faults[name] = fault
		s.say("%s %s", s.path(name), fault)
		sound = sound && !slices.Contains(evidence, name)
	}
	var damage error
	if s.faults[ResultFile] == "" {
		s.onDisk, s.Text, damage = s.readResult()
	}
	again, err := (*Result)(nil), errors.New("its evidence is not as recorded")
	if sound {
		again, err = s.rebuild(s.manifest.Measured, s.manifest.Allocation)
	}
	switch {
	case err != nil && s.onDisk == nil:
		return manifest.Altered(s.Folder, ResultFile, cmp.Or(s.faults[ResultFile], fmt.Sprint(damage)), fmt.Sprintf("and it cannot be computed again: %v: put back what was there, or move the folder away to evaluate anew", cmp.Or(strings.Join(s.faultsOf(evidence), "; "), err.Error())))
	case err != nil:
		s.Result = s.onDisk
		then := ""
		if s.Needs(setupFile, RolloutsFile, requestsFile) == nil {
			then = "; speceval evaluate rescore scores the answers again"
		}
		s.say("the result is as it was stored, and cannot be computed again: %v%s", err, then)
		return nil
	case s.onDisk == nil:
		return s.take(again, "the result is computed again from %s, %s and the design", RolloutsFile, ScoresFile)
	}
	return s.hold(again)
}

// faultsOf are the faults of some files, in words.
func (s *Stored) faultsOf(names []string) (all []string) {
	for _, name := range names {
		if fault := s.faults[name]; fault != "" {
			all = append(all, name+" "+fault)
		}
	}
	return all
}

// hold compares the stored result with what its evidence comes to, which counts.
func (s *Stored) hold(again *Result) error {
	all, err := manifest.Differences(s.onDisk, again)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		s.Result = s.onDisk
		return nil
	}
	by := ""
	if m := s.manifest; m.Complete() {
		by = fmt.Sprintf("; it was made by speceval %s", m.Version)
	}
	more := ""
	if len(all) > 1 {
		more = fmt.Sprintf(", and %d more differences", len(all)-1)
	}
	return s.take(again, "%s is not what its verdicts and its design come to, which counts: %s%s%s", s.path(ResultFile), all[max(0, slices.IndexFunc(all, func(d string) bool { return strings.HasPrefix(d, "estimate ") }))], more, by)
}

// take has a result that was computed again be the result, and says why.
func (s *Stored) take(r *Result, format string, args ...any) error {
	s.Result, s.rebuilt = r, true
	s.say(format, args...)
	var err error
	s.Text, _, err = manifest.Text(ResultFile, r)
	return err
}

// readResult reads the stored result; nil if it cannot be used.
func (s *Stored) readResult() (*Result, []byte, error) {
	text, err := files.ReadOwn(s.path(ResultFile), manifest.Most)
	if err != nil {
		return nil, nil, err
	}
	r, err := parseResult(text, s.path(ResultFile))
	if err != nil {
		return nil, nil, err
	}
	return r, text, nil
}

// rebuild computes the result from its evidence, which is read once.
func (s *Stored) rebuild(m *manifest.Measured, stages [][]estimate.Stage) (*Result, error) {
	if s.readable == nil {
		f, err := s.Setup.find(s.Folder)
		if err != nil {
			return nil, err
		}
		s.readable = f
	}
	r, err := s.readable.rebuild(s.prior, m, stages)
	var gone *goneError
	if errors.As(err, &gone) {
		if s.onDisk == nil {
			s.say("what was lost in the evaluation that it extends is not known: %v", gone)
		} else {
			r.Losses = s.onDisk.Losses
		}
		err = nil
	}
	if err == nil && s.readable.requests == nil && s.onDisk != nil { // of a version that kept less of them
		r.Extra, r.Lost, r.Losses, r.Tokens.Wasted = s.onDisk.Extra, s.onDisk.Lost, s.onDisk.Losses, s.onDisk.Tokens.Wasted
	}
	return r, err
}

// openUnrecorded is Open of an evaluation without hashes, made by an earlier version. Its
// Parquet files say of which setup they are, and its result is what they come to.
func (s *Stored) openUnrecorded() error {
	var err error
	s.onDisk, s.Text, err = s.readResult()
	absent := errors.Is(err, fs.ErrNotExist)
	if absent && s.underWay() {
		return err
	}
	if !absent && err != nil {
		s.say("%v", err)
	}
	m := &manifest.Measured{Provenance: "measured"}
	var stages [][]estimate.Stage
	if s.onDisk != nil {
		m = s.onDisk.measured()
		for _, t := range s.onDisk.Rows {
			stages = append(stages, t.Stages)
		}
	}
	again, err := s.rebuild(m, nil)
	if s.onDisk != nil && (err != nil || !sameStages(again.Rows, stages) && !s.tasksAre(again)) {
		// It was scored again, which keeps the allocation.
		if kept, why := s.rebuild(m, stages); why == nil {
			s.say("the allocation is that of %s: it is not what the verdicts lead to, as after a rescore", s.path(ResultFile))
			again, err = kept, nil
		}
	}
	if err == nil {
		err = s.readAll()
	}
	by, odd := s.footers()
	switch {
	case err != nil && s.onDisk == nil:
		return manifest.Altered(s.Folder, ResultFile, "is missing, or damaged", fmt.Sprintf("and it cannot be computed again: %v: put back what was there, or move the folder away to evaluate anew", err))
	case err != nil:
		s.Result = s.onDisk
		s.say("%s was made by %s, without hashes, and it cannot be computed again: %v", s.Folder, by, err)
		return nil
	}
	s.Said = append(s.Said, odd...)
	if s.onDisk == nil {
		again.Provenance = cmp.Or(s.readable.footer["speceval.provenance"], again.Provenance)
		return s.take(again, "%s was made by %s, without hashes, and its %s is not there: the result is computed again from %s, %s and the design", s.Folder, by, ResultFile, RolloutsFile, ScoresFile)
	}
	s.say("%s was made by %s, without hashes: computed again from %s, %s and the design", s.Folder, by, RolloutsFile, ScoresFile)
	return s.hold(again)
}

// tasksAre tells whether the rows of the tasks that are stored apart from the result have
// the rollouts and weights of this one; true if there are none.
func (s *Stored) tasksAre(r *Result) bool {
	rows, _, err := rowfile.ReadFile[Task](s.path(tasksFile))
	if missing := (*rowfile.MissingColumnError)(nil); errors.As(err, &missing) {
		return false // an early version has kept less of them: its result is all there is
	}
	return err != nil || slices.EqualFunc(rows, r.Rows, func(a, b Task) bool {
		return a.Pilots == b.Pilots && a.Continuations == b.Continuations && math.Abs(a.Shrinkage-b.Shrinkage) <= manifest.Tolerance
	})
}

// readAll reads every column of the answers, of which there is no hash.
func (s *Stored) readAll() error {
	for _, err := range rollout.Rollouts([]string{s.path(RolloutsFile)}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// underWay tells whether an evaluation without a result goes on from journals, or has not
// begun.
func (s *Stored) underWay() bool {
	for _, what := range []string{"rollouts", "scores", "requests"} {
		if _, err := os.Lstat(s.path(what + journal.Suffix)); err == nil {
			return true
		}
	}
	_, err := os.Lstat(s.path(RolloutsFile))
	return errors.Is(err, fs.ErrNotExist)
}

// sameStages tells whether tasks have these stages, whatever their rewards.
func sameStages(rows []Task, stages [][]estimate.Stage) bool {
	return len(rows) == len(stages) && !slices.ContainsFunc(rows, func(t Task) bool {
		return !slices.EqualFunc(t.Stages, stages[t.Index], func(a, b estimate.Stage) bool {
			return a.Rollouts == b.Rollouts && a.Weight-b.Weight <= manifest.Tolerance && b.Weight-a.Weight <= manifest.Tolerance
		})
	})
}

// footers say which program made the Parquet files, and which of them are of another
// setup.
func (s *Stored) footers() (by string, odd []string) {
	by = "another version of speceval"
	text, _ := json.Marshal(s.Setup) // cannot fail
	sum := sha256.Sum256(text)
	key := hex.EncodeToString(sum[:])
	for _, name := range []string{RolloutsFile, ScoresFile, requestsFile, tasksFile} {
		_, footer, err := rowfile.ReadFooter(s.path(name))
		switch {
		case err != nil:
			odd = append(odd, err.Error())
		case footer["speceval.key"] != key:
			odd = append(odd, fmt.Sprintf("%s was made for another %s than the one that is there: one of the two was edited, or comes from elsewhere", s.path(name), setupFile))
		}
		if commit := footer["speceval.commit"]; commit != "" {
			by = fmt.Sprintf("speceval at commit %.12s", commit)
		}
	}
	return by, odd
}

// Needs is a *manifest.AlteredError if one of these files is not as it was made, for what goes by
// more of it than the result.
func (s *Stored) Needs(names ...string) error {
	for _, name := range names {
		fault := s.faults[name]
		if _, err := os.Lstat(s.path(name)); fault == "" && err != nil {
			fault = "is missing"
		}
		if fault != "" {
			return manifest.Altered(s.Folder, name, fault, "put back what was there; without it the evaluation can be shown, and no more")
		}
	}
	return nil
}

// Recompute is a *manifest.AlteredError, or another one, if the result does not follow from
// evidence that is as it was made.
func (s *Stored) Recompute() error { return s.Needs(evidence...) }

// Whole tells whether nothing is to be repaired.
func (s *Stored) Whole() bool {
	return s.readable == nil || !s.rebuilt && s.faults[tasksFile] == "" // or nothing can be
}

// Repair writes the recomputed result and the rows of its tasks, and keeps the
// former files next to them. The caller holds the folder's lock.
func (s *Stored) Repair(commit string) error {
	if s.Whole() {
		return nil
	}
	if text, err := files.ReadOwn(s.path(ResultFile), manifest.Most); err == nil && string(text) != string(s.Text) {
		sum := sha256.Sum256(text)
		if err := os.Rename(s.path(ResultFile), fmt.Sprintf("%s.edited-%x", s.path(ResultFile), sum[:4])); err != nil {
			return err
		}
	}
	settings := &Settings{Setup: *s.Setup, Folder: s.Folder, Prior: s.prior, Provenance: s.Result.Provenance, Footer: map[string]string{"speceval.commit": commit}}
	m := s.manifest
	if !m.Complete() {
		m = manifest.New(commit)
		if s.onDisk != nil { // a rescore may have led to its allocation
			m.Allocation = stagesOf(s.Result)
		}
	}
	files, err := recorded(s.Folder, evidence...)
	if err != nil {
		return err
	}
	if err := settings.finish(m, s.Result, files); err != nil {
		return err
	}
	return clear(s.Folder)
}

// recorded are the records of files in a folder, as they are.
func recorded(folder string, names ...string) (all []files.Digest, err error) {
	for _, name := range names {
		f, err := files.DigestOf(folder, name)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// stagesOf are the stages of a result by task, without rewards.
func stagesOf(r *Result) (all [][]estimate.Stage) {
	for _, t := range r.Rows {
		t.forget()
		all = append(all, t.Stages)
	}
	return all
}

// finish writes the rows of the tasks, the manifest with the records of these files, and
// the result last: killed before it, the evaluation has what it is computed from.
func (s *Settings) finish(m *manifest.Manifest, r *Result, files []files.Digest) error {
	tasks, err := s.file(tasksFile, func(w io.Writer) error { return writeTasks(w, r.Rows, s.footer(tasksSchema)) })
	if err != nil {
		return err
	}
	text, result, err := manifest.Text(ResultFile, r)
	if err != nil {
		return err
	}
	m.Order, m.Measured, m.Files = s.Prior.Order(), r.measured(), append(slices.Clone(files), tasks, result)
	if err := m.Write(s.Folder); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(s.Folder, ResultFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
