package upstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/upstream/rows"
)

// form is the shape of a source's rows.
type form struct {
	scorer  string
	columns map[string]rows.Kind
	// row makes a row that may become a task; nil leaves it out. index is the number of
	// the row in all files, from 0.
	row func(r rows.Row, file string, index int) (*row, error)
	// finish changes a row that was chosen, by its place in its group; nil: nothing.
	finish  func(r *row, place int)
	rows    int      // that the pinned revision has; 0: any number
	modules []string // see [Group.Modules]
}

// row is a row of a source that may become a task.
type row struct {
	benchmark.Task        // its id, problem, answer and options
	part           string // of its source; "" where there is one
	tests          tests  // of a program
}

// problems are in mathematics. Their ids are in the first of some columns that is there.
func problems(ids ...string) form {
	f := form{scorer: "math", columns: map[string]rows.Kind{"problem": rows.Text, "answer": rows.Text}, row: func(r rows.Row, _ string, _ int) (*row, error) {
		made := &row{Task: benchmark.Task{Prompt: r.Text("problem"), Answer: r.Text("answer")}}
		for _, id := range slices.Backward(ids) {
			if text := r.Text(id); text != "" {
				made.ID = text
			}
		}
		return made, nil
	}}
	for _, id := range ids {
		f.columns[id] = rows.Text
		if len(ids) > 1 {
			f.columns[id] = rows.Optional
		}
	}
	if ids[0] == "unique_id" {
		f.rows = 500
	}
	return f
}

// openQuestions leave out those with an image.
var openQuestions = form{
	scorer: "judge", columns: map[string]rows.Kind{"id": rows.Text, "question": rows.Text, "answer": rows.Text, "image": rows.Optional},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		if r.Text("image") != "" {
			return nil, nil
		}
		return &row{Task: benchmark.Task{ID: r.Text("id"), Prompt: r.Text("question"), Answer: r.Text("answer")}}, nil
	},
}

// choice makes a row with one right option, counted from 0.
func choice(id, part, problem string, options []string, right int) (*row, error) {
	if right < 0 || right >= len(options) {
		return nil, fmt.Errorf("option %d of %d is said to be right", right, len(options))
	}
	return &row{Task: benchmark.Task{ID: id, Prompt: problem, OptionTexts: options, Options: len(options), Answer: letter(right)}, part: part}, nil
}

// letter names an option, from A on.
func letter(i int) string { return string(rune('A' + i)) }

// shuffledChoices have the right option first in the file; a seed for every place in a
// group shuffles the options.
var shuffledChoices = form{
	scorer: "choice",
	columns: map[string]rows.Kind{
		"Record ID": rows.Text, "High-level domain": rows.Text, "Question": rows.Text,
		"Correct Answer": rows.Text, "Incorrect Answer 1": rows.Text, "Incorrect Answer 2": rows.Text, "Incorrect Answer 3": rows.Text,
	},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		options := []string{r.Text("Correct Answer"), r.Text("Incorrect Answer 1"), r.Text("Incorrect Answer 2"), r.Text("Incorrect Answer 3")}
		return choice(r.Text("Record ID"), strings.ToLower(r.Text("High-level domain")), r.Text("Question"), options, 0)
	},
	finish: func(r *row, place int) {
		order, options := []int{0, 1, 2, 3}, slices.Clone(r.OptionTexts)
		Shuffle(NewMersenne(uint32(selectionSeed+place)), order)
		for to, from := range order {
			r.OptionTexts[to] = options[from]
		}
		r.Answer = letter(slices.Index(order, 0))
	},
}

// scienceChoices are physics, chemistry and biology, with the letter of the right option.
var scienceChoices = form{
	scorer:  "choice",
	columns: map[string]rows.Kind{"uuid": rows.Text, "question": rows.Text, "answer_letter": rows.Text, "discipline": rows.Text, "field": rows.Text, "options": rows.Texts},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		field, name := r.Text("field"), r.Text("answer_letter")
		if r.Text("discipline") != "Science" || !slices.Contains([]string{"Physics", "Chemistry", "Biology"}, field) {
			return nil, nil
		}
		if len(name) != 1 {
			return nil, fmt.Errorf("answer_letter is %q", name)
		}
		return choice(r.Text("uuid"), strings.ToLower(field), r.Text("question"), r.Texts("options"), int(name[0])-'A')
	},
}

// subjectChoices have no ids: a row is named by its number in all files and the hash of
// its content. The subject may be the folder alone.
var subjectChoices = form{
	scorer:  "choice",
	columns: map[string]rows.Kind{"question": rows.Text, "answer": rows.Text, "subject": rows.Optional, "choices": rows.Texts},
	row: func(r rows.Row, file string, index int) (*row, error) {
		part := r.Text("subject")
		if part == "" {
			part = path.Dir(file)
		}
		right, err := strconv.Atoi(r.Text("answer"))
		if err != nil {
			return nil, fmt.Errorf("answer: %w", err)
		}
		hash, err := contentHash(r.Text("question"), part, r.Texts("choices"), right)
		if err != nil {
			return nil, err
		}
		return choice(fmt.Sprintf("source-row:%d:sha256:%s", index, hash), part, r.Text("question"), r.Texts("choices"), right)
	},
}

// contentHash is the SHA-256 of a row as JSON: its keys sorted, no blanks, every
// character as it is.
func contentHash(question, subject string, choices []string, answer int) (string, error) {
	text, err := json.Marshal(struct {
		Answer   int      `json:"answer"`
		Choices  []string `json:"choices"`
		Question string   `json:"question"`
		Subject  string   `json:"subject"`
	}{answer, choices, question, subject})
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// lastContest is the day of the last contest that is left out.
const lastContest = "2024-03-30"

// programs are of contests after a day. Their tests are large: a row knows their places.
var programs = form{
	scorer: "code", rows: 441, modules: []string{"numpy"},
	columns: map[string]rows.Kind{
		"question_id": rows.Text, "question_content": rows.Text, "difficulty": rows.Text, "contest_date": rows.Text,
		"metadata": rows.Optional, "public_test_cases": rows.Place, "private_test_cases": rows.Place,
	},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		day, _, _ := strings.Cut(r.Text("contest_date"), "T")
		if len(day) != len(lastContest) {
			return nil, fmt.Errorf("contest_date is %q, want a date like %s", r.Text("contest_date"), lastContest)
		}
		if day <= lastContest {
			return nil, nil
		}
		var about struct {
			Function string `json:"func_name"`
		}
		if text := r.Text("metadata"); strings.TrimSpace(text) != "" {
			if err := json.Unmarshal([]byte(text), &about); err != nil {
				return nil, fmt.Errorf("metadata: %w", err)
			}
		}
		made := &row{Task: benchmark.Task{ID: r.Text("question_id"), Prompt: r.Text("question_content")}, part: r.Text("difficulty")}
		made.tests = tests{function: about.Function, places: []rows.Span{r.Place("public_test_cases"), r.Place("private_test_cases")}}
		return made, nil
	},
}

// tests are where the tests of a program stand.
type tests struct {
	path     string // of the file
	function string // to call; "" for a program that reads its input
	places   []rows.Span
}

// each calls with every test, the public ones first.
func (t tests) each(ctx context.Context, call func(benchmark.Test) error) error {
	for _, at := range t.places {
		if at.Length == 0 {
			continue
		}
		text, err := rows.OpenText(t.path, at)
		if err != nil {
			return err
		}
		err = ReadTestCases(text, t.function, func(test benchmark.Test) error { return errors.Join(context.Cause(ctx), call(test)) })
		if err = errors.Join(err, text.Close()); err != nil {
			return fmt.Errorf("%s, byte %d: %w", t.path, at.Offset, err)
		}
	}
	return nil
}
