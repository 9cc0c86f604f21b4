package disagreement

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

// Files are two files of scores to be compared, and the output folder with the
// responses that they are about.
type Files struct{ Old, New, Out string }

// responses is the folder with the responses of a benchmark and a model.
func (f Files) responses(benchmark, model string) string {
	return filepath.Join(f.Out, "generate", "benchmark="+benchmark, "model="+model)
}

// OtherRollouts reports whether the scores are known to be of different
// rollouts: a disagreement may be one of the responses then.
func (f Files) OtherRollouts() bool {
	a, oldErr := rolloutsOf(f.Old)
	b, newErr := rolloutsOf(f.New)
	return oldErr == nil && newErr == nil && a != b
}

// Stored are the scores in an output folder beside those that they took the
// place of, of each pair BENCHMARK/MODEL, or of all. first are the pairs whose
// rollouts have not been scored before.
func Stored(out string, pairs []string) (files []Files, first []string, err error) {
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
		files = append(files, Files{old, present, out})
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
