// Package made writes files in the forms in which the benchmarks of the paper are
// published, with the published ids and problems of our own, for tests and drills: the
// real ones cannot be passed on.
package made

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"speceval/internal/benchmark/upstream"
)

// Options say what is made.
type Options struct {
	Groups []upstream.Group
	IDs    map[string][]string // published ones of each group, in order
	Seed   uint64
	Tests  int64 // bytes of all packed tests of programs, about
	Images int   // bytes of each image
}

// Write writes the files of all sources of the groups below dir. The rows hold the
// published tasks and others that no selection takes. Of MMLU the ids are hashes of
// the real texts: its files give other ones.
func Write(dir string, o Options) error {
	m := maker{o, rand.New(rand.NewPCG(o.Seed, 0))}
	done := map[*upstream.Source]bool{}
	for _, g := range o.Groups {
		if done[g.Source] {
			continue
		}
		done[g.Source] = true
		for at, name := range g.Source.Files {
			if err := write(g.Source.Path(dir, name), m.rows(g, at)); err != nil {
				return fmt.Errorf("make files of %s: %w", g.Source.Dataset, err)
			}
		}
	}
	return nil
}

// row is one of a file: texts, integers, lists of texts and nil by their columns.
type row map[string]any

// write writes a file of rows by its ending.
func write(name string, rows iter.Seq[row]) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	switch path.Ext(name) {
	case ".jsonl":
		out := json.NewEncoder(file)
		for r := range rows {
			err = errors.Join(err, out.Encode(r))
		}
	case ".csv":
		var lines [][]string
		for r := range rows {
			var line []string
			for _, column := range slices.Sorted(maps.Keys(r)) {
				line = append(line, r[column].(string))
			}
			if lines == nil {
				lines = [][]string{slices.Sorted(maps.Keys(r))}
			}
			lines = append(lines, line)
		}
		err = csv.NewWriter(file).WriteAll(lines)
	case ".parquet":
		err = writeParquet(file, slices.Collect(rows))
	}
	return errors.Join(err, file.Close())
}

// writeParquet writes row groups of forty rows.
func writeParquet(file *os.File, rows []row) error {
	var fields []arrow.Field
	for _, name := range slices.Sorted(maps.Keys(rows[0])) {
		field := arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
		switch rows[0][name].(type) {
		case int:
			field.Type = arrow.PrimitiveTypes.Int64
		case []string:
			field.Type = arrow.ListOf(arrow.BinaryTypes.String)
		}
		fields = append(fields, field)
	}
	schema := arrow.NewSchema(fields, nil)
	const size = 40
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(size))
	out, err := pqarrow.NewFileWriter(schema, unclosed{file}, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(rows, size) {
		text, err := json.Marshal(chunk)
		if err != nil {
			return err
		}
		record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader(text))
		if err != nil {
			return err
		}
		if err := out.Write(record); err != nil {
			return err
		}
		record.Release()
	}
	return out.Close()
}

// unclosed keeps the Parquet writer from closing a file.
type unclosed struct{ file *os.File }

func (u unclosed) Write(p []byte) (int, error) { return u.file.Write(p) }

// maker makes rows.
type maker struct {
	Options
	random *rand.Rand
}

// sum is a problem of our own, and its answer. Each is another one.
func (m maker) sum(i int) (problem string, answer int) {
	a, b := 1000+i, m.random.IntN(9000)
	return fmt.Sprintf("Add %d and %d. (\"Sums\", <part> %d & more: ½)", a, b, i), a + b
}

// options are n answers to a sum, one of them right.
func options(answer, n, right int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(answer+10*(i-right)))
	}
	return all
}

// later is n ids that rank after all published ones of a group.
func (m maker) later(g upstream.Group, n int) (ids []string) {
	last := ""
	for _, id := range m.IDs[g.ID] {
		last = max(last, upstream.RankKey(g.ID, id))
	}
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("%s_other_%d", g.Part, i); upstream.RankKey(g.ID, id) > last {
			ids = append(ids, id)
		}
	}
	return ids
}

// task is the id of a row and the group that it is of.
type task struct {
	id    string
	group upstream.Group
}

// tasks are the ids of all groups of a source, with some more that rank after them, in
// an order of chance, or those of each group in its order.
func (m maker) tasks(source *upstream.Source, more int, ordered bool) (all []task) {
	for _, g := range m.Groups {
		for _, id := range slices.Concat(m.IDs[g.ID], m.later(g, more)) {
			if g.Source == source {
				all = append(all, task{id, g})
			}
		}
	}
	m.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	next := map[string]int{}
	for i, t := range all {
		if ordered {
			all[i].id = m.IDs[t.group.ID][next[t.group.ID]]
		}
		next[t.group.ID]++
	}
	return all
}

// rows are the rows of a file of a group's source.
func (m maker) rows(g upstream.Group, at int) iter.Seq[row] {
	var all []row
	switch g.Source.ID {
	case "livecodebench":
		return m.programs(g.Source, at)
	case "gpqa": // texts hold line breaks of both kinds
		for i, t := range m.tasks(g.Source, 0, true) {
			problem, answer := m.sum(i)
			o := options(answer, 4, 0)
			all = append(all, row{
				"Pre-Revision Question": "", "Question": "Think,\n" + problem, "Correct Answer": o[0], "Incorrect Answer 1": o[1] + "\nor more", "Incorrect Answer 2": o[2] + "\r\nor less",
				"Incorrect Answer 3": o[3], "High-level domain": strings.ToUpper(t.group.Part[:1]) + t.group.Part[1:], "Record ID": t.id,
			})
		}
	case "supergpqa":
		for i, t := range append(m.tasks(g.Source, 50, false), make([]task, 30)...) {
			problem, answer := m.sum(i)
			right := m.random.IntN(4)
			r := row{"uuid": t.id, "question": problem, "options": options(answer, 4+i%7, right), "answer_letter": string(rune('A' + right)), "discipline": "Science", "field": "Law"}
			if t.id == "" {
				r["uuid"], r["discipline"] = fmt.Sprintf("law-%d", i), "Law"
			} else {
				r["field"] = strings.ToUpper(t.group.Part[:1]) + t.group.Part[1:]
			}
			all = append(all, r)
		}
	case "mmlu": // as many rows as the real subjects; the last file does not name its own
		for i := range []int{102, 100, 144}[at] {
			problem, answer := m.sum(1000*at + i)
			right := m.random.IntN(4)
			r := row{"question": problem, "choices": options(answer, 4, right), "answer": right}
			if at < 2 {
				r["subject"] = path.Dir(g.Source.Files[at])
			}
			all = append(all, r)
		}
	case "hle": // some with an image, whatever their rank
		for i, t := range m.tasks(g.Source, 100, false) {
			problem, answer := m.sum(i)
			all = append(all, row{"id": t.id, "question": problem, "image": []any{"", nil}[i%2], "answer": strconv.Itoa(answer), "answer_type": "exactMatch"})
			if i%5 == 0 {
				all = append(all, row{"id": fmt.Sprintf("seen_%d", i), "question": "What is in the image?", "image": m.image(), "answer": "A sum.", "answer_type": "exactMatch"})
			}
		}
	case "math": // five hundred; a hundred are drawn
		drawn := upstream.NewMersenne(42).Sample(500, 100)
		slices.Sort(drawn)
		for i := range 500 {
			id := fmt.Sprintf("test/sums/%d.json", i)
			if place, there := slices.BinarySearch(drawn, i); there {
				id = m.IDs[g.ID][place]
			}
			problem, answer := m.sum(i)
			all = append(all, row{"problem": problem, "answer": strconv.Itoa(answer), "unique_id": id, "solution": "Add."})
		}
	default:
		column := "id"
		if g.Source.ID == "hmmt" {
			column = "problem_idx"
		}
		for i, id := range m.IDs[g.ID] {
			problem, answer := m.sum(i)
			number, _ := strconv.Atoi(id)
			all = append(all, row{column: number, "problem": problem, "answer": strconv.Itoa(answer), "solution": "Add."})
		}
	}
	return slices.Values(all)
}
