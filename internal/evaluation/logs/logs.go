// Package logs reads logs of other evaluation tools in one form: tasks, their rollouts and
// the reward of each. A log is read as a stream, and every error names the file.
package logs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/files"
)

// Log is a log of one model on one benchmark. As JSON it is without its rollouts.
type Log struct {
	Format    string   `json:"format"`          // its name among Formats
	Source    string   `json:"source"`          // path
	Digest    string   `json:"sha256"`          // of its files' contents, in lower-case hex
	Benchmark string   `json:"benchmark"`       // as the log names it
	Model     string   `json:"model"`           // as the log names it
	Scorer    string   `json:"scorer"`          // scorer or metric of the rewards
	Notes     []string `json:"notes,omitempty"` // for the user: rollouts that are left out, and doubts

	Allocated bool           `json:"-"` // an allocation of speceval decided how many rollouts each task has
	Snapshot  jsontext.Value `json:"-"` // of the allocation's evaluation, as the protocol has it; nil if there is none
	Result    jsontext.Value `json:"-"` // of the evaluation of speceval that was exported; nil of other logs
	Tasks     []Task         `json:"-"` // in the log's order, ids unique, each with a rollout at least
	Left      int            `json:"-"` // rollouts of the log that are left out: unscored, or not selected
	Seed      *uint64        `json:"-"` // of the evaluation of speceval that was exported; nil of other logs
}

// Task is a task and its scored rollouts, by their numbers.
type Task struct {
	ID       string
	Rollouts []Rollout
}

// Rollout is one scored rollout.
type Rollout struct {
	Number           int     // the log's epoch, trial or repeat, from 1, unique in its task
	Reward           float64 // 0 to 1
	PromptTokens     int64   // −1: the log does not say
	CompletionTokens int64   // −1: the log does not say
	Identity         uint64  // the same in all logs that have this rollout; 0: not known
}

// Choice says how logs are read.
type Choice struct {
	Format string // "": recognised from content
	Reward string // scorer, metric or field; "": the only one, or the first with a note
	Strict bool   // a log of a folder that cannot be used is an error
	Scorer string // name of a scorer of texts that replaces the log's own rewards; "": none
	// Score is the reward of a response by Scorer. The error says why gold is no right answer.
	Score func(gold, response string) (float64, error)
}

// format is a form of logs.
type format struct {
	name   string
	file   *regexp.Regexp // the name of a file
	begins string         // its first bytes, but for white space
	words  []string       // that are among its first bytes, as keys or texts
	above  int            // folders above a file, whose files are one log together; 0: each by itself
	read   func(b *book, path string) error
}

var (
	anyFile   = regexp.MustCompile("")
	evalFile  = regexp.MustCompile(`\.eval$`)
	jsonFile  = regexp.MustCompile(`\.json$`)
	linesFile = regexp.MustCompile(`\.jsonl$`)
	nemoFile  = regexp.MustCompile(`^output(?:-rs(\d{1,6}))?(?:_chunk_\d+)?\.jsonl$`)
	lightFile = regexp.MustCompile(`^details`)
)

// formats are tried in this order.
var formats = []format{
	{"inspect", evalFile, zipped, nil, 0, readInspect},
	{"inspect", anyFile, "{", []string{"version", "eval", "status", "task", "model"}, 0, readInspect},
	{"lm-eval", linesFile, "{", []string{"doc_id", "filtered_resps"}, 0, readLMEval},
	{"lm-eval", linesFile, "{", []string{"doc_id", "resps"}, 0, readLMEval}, // before 0.4
	{"nemo-skills", nemoFile, "{", []string{"generation"}, 1, readNemo},
	{"verifiers", linesFile, "{", []string{"traces", "task"}, 0, readVerifiers},
	{"verifiers", linesFile, "{", []string{"completion", "reward", "prompt"}, 0, readVerifiers},
	{"every-eval-ever", linesFile, "{", []string{"evaluation_id", "sample_id", "evaluation"}, 0, readEveryEval},
	{"harbor", jsonFile, "{", []string{"task_name", "trial_name", "agent_info"}, 2, readHarbor},
	{"terminal-bench", jsonFile, "{", []string{"is_resolved", "trial_name", "results"}, 1, readTerminalBench},
	{"terminal-bench", jsonFile, "{", []string{"is_resolved", "trial_name"}, 3, readTerminalBench},
	{"lighteval", lightFile, "PAR1", nil, 0, readLighteval},
	{"speceval", jsonFile, "{", []string{"schema", "speceval-export/1"}, 0, readOwn},
}

// Formats returns the names of all formats.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return slices.Compact(names)
}

// Read reads the logs at path, a file or a folder of logs, in the order of its files. Files in a folder that no format recognises are passed over; a file that is
// named itself must be a log. Unless the choice is strict, logs of a folder that cannot
// be used are left out, and unusable says why.
func (c Choice) Read(path string) (all []Log, unusable []error, err error) {
	if c.Format != "" && !slices.Contains(Formats(), c.Format) {
		return nil, nil, fmt.Errorf("there is no format %q: want one of %s", c.Format, strings.Join(Formats(), ", "))
	}
	paths, folder, err := find(path)
	if err != nil {
		return nil, nil, err
	}
	books, err := c.books(paths, folder)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range books {
		read, err := b.logs()
		switch {
		case err == nil:
			all = append(all, read...)
		case c.Strict || !folder:
			return nil, nil, err
		default:
			unusable = append(unusable, err)
		}
	}
	switch {
	case len(all) > 0:
		return all, unusable, nil
	case len(unusable) > 0:
		return nil, nil, unusable[0]
	}
	return nil, nil, fmt.Errorf("%s: %w of %s is recognised: of results of another tool make a CSV file with the columns task_id, pass_count and tested_k", path, ErrUnknown, strings.Join(Formats(), ", "))
}

// ErrUnknown is in the error of a file or folder in which no format recognises a log.
var ErrUnknown = errors.New("no log")

// find returns the file at path, or the regular files of the folder there that may be logs.
// Links are not followed, and names that begin with a dot are passed over.
func find(path string) (paths []string, folder bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, false, err
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		hidden := name != path && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return filepath.SkipDir
		case !hidden && d.Type().IsRegular() && slices.Contains([]string{".eval", ".json", ".jsonl", ".parquet"}, filepath.Ext(base(name))):
			paths = append(paths, name)
		}
		return nil
	})
	return paths, true, err
}

// book is the files of one place, and the logs in them.
type book struct {
	Choice
	format format
	source string // the file, or the place of several
	paths  []string
	drafts []*draft
	at     map[[2]string]*draft // by benchmark and model
}

// books recognises files, and puts those of one place together.
func (c Choice) books(paths []string, folder bool) (all []*book, err error) {
	at := make(map[string]*book)
	for _, path := range paths {
		head, err := Head(path)
		if err != nil {
			return nil, err
		}
		for _, f := range formats {
			lacks := func(word string) bool { return !bytes.Contains(head, []byte(`"`+word+`"`)) }
			is := f.file.MatchString(base(path)) && bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte(f.begins)) && !slices.ContainsFunc(f.words, lacks)
			if c.Format != "" && c.Format != f.name || !is && (c.Format == "" || folder) {
				continue
			}
			place := path
			for range f.above {
				place = filepath.Dir(place)
			}
			b := at[f.name+" "+place]
			if b == nil {
				b = &book{Choice: c, format: f, source: path, at: make(map[[2]string]*draft)}
				at[f.name+" "+place], all = b, append(all, b)
			} else {
				b.source = place
			}
			b.paths = append(b.paths, path)
			break
		}
	}
	return all, nil
}

// draft returns the log of a benchmark and model, a new one for the first row.
func (b *book) draft(benchmark, model string) *draft {
	d := b.at[[2]string{benchmark, model}]
	if d != nil {
		return d
	}
	d = &draft{
		Log:    Log{Format: b.format.name, Source: b.source, Benchmark: benchmark, Model: model},
		wanted: b.Reward, places: make(map[string]int), counted: make(map[string]int),
	}
	b.at[[2]string{benchmark, model}], b.drafts = d, append(b.drafts, d)
	return d
}

// logs reads the files, and returns all logs of the place.
func (b *book) logs() (all []Log, err error) {
	f := b.format
	if b.Scorer != "" && f.name != "lm-eval" {
		return nil, fmt.Errorf("%s: --scorer reads the answers of logs of lm-eval alone: take the rewards of this one, or choose them with --reward", b.source)
	}
	var digests []string
	for _, path := range b.paths {
		if err := f.read(b, path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		d, err := files.DigestOf("", path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if at := slices.Index(digests, d.SHA256); at >= 0 && f.name == "nemo-skills" { // a file for every repeat
			return nil, fmt.Errorf("%s is the same as %s: its rollouts would count twice; remove one of them", path, b.paths[at])
		}
		digests = append(digests, d.SHA256)
	}
	slices.Sort(digests)
	sum := sha256.Sum256([]byte(strings.Join(digests, " ")))
	for _, d := range b.drafts {
		d.Digest = hex.EncodeToString(sum[:])
		err = cmp.Or(err, d.finish())
		all = append(all, d.Log)
	}
	if len(all) == 0 {
		err = cmp.Or(err, errors.New("no rollout in it is scored"))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.source, err)
	}
	return all, nil
}
