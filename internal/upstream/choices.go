package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/mersenne"
	"speceval/internal/upstream/rows"
)

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
		mersenne.Shuffle(mersenne.New(uint64(selectionSeed+place)), order)
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
		{Name: "question"}, {Name: "subject", Optional: true}, {Name: "choices", Kind: rows.Texts}, {Name: "answer", Kind: rows.Number},
	},
	row: func(r rows.Row, file string, index int) (*row, error) {
		made := &row{part: r.Text("subject"), problem: r.Text("question"), options: slices.Clone(r.Texts("choices")), right: r.Int("answer")}
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
		b = benchmark.AppendString(b, text)
	}
	b = benchmark.AppendString(append(b, `],"question":`...), r.problem)
	b = benchmark.AppendString(append(b, `,"subject":`...), r.part)
	hash := sha256.Sum256(append(b, '}'))
	return hex.EncodeToString(hash[:])
}

// letter names option i, from A on.
func letter(i int) string { return string(rune('A' + i)) }
