package made

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"speceval/internal/upstream"
)

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
