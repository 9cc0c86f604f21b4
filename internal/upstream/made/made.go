// Package made writes files in the forms in which the benchmarks of the paper are
// published, with the published ids and problems of our own, for tests and drills:
// the real ones cannot be passed on.
package made

import (
	"compress/zlib"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
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

	"speceval/internal/upstream"
)

// Options are what is made.
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
	fast, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		return err
	}
	m := maker{Options: o, dir: dir, random: rand.New(rand.NewPCG(o.Seed, 0)), zlib: fast}
	for i, g := range o.Groups {
		if i > 0 && o.Groups[i-1].Source == g.Source {
			continue
		}
		var err error
		switch g.Source.ID {
		case "math":
			err = m.math(g)
		case "gpqa":
			err = m.gpqa(g.Source)
		case "supergpqa":
			err = m.superGPQA(g.Source)
		case "mmlu":
			err = m.mmlu(g.Source)
		case "hle":
			err = m.hle(g)
		case "livecodebench":
			err = m.programs(g.Source)
		default:
			err = m.contest(g)
		}
		if err != nil {
			return fmt.Errorf("make files of %s: %w", g.Source.Dataset, err)
		}
	}
	return nil
}

// maker makes the files of one folder.
type maker struct {
	Options
	dir    string
	random *rand.Rand
	zlib   *zlib.Writer
}

// create makes a file of a source.
func (m *maker) create(s *upstream.Source, name string) (*os.File, error) {
	path := s.Path(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.Create(path)
}

// of are the groups of a source.
func (m *maker) of(s *upstream.Source) []upstream.Group {
	return slices.DeleteFunc(slices.Clone(m.Groups), func(g upstream.Group) bool { return g.Source != s })
}

// sum is a problem of our own, and its answer. Each is another one.
func (m *maker) sum(i int) (problem string, answer int) {
	a, b := 1000+i, m.random.IntN(9000)
	return fmt.Sprintf("Add %d and %d. (\"Sums\", <part> %d & more: ½)", a, b, i), a + b
}

// later is n ids that rank after all published ones of a group.
func later(g upstream.Group, published []string, n int) []string {
	last := ""
	for _, id := range published {
		last = max(last, upstream.RankKey(g.ID, id))
	}
	var ids []string
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("%s_other_%d", g.Part, i); upstream.RankKey(g.ID, id) > last {
			ids = append(ids, id)
		}
	}
	return ids
}

// mixed is ids in an order of chance.
func (m *maker) mixed(ids ...string) []string {
	ids = slices.Clone(ids)
	m.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// records writes a JSONL file, an object a line.
func (m *maker) records(s *upstream.Source, name string, records []any) error {
	file, err := m.create(s, name)
	if err != nil {
		return err
	}
	out := json.NewEncoder(file)
	for _, r := range records {
		if err := out.Encode(r); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}

// rowsInGroup is small, so that a file has several row groups.
const rowsInGroup = 40

// table writes a Parquet file of rows with a value for each column: a string, an
// int64, a []string or nil.
func (m *maker) table(s *upstream.Source, name string, columns []arrow.Field, rows [][]any) error {
	file, err := m.create(s, name)
	if err != nil {
		return err
	}
	schema := arrow.NewSchema(columns, nil)
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(rowsInGroup))
	out, err := pqarrow.NewFileWriter(schema, file, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		return errors.Join(err, file.Close())
	}
	for len(rows) > 0 {
		n := min(rowsInGroup, len(rows))
		batch := record(schema, rows[:n])
		err := out.Write(batch)
		batch.Release()
		if err != nil {
			return errors.Join(err, out.Close())
		}
		rows = rows[n:]
	}
	return out.Close() // the file too
}

// record is rows as the library takes them.
func record(schema *arrow.Schema, rows [][]any) arrow.Record {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for _, row := range rows {
		for i, value := range row[:schema.NumFields()] {
			switch value := value.(type) {
			case nil:
				builder.Field(i).AppendNull()
			case string:
				builder.Field(i).(*array.StringBuilder).Append(value)
			case int:
				builder.Field(i).(*array.Int64Builder).Append(int64(value))
			case []string:
				list := builder.Field(i).(*array.ListBuilder)
				list.Append(true)
				list.ValueBuilder().(*array.StringBuilder).AppendValues(value, nil)
			}
		}
	}
	return builder.NewRecord()
}

// Columns of the files.
func text(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
}
func integer(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
}
func texts(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}
}

// options are n answers to a sum, the one at right being right.
func options(answer, n, right int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(answer + 10*(i-right))
	}
	return all
}

// gpqa has the domains mixed, but the tasks of each in order. Texts hold line breaks
// of both kinds.
func (m *maker) gpqa(s *upstream.Source) error {
	file, err := m.create(s, s.Files[0])
	if err != nil {
		return err
	}
	out := csv.NewWriter(file)
	rows := [][]string{{"Pre-Revision Question", "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "High-level domain", "Record ID"}}
	queues := map[string][]string{}
	var domains []string
	for _, g := range m.of(s) {
		queues[g.Part] = m.IDs[g.ID]
		for range m.IDs[g.ID] {
			domains = append(domains, g.Part)
		}
	}
	for i, domain := range m.mixed(domains...) {
		problem, answer := m.sum(i)
		o := options(answer, 4, 0)
		o[1] += "\nor more"
		o[2] += "\r\nor less"
		rows = append(rows, []string{"", "Think,\n" + problem, o[0], o[1], o[2], o[3], strings.ToUpper(domain[:1]) + domain[1:], queues[domain][0]})
		queues[domain] = queues[domain][1:]
	}
	return errors.Join(out.WriteAll(rows), file.Close())
}

func (m *maker) superGPQA(s *upstream.Source) error {
	var lines []any
	for _, g := range m.of(s) {
		ids := m.IDs[g.ID]
		for i, id := range m.mixed(append(later(g, ids, 50), ids...)...) {
			problem, answer := m.sum(i)
			n := 4 + i%7
			right := m.random.IntN(n)
			lines = append(lines, map[string]any{
				"uuid": id, "question": g.Part + ": " + problem, "options": options(answer, n, right), "answer": strconv.Itoa(answer),
				"answer_letter": string(rune('A' + right)), "discipline": "Science", "field": strings.ToUpper(g.Part[:1]) + g.Part[1:],
			})
		}
	}
	for i := range 30 {
		lines = append(lines, map[string]any{
			"uuid": fmt.Sprintf("law-%d", i), "question": "Which?", "options": []string{"a", "b", "c", "d"}, "answer_letter": "A", "discipline": "Law", "field": "Law",
		})
	}
	m.random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return m.records(s, s.Files[0], lines)
}

// mmlu has as many rows as the real subjects. The last file does not name its own.
func (m *maker) mmlu(s *upstream.Source) error {
	for at, name := range s.Files {
		var rows [][]any
		for i := range []int{102, 100, 144}[at] {
			problem, answer := m.sum(1000*at + i)
			right := m.random.IntN(4)
			rows = append(rows, []any{problem, options(answer, 4, right), right, path.Dir(name)})
		}
		columns := []arrow.Field{text("question"), texts("choices"), integer("answer"), text("subject")}
		if at == 2 {
			columns = columns[:3]
		}
		if err := m.table(s, name, columns, rows); err != nil {
			return err
		}
	}
	return nil
}
