package made

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"

	"speceval/internal/mersenne"
	"speceval/internal/upstream"
)

// contest is a group of which every row of the file is a task.
func (m *maker) contest(g upstream.Group) error {
	id := map[string]string{"hmmt": "problem_idx"}[g.Source.ID]
	if id == "" {
		id = "id"
	}
	var lines []any
	var rows [][]any
	for i, task := range m.IDs[g.ID] {
		problem, answer := m.sum(i)
		number, err := strconv.Atoi(task)
		if err != nil {
			return err
		}
		lines = append(lines, map[string]any{id: number, "problem": problem, "answer": strconv.Itoa(answer), "solution": "Add."})
		rows = append(rows, []any{number, problem, "Add.", fmt.Sprintf("%06d", answer)})
	}
	if g.Source.Format == "jsonl" {
		return m.records(g.Source, g.Source.Files[0], lines)
	}
	return m.table(g.Source, g.Source.Files[0], []arrow.Field{integer(id), text("problem"), text("solution"), text("answer")}, rows)
}

// math is five hundred problems of which a hundred are drawn.
func (m *maker) math(g upstream.Group) error {
	drawn := mersenne.New(42).Sample(500, 100)
	slices.Sort(drawn)
	var lines []any
	for i := range 500 {
		id := fmt.Sprintf("test/sums/%d.json", i)
		if at, there := slices.BinarySearch(drawn, i); there {
			id = m.IDs[g.ID][at]
		}
		problem, answer := m.sum(i)
		lines = append(lines, map[string]any{
			"problem": problem, "answer": strconv.Itoa(answer), "unique_id": id, "solution": "Add.", "subject": "Sums", "level": 1,
		})
	}
	return m.records(g.Source, g.Source.Files[0], lines)
}

// hle is open questions, some with an image.
func (m *maker) hle(g upstream.Group) error {
	ids := m.IDs[g.ID]
	ids = m.mixed(append(later(g, ids, 100), ids...)...)
	var rows [][]any
	for i, id := range ids {
		problem, answer := m.sum(i)
		var none any
		if i%2 == 0 {
			none = ""
		}
		rows = append(rows, []any{id, problem, none, strconv.Itoa(answer), "exactMatch"})
		if i%5 == 0 { // those are left out, whatever their rank
			rows = append(rows, []any{fmt.Sprintf("seen_%d", i), "What is in the image?", m.image(), "A sum.", "exactMatch"})
		}
	}
	return m.table(g.Source, g.Source.Files[0], []arrow.Field{text("id"), text("question"), text("image"), text("answer"), text("answer_type")}, rows)
}

// image is noise, written as images are in a column of texts.
func (m *maker) image() string {
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(m.noise(m.Images))
}

func (m *maker) noise(n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, m.random.Uint64())
	}
	return b[:n]
}
