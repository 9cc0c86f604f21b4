package made

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"

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
	drawn := upstream.NewMersenne(42).Sample(500, 100)
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

// Problems of LiveCodeBench in all files, and those of contests that are late enough.
const (
	allProblems  = 880
	lateProblems = 441
)

// problem is a line of LiveCodeBench.
type problem struct {
	QuestionTitle    string `json:"question_title"`
	QuestionContent  string `json:"question_content"`
	Platform         string `json:"platform"`
	QuestionID       string `json:"question_id"`
	ContestID        string `json:"contest_id"`
	ContestDate      string `json:"contest_date"`
	StarterCode      string `json:"starter_code"`
	Difficulty       string `json:"difficulty"`
	PublicTestCases  string `json:"public_test_cases"`
	PrivateTestCases string `json:"private_test_cases"`
	Metadata         string `json:"metadata"`
}

// test is one of its tests.
type test struct {
	Input    string `json:"input"`
	Output   string `json:"output"`
	TestType string `json:"testtype"`
}

// programs are problems whose solution adds two numbers.
func (m *maker) programs(s *upstream.Source) error {
	difficulty, late := map[string]string{}, []string{}
	groups := m.of(s)
	for i, g := range groups {
		ids := m.IDs[g.ID]
		others := (lateProblems - 100*len(groups)) / len(groups)
		if i == 0 {
			others = lateProblems - 100*len(groups) - others*(len(groups)-1)
		}
		for _, id := range append(later(g, ids, others), ids...) {
			difficulty[id] = g.Part
			late = append(late, id)
		}
	}
	all := late
	for i := range allProblems - lateProblems {
		all = append(all, fmt.Sprintf("early_%d", i))
	}
	all = m.mixed(all...)
	for at, name := range s.Files {
		file, err := m.create(s, name)
		if err != nil {
			return err
		}
		out := json.NewEncoder(file)
		for i := at * len(all) / len(s.Files); i < (at+1)*len(all)/len(s.Files) && err == nil; i++ {
			err = out.Encode(m.program(i, all[i], difficulty[all[i]]))
		}
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// program is a problem; one without a difficulty is of an early contest. Ids that
// are numbers are of functions.
func (m *maker) program(i int, id, difficulty string) problem {
	p := problem{
		QuestionTitle: "Sum", QuestionContent: fmt.Sprintf("Problem %d: add two numbers.", i), Platform: "atcoder", QuestionID: id,
		ContestID: "sums", ContestDate: "2024-03-31T00:00:00", Difficulty: difficulty, Metadata: "{}",
	}
	if difficulty == "" {
		p.Difficulty, p.ContestDate = "easy", "2024-03-30T23:59:59"
	}
	_, err := strconv.Atoi(id)
	function := err == nil
	if function {
		p.Platform, p.Metadata, p.StarterCode = "leetcode", `{"func_name": "add"}`, "class Solution:\n    def add(self, a, b):\n        "
	}
	size := int(m.random.ExpFloat64() * float64(m.Tests) / allProblems)
	if i%3 == 0 { // a list as it is
		p.PrivateTestCases = string(encoded(m.tests(function, size/2)))
	} else {
		p.PrivateTestCases = m.pack(encoded(m.tests(function, size)))
	}
	p.PublicTestCases = string(encoded(m.tests(function, 0)))
	return p
}

// tests are three of one kind, of about so many bytes when they are packed, and
// half as many more when they are not.
func (m *maker) tests(function bool, size int) []test {
	var all []test
	for range 3 {
		a, b := m.random.IntN(1000), m.random.IntN(1000)
		t := test{Input: fmt.Sprintf("%d %d\n", a, b), Output: strconv.Itoa(a + b), TestType: "stdin"}
		if function {
			t.Input, t.TestType = fmt.Sprintf("%d\n%d", a, b), "functional"
		}
		if noise := hex.EncodeToString(m.noise(2 * size / 7)); !function {
			t.Input += noise + "\n"
		} else if noise != "" {
			t.Input += fmt.Sprintf("\n%q", noise) // an argument that no solution needs
		}
		all = append(all, t)
	}
	return all
}

func encoded(tests []test) []byte {
	text, err := json.Marshal(tests)
	if err != nil {
		panic(err) // these are texts
	}
	return text
}

// pack is a text as a pickle of protocol 4, compressed, in base64.
func (m *maker) pack(text []byte) string {
	pickle := append([]byte{0x80, 4}, opcodes(text)...)
	if len(text) < 64<<10 { // larger ones are in no frame
		frame := binary.LittleEndian.AppendUint64([]byte{0x80, 4, 0x95}, uint64(len(pickle)-2))
		pickle = append(frame, pickle[2:]...)
	}
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	m.zlib.Reset(encoder)
	m.zlib.Write(pickle) // into memory: there is no error
	m.zlib.Close()
	encoder.Close()
	return packed.String()
}

// opcodes are those of one string, which is remembered, and the end.
func opcodes(text []byte) []byte {
	var b []byte
	if len(text) < 256 {
		b = append(b, 0x8c, byte(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(append(b, 'X'), uint32(len(text)))
	}
	return append(append(b, text...), 0x94, '.')
}
