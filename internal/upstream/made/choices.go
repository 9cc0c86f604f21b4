package made

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"speceval/internal/upstream"
)

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
