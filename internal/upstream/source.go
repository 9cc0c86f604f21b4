// Package upstream makes the tasks of the paper's benchmarks out of the files that
// their authors publish: which rows of which file make a benchmark, in which order,
// and what is right in each. It holds no text of theirs.
package upstream

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/csvfile"
)

// Source is a dataset at one revision.
type Source struct {
	ID       string   // "gpqa"
	Dataset  string   // of the service that publishes it: "Idavidrein/gpqa"
	Revision string   // 40 hexadecimal digits
	Files    []string // in the order in which they are read
	SHA256   []string // of each of them, in lower-case hexadecimal; "" where it is not known
	Format   string   // of all files: "parquet", "jsonl" or "csv"
	Gated    bool     // its terms must be accepted before it can be downloaded
	Licence  string
}

// Group is a benchmark: some rows of a source in some order.
type Group struct {
	ID        string // as in every file of the pipeline: "gpqa_diamond__domain_physics"
	Source    *Source
	Part      string    // value by which its rows are told from those of other groups; "" for all
	Selection Selection // of its rows
	// PromptsSHA256 is benchmark.PromptDigest of its tasks in the words in which
	// upstream asks them.
	PromptsSHA256 string
}

// Selection is the way to choose the tasks of a group from its rows.
type Selection string

// The ways. See [Selection.choose].
const (
	All    Selection = "all"    // every row, in file order
	Rank   Selection = "rank"   // the first hundred by the hash of their ids, where there are more
	Sample Selection = "sample" // a hundred that CPython draws, in file order
)

// Which says which rows of its source are the group's, for people.
func (g Group) Which() string {
	rows := "all rows"
	if g.Part != "" {
		rows = "rows of " + g.Part
	}
	switch g.Selection {
	case Rank:
		return rows + ", at most 100, by hash"
	case Sample:
		return "100 drawn of 500 rows"
	}
	return rows
}

var hexDigits = regexp.MustCompile(`^[0-9a-f]+$`)

// badDigest reports whether a text is neither a SHA-256 nor empty.
func badDigest(text string) bool {
	return text != "" && (len(text) != 64 || !hexDigits.MatchString(text))
}

// Parse reads groups from two CSV files: sources, with the columns source, dataset,
// revision, files (separated by semicolons), format, gated (yes or no), licence and
// perhaps sha256 (of the files, where known, separated by semicolons); and groups, with the columns benchmark, source, part, selection and
// prompts_sha256.
func Parse(sources, groups []byte) ([]Group, error) {
	known, err := parseSources(sources)
	if err != nil {
		return nil, fmt.Errorf("sources: %w", err)
	}
	records, faults := csvfile.Parse(groups, []string{"benchmark", "source", "part", "selection", "prompts_sha256"})
	var all []Group
	for _, r := range records {
		g := Group{ID: r.Fields[0], Source: known[r.Fields[1]], Part: r.Fields[2], Selection: Selection(r.Fields[3]), PromptsSHA256: r.Fields[4]}
		switch {
		case g.ID == "" || slices.ContainsFunc(all, func(other Group) bool { return other.ID == g.ID }):
			err = fmt.Errorf("benchmark %q is empty or there twice", g.ID)
		case g.Source == nil:
			err = fmt.Errorf("there is no source %q", r.Fields[1])
		case !slices.Contains([]Selection{All, Rank, Sample}, g.Selection):
			err = fmt.Errorf("there is no selection %q", g.Selection)
		case len(g.PromptsSHA256) != 64 || !hexDigits.MatchString(g.PromptsSHA256):
			err = fmt.Errorf("prompts_sha256 is %q", g.PromptsSHA256)
		}
		if err != nil {
			return nil, fmt.Errorf("groups: row %d: %w", r.Number, err)
		}
		all = append(all, g)
	}
	return all, errors.Join(faults...)
}

func parseSources(data []byte) (map[string]*Source, error) {
	records, faults := csvfile.Parse(data, []string{"source", "dataset", "revision", "files", "format", "gated", "licence"}, "sha256")
	known := map[string]*Source{}
	for _, r := range records {
		s := &Source{
			ID: r.Fields[0], Dataset: r.Fields[1], Revision: r.Fields[2], Files: strings.Split(r.Fields[3], ";"),
			Format: r.Fields[4], Gated: r.Fields[5] == "yes", Licence: r.Fields[6],
		}
		s.SHA256 = make([]string, len(s.Files))
		if r.Fields[7] != "" {
			s.SHA256 = strings.Split(r.Fields[7], ";")
		}
		var err error
		switch {
		case s.ID == "" || known[s.ID] != nil:
			err = fmt.Errorf("source %q is empty or there twice", s.ID)
		case len(s.Revision) != 40 || !hexDigits.MatchString(s.Revision):
			err = fmt.Errorf("revision is %q", s.Revision)
		case len(s.SHA256) != len(s.Files) || slices.ContainsFunc(s.SHA256, badDigest):
			err = fmt.Errorf("sha256 is %q: want 64 hexadecimal digits or nothing for each of %d files", r.Fields[7], len(s.Files))
		case readers[s.ID] == nil:
			err = fmt.Errorf("nothing reads the source %q", s.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", r.Number, err)
		}
		known[s.ID] = s
	}
	return known, errors.Join(faults...)
}
