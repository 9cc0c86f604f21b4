package upstream

import "speceval/internal/upstream/rows"

// problems reads problems in mathematics. Their ids are in the first of some columns
// that is there.
func problems(ids ...string) *reader {
	columns := []rows.Column{{Name: "problem"}, {Name: "answer"}}
	for _, id := range ids {
		columns = append(columns, rows.Column{Name: id, Optional: len(ids) > 1})
	}
	return &reader{
		scorer:  "math",
		columns: columns,
		row: func(r rows.Row, _ string, _ int) (*row, error) {
			made := &row{problem: r.Text("problem"), answer: r.Text("answer")}
			for _, id := range ids {
				if made.id == "" {
					made.id = r.Text(id)
				}
			}
			return made, nil
		},
	}
}

// hle are the open questions of Humanity's Last Exam. Those with an image are left
// out.
var hle = reader{
	scorer:  "judge",
	columns: []rows.Column{{Name: "id"}, {Name: "question"}, {Name: "answer"}, {Name: "image", Kind: rows.Filled, Optional: true}},
	row: func(r rows.Row, _ string, _ int) (*row, error) {
		if r.Filled("image") {
			return nil, nil
		}
		return &row{id: r.Text("id"), problem: r.Text("question"), answer: r.Text("answer")}, nil
	},
}
