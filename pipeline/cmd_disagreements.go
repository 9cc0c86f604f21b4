package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/rollout"
	"speceval/internal/rowfile"
)

func disagreementsCommand() command {
	return command{
		name:  "disagreements",
		args:  "[OLD.parquet NEW.parquet | BENCHMARK/MODEL…] [-n N] [--json]",
		about: "list the rollouts on which two versions of a scorer disagree, with the ends of their responses",
		examples: `  speceval disagreements                           all scores, against those that another scorer gave before
  speceval disagreements aime24/qwen3_5_4b -n 0    those of one benchmark and model, every rollout
  speceval disagreements old.parquet new.parquet   any two files of scores
  speceval disagreements --json                    an object a line, with whole responses; summaries last
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.IntVar(&o.most, "n", 20, "list at most `N` rollouts of each benchmark and model (20); 0: all")
			fs.BoolVar(&o.json, "json", false, "print a JSON object a line")
		},
		run: runDisagreements,
	}
}

func runDisagreements(s *session, words []string) error {
	if s.most < 0 {
		return usagef("-n %d: want 0, for all, or more", s.most)
	}
	files, err := s.scoreFiles(words)
	if err != nil {
		return &usageError{err}
	}
	var write disagreementWriter = &disagreementText{w: s.stdout}
	if s.json {
		write = newDisagreementJSON(s.stdout)
	}
	ctx, stop := s.interruptible()
	defer stop()
	for _, f := range files {
		if err := disagree(ctx, f, s.most, write); err != nil {
			return err
		}
	}
	return nil
}

// scoreFiles are two files of scores to be compared, and the folder with the
// responses that they are about.
type scoreFiles struct {
	old, new  string
	responses func(benchmark, model string) string
}

// scoreFiles finds what the words name: two files, or benchmarks and models, or
// all that there are.
func (s *session) scoreFiles(words []string) ([]scoreFiles, error) {
	isFile := func(word string) bool { return filepath.Ext(word) == ".parquet" }
	named := slices.ContainsFunc(words, isFile)
	if named && (len(words) != 2 || !isFile(words[0]) || !isFile(words[1])) {
		return nil, fmt.Errorf("want two files of scores, OLD.parquet NEW.parquet, have %s", quoted(words))
	}
	out, err := s.outFolder()
	if err != nil && !named {
		return nil, err
	}
	responses := func(benchmark, model string) string {
		return filepath.Join(out, "generate", "benchmark="+benchmark, "model="+model)
	}
	if named {
		for _, word := range words {
			if _, err := os.Stat(word); err != nil {
				return nil, err
			}
		}
		s.warnOfOtherRollouts(words[0], words[1])
		return []scoreFiles{{words[0], words[1], responses}}, nil
	}
	corpora, err := storedScores(out, words)
	if err != nil {
		return nil, err
	}
	var files []scoreFiles
	for _, c := range corpora {
		present := filepath.Join(out, "score", c, "scores.parquet")
		old, err := earlierScores(filepath.Join(out, "superseded", "score", c), present)
		if err != nil {
			return nil, err
		}
		if old == "" {
			s.say("%s has no earlier scores of the same rollouts", filepath.ToSlash(c))
			continue
		}
		files = append(files, scoreFiles{old, present, responses})
	}
	return files, nil
}

// storedScores are the folders "benchmark=B/model=M" with scores: of the words,
// BENCHMARK/MODEL each, or all.
func storedScores(out string, words []string) (folders []string, err error) {
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
	rollouts, err := scoredRollouts(path)
	if err != nil {
		return "", err
	}
	for _, info := range files {
		file := filepath.Join(folder, info.Name())
		of, err := scoredRollouts(file)
		if err != nil {
			return "", err
		}
		if of == rollouts {
			return file, nil
		}
	}
	return "", nil
}

// warnOfOtherRollouts warns of two files with scores of different rollouts. That
// one cannot be read will be told when it is.
func (s *session) warnOfOtherRollouts(old, new string) {
	a, oldErr := scoredRollouts(old)
	b, newErr := scoredRollouts(new)
	if oldErr == nil && newErr == nil && a != b {
		s.warn("%s and %s are of different rollouts: a disagreement may be one of the responses", old, new)
	}
}

// scoredRollouts tells the rollouts of a file of scores from others.
func scoredRollouts(path string) (string, error) {
	_, footer, err := rowfile.ReadFooter(path)
	return footer[rollout.RolloutsKey], err
}
