package comparison

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// WriteDisagreements finds the rollouts on which two versions of a scorer do
// not agree, in two files of scores, and writes them with the ends of their
// responses.

// Overturned is a rollout with two verdicts that are not the same.
type Overturned struct {
	Old, New *rollout.Score
	Text     *string // of the response, nil if it is not there
}

// scorerChange is a scorer and the one that took its place.
type scorerChange struct{ Old, New string }

// changes counts the verdicts of rollouts that two files have in common. Of graded
// ones it is toWrong and toRight to have less and more.
type changes struct {
	compared, toWrong, toRight int
}

// Summary sums up two files of scores.
type Summary struct {
	files            ScoreFiles
	benchmark, model string
	changes          map[scorerChange]*changes
	onlyOld, onlyNew int    // rollouts
	graded           bool   // a reward is neither 0 nor 1
	listed           int    // of those that disagree
	responses        string // folder that was looked into, "" if none had to
	missing          bool   // it has no responses
}

// Writer shows disagreements while they are found, and then their sum.
type Writer interface {
	One(d *Overturned) error
	Sum(d *Summary) error
}

// WriteDisagreements goes through two files of scores and writes at most so many rollouts on
// which they disagree, all if that is 0, and their sum.
func WriteDisagreements(ctx context.Context, files ScoreFiles, most int, write Writer) error {
	d := &Summary{files: files, changes: make(map[scorerChange]*changes)}
	var texts *responseTexts
	defer func() { texts.close() }()
	for pair, err := range rollout.Pairs(files.Old, files.New) {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if !d.count(pair) || most > 0 && d.listed == most {
			continue
		}
		if texts == nil {
			d.responses = files.responses(d.benchmark, d.model)
			if texts, err = openTexts(d.responses); err != nil {
				return err
			}
			d.missing = texts.next == nil
		}
		one := &Overturned{Old: pair.Old, New: pair.New}
		if one.Text, err = texts.of(pair.New.ID()); err != nil {
			return err
		}
		d.listed++
		if err := write.One(one); err != nil {
			return err
		}
	}
	return write.Sum(d)
}

// count counts a pair, and reports whether its verdicts are not the same.
func (d *Summary) count(pair rollout.Pair) bool {
	there := cmp.Or(pair.New, pair.Old)
	d.benchmark, d.model = there.Benchmark, there.Model
	switch {
	case pair.New == nil:
		d.onlyOld++
		return false
	case pair.Old == nil:
		d.onlyNew++
		return false
	}
	by := scorerChange{pair.Old.Scorer, pair.New.Scorer}
	c := d.changes[by]
	if c == nil {
		c = new(changes)
		d.changes[by] = c
	}
	c.compared++
	d.graded = d.graded || pair.Old.Graded() || pair.New.Graded()
	switch was, is := pair.Old.Reward(), pair.New.Reward(); {
	case was == is:
		return false
	case is > was:
		c.toRight++
	default:
		c.toWrong++
	}
	return true
}

// total adds up what was counted by scorers.
func (d *Summary) total() (sum changes) {
	for _, c := range d.changes {
		sum.compared += c.compared
		sum.toWrong += c.toWrong
		sum.toRight += c.toRight
	}
	return sum
}

// byScorers is the pairs of scorers, in order.
func (d *Summary) byScorers() []scorerChange {
	var all []scorerChange
	for c := range d.changes {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b scorerChange) int {
		return cmp.Or(cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New))
	})
	return all
}

// responseTexts goes through the responses of a corpus, in order.
type responseTexts struct {
	next func() (*rollout.Response, error, bool) // nil if there are none
	stop func()
	at   *rollout.Response // nil before the first and after the last
	done bool
}

// openTexts opens the parts in a folder. That it is not there, or has none, is
// no error.
func openTexts(folder string) (*responseTexts, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var parts []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "part-") && filepath.Ext(entry.Name()) == ".parquet" {
			parts = append(parts, filepath.Join(folder, entry.Name()))
		}
	}
	t := new(responseTexts)
	if len(parts) > 0 {
		t.next, t.stop = iter.Pull2(rollout.Responses(parts))
	}
	return t, nil
}

// of is the text of a response, nil if it is not there. Responses must be asked
// for in order.
func (t *responseTexts) of(id rollout.ID) (*string, error) {
	for t.next != nil && !t.done && (t.at == nil || t.at.ID().Compare(id) < 0) {
		at, err, more := t.next()
		if err != nil {
			return nil, err
		}
		t.at, t.done = at, !more
	}
	if t.at == nil || t.at.ID() != id {
		return nil, nil
	}
	return &t.at.Text, nil
}

func (t *responseTexts) close() {
	if t != nil && t.stop != nil {
		t.stop()
	}
}

// ScoreFiles are two files of scores to be compared, and the output folder with the
// responses that they are about.
type ScoreFiles struct{ Old, New, Out string }

// responses is the folder with the responses of a benchmark and a model.
func (f ScoreFiles) responses(benchmark, model string) string {
	return filepath.Join(f.Out, "generate", "benchmark="+benchmark, "model="+model)
}

// OtherRollouts reports whether the scores are known to be of different
// rollouts: a disagreement may be one of the responses then.
func (f ScoreFiles) OtherRollouts() bool {
	a, oldErr := rolloutsOf(f.Old)
	b, newErr := rolloutsOf(f.New)
	return oldErr == nil && newErr == nil && a != b
}

// StoredScores lists the scores in an output folder, each with the scores that it
// replaced, for the given pairs BENCHMARK/MODEL or for all. first are the pairs
// whose rollouts have not been scored before.
func StoredScores(out string, pairs []string) (files []ScoreFiles, first []string, err error) {
	corpora, err := folders(out, pairs)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range corpora {
		present := filepath.Join(out, "score", c, "scores.parquet")
		old, err := earlierScores(filepath.Join(out, "superseded", "score", c), present)
		if err != nil {
			return nil, nil, err
		}
		if old == "" {
			first = append(first, filepath.ToSlash(c))
			continue
		}
		files = append(files, ScoreFiles{old, present, out})
	}
	return files, first, nil
}

// folders are those named "benchmark=B/model=M" with scores: of the words,
// BENCHMARK/MODEL each, or all.
func folders(out string, words []string) (folders []string, err error) {
	root := filepath.Join(out, "score")
	for _, word := range words {
		benchmark, model, ok := strings.Cut(word, "/")
		if !ok || benchmark == "" || model == "" || strings.Contains(model, "/") {
			return nil, fmt.Errorf("%q: want BENCHMARK/MODEL, or two files that end in .parquet", word)
		}
		folder := filepath.Join("benchmark="+benchmark, "model="+model)
		if _, err := os.Stat(filepath.Join(root, folder, "scores.parquet")); err != nil {
			return nil, fmt.Errorf("no scores of %s: %w", word, err)
		}
		folders = append(folders, folder)
	}
	if len(words) > 0 {
		return folders, nil
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "scores.parquet" {
			folder, relErr := filepath.Rel(root, filepath.Dir(path))
			folders, err = append(folders, folder), relErr
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(folders) == 0 {
		return nil, fmt.Errorf("%s has no scores: run `speceval run score` first, or name two files", root)
	}
	return folders, err
}

// earlierScores is the newest file in the folder, of scores that made room for
// others, that has the rollouts of the scores at path; "" if there is none.
func earlierScores(folder, path string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var files []fs.FileInfo
	for _, entry := range entries {
		if ok, _ := filepath.Match("scores.*.parquet", entry.Name()); !ok {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return "", err
		}
		files = append(files, info)
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	if len(files) == 0 {
		return "", nil
	}
	rollouts, err := rolloutsOf(path)
	if err != nil {
		return "", err
	}
	for _, info := range files {
		file := filepath.Join(folder, info.Name())
		of, err := rolloutsOf(file)
		if err != nil {
			return "", err
		}
		if of == rollouts {
			return file, nil
		}
	}
	return "", nil
}

// rolloutsOf identifies the rollouts of a file of scores.
func rolloutsOf(path string) (string, error) {
	_, footer, err := rowfile.ReadFooter(path)
	return footer[rollout.RolloutsKey], err
}
