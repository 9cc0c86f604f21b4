// Package upstream makes the tasks of the paper's benchmarks out of the files that
// their authors publish: which rows of which file make a benchmark, in which order,
// and what is right in each. It holds no text of theirs.
package upstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/csvfile"
	"speceval/internal/upstream/rows"
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
	Part      string    // value that selects its rows; "" for all
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

// gpqa is GPQA Diamond. Its options are shuffled by a seed for every place in a
// group; the right one is the first of the file.
var gpqa = reader{
	scorer: "choice",
	columns: []rows.Column{
		{Name: "Record ID"}, {Name: "High-level domain"}, {Name: "Question"},
		{Name: "Correct Answer"}, {Name: "Incorrect Answer 1"}, {Name: "Incorrect Answer 2"}, {Name: "Incorrect Answer 3"},
	},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		return &row{
			id: r.Text("Record ID"), part: strings.ToLower(r.Text("High-level domain")), problem: r.Text("Question"),
			options: []string{r.Text("Correct Answer"), r.Text("Incorrect Answer 1"), r.Text("Incorrect Answer 2"), r.Text("Incorrect Answer 3")},
		}, nil
	},
	finish: func(r *row, place int) {
		order := []int{0, 1, 2, 3}
		Shuffle(NewMersenne(uint64(selectionSeed+place)), order)
		shuffled := make([]string, len(order))
		for to, from := range order {
			shuffled[to] = r.options[from]
		}
		r.options, r.right = shuffled, slices.Index(order, 0)
	},
}

// superGPQA is the science of SuperGPQA: physics, chemistry and biology.
var superGPQA = reader{
	scorer: "choice",
	columns: []rows.Column{
		{Name: "uuid"}, {Name: "question"}, {Name: "options", Kind: rows.Texts}, {Name: "answer_letter"}, {Name: "discipline"}, {Name: "field"},
	},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		field := r.Text("field")
		if r.Text("discipline") != "Science" || !slices.Contains([]string{"Physics", "Chemistry", "Biology"}, field) {
			return nil, nil
		}
		made := &row{id: r.Text("uuid"), part: strings.ToLower(field), problem: r.Text("question"), options: slices.Clone(r.Texts("options")), right: -1}
		for i := range made.options {
			if letter(i) == r.Text("answer_letter") {
				made.right = i
			}
		}
		if made.right < 0 {
			return nil, fmt.Errorf("answer_letter is %q, of %d options", r.Text("answer_letter"), len(made.options))
		}
		return made, nil
	},
}

// mmlu is three subjects of MMLU. A row has no id of its own: it is called by its
// place in all files and the hash of what it holds.
var mmlu = reader{
	scorer: "choice",
	columns: []rows.Column{
		{Name: "question"}, {Name: "subject", Optional: true}, {Name: "choices", Kind: rows.Texts}, {Name: "answer"},
	},
	row: func(r rows.Row, file string, index int) (*row, error) {
		made := &row{part: r.Text("subject"), problem: r.Text("question"), options: r.Texts("choices")}
		var err error
		if made.right, err = strconv.Atoi(r.Text("answer")); err != nil {
			return nil, fmt.Errorf("answer: %w", err)
		}
		if made.part == "" {
			made.part = path.Dir(file)
		}
		if made.right < 0 || made.right >= len(made.options) {
			return nil, fmt.Errorf("answer is %d, of %d choices", made.right, len(made.options))
		}
		made.id = fmt.Sprintf("source-row:%d:sha256:%s", index, contentHash(made))
		return made, nil
	},
}

// contentHash is the SHA-256 of the row as JSON: its keys sorted, no blanks, every
// character as it is.
func contentHash(r *row) string {
	b := strconv.AppendInt([]byte(`{"answer":`), int64(r.right), 10)
	b = append(b, `,"choices":[`...)
	for i, text := range r.options {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, text)
	}
	b = appendQuoted(append(b, `],"question":`...), r.problem)
	b = appendQuoted(append(b, `,"subject":`...), r.part)
	hash := sha256.Sum256(append(b, '}'))
	return hex.EncodeToString(hash[:])
}

// appendQuoted appends a JSON string.
func appendQuoted(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text) // invalid UTF-8 becomes U+FFFD
	return b
}

// letter names option i, from A on.
func letter(i int) string { return string(rune('A' + i)) }

// What the paper's selections have in common: the seed, and how many tasks a large
// group has.
const (
	selectionSeed = 42
	largeGroup    = 100
)

// sampledRows is how many rows a source has that is sampled. Another number is
// another revision, of which a sample would be another one, too.
const sampledRows = 500

// choose gives the tasks of a group out of the rows that belong to it, in the order
// of the benchmark. Of data that was never published any number will do.
func (g Group) choose(rows []row, unpublished bool) ([]row, error) {
	switch {
	case g.Selection == Sample:
		if len(rows) != sampledRows && !unpublished {
			return nil, fmt.Errorf("%s: there are %d rows, want %d: another revision of %s?", g.ID, len(rows), sampledRows, g.Source.Dataset)
		}
		places := NewMersenne(selectionSeed).Sample(len(rows), min(len(rows), largeGroup))
		slices.Sort(places)
		chosen := make([]row, len(places))
		for i, p := range places {
			chosen[i] = rows[p]
		}
		return chosen, nil
	case g.Selection == Rank && len(rows) > largeGroup:
		return ranked(g.ID, rows)[:largeGroup], nil
	}
	return rows, nil
}

// ranked is the rows in the order of the hashes of their ids in a group.
func ranked(group string, rows []row) []row {
	rows = slices.Clone(rows)
	keys := make(map[string]string, len(rows))
	for _, r := range rows {
		keys[r.id] = RankKey(group, r.id)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(keys[a.id], keys[b.id]), cmp.Compare(a.id, b.id))
	})
	return rows
}

// RankKey is what the rows of a group are ranked by: a hash of their ids.
func RankKey(group, id string) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "sha256_rank_without_replacement_v1|seed=%d|child=%s|task=%s", selectionSeed, group, id))
	return hex.EncodeToString(hash[:])
}
