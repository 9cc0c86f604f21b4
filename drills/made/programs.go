package made

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"

	"speceval/internal/benchmark/upstream"
)

// Problems of LiveCodeBench in all files, and those after the published hundred of each
// difficulty: 441 are of contests that are late enough.
const (
	allProblems = 880
	moreOfEach  = 47
)

// programs are the rows of one of the files: problems whose solution adds two numbers.
func (m maker) programs(s *upstream.Source, at int) iter.Seq[row] {
	m.random = rand.New(rand.NewPCG(m.Seed, 1)) // the same problems for every file
	all := m.tasks(s, moreOfEach, false)
	for i := len(all); i < allProblems; i++ {
		all = append(all, task{id: fmt.Sprintf("early_%d", i)})
	}
	m.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return func(yield func(row) bool) {
		for i := at * len(all) / len(s.Files); i < (at+1)*len(all)/len(s.Files); i++ {
			if !yield(m.program(i, all[i])) {
				return
			}
		}
	}
}

// program is a problem; one of no group is of an early contest. Ids that are numbers
// are of functions. Every third list of private tests is not packed.
func (m maker) program(i int, t task) row {
	r := row{
		"question_title": "Sum", "question_content": fmt.Sprintf("Problem %d: add two numbers.", i), "question_id": t.id,
		"contest_date": "2024-03-31T00:00:00", "difficulty": t.group.Part, "metadata": "{}",
	}
	if t.group.Part == "" {
		r["difficulty"], r["contest_date"] = "easy", "2024-03-30T23:59:59"
	}
	_, err := strconv.Atoi(t.id)
	function := err == nil
	if function {
		r["metadata"], r["starter_code"] = `{"func_name": "add"}`, "class Solution:\n    def add(self, a, b):\n        "
	}
	size := int(m.random.ExpFloat64() * float64(m.Tests) / allProblems)
	r["public_test_cases"] = m.tests(function, 0)
	if i%3 == 0 {
		r["private_test_cases"] = m.tests(function, size/2)
	} else {
		r["private_test_cases"] = pack(m.tests(function, size))
	}
	return r
}

// tests are a list of three of one kind, of about size bytes when they are packed, and half
// as many more when they are not.
func (m maker) tests(function bool, size int) string {
	var all []map[string]string
	for range 3 {
		a, b := m.random.IntN(1000), m.random.IntN(1000)
		noise := hex.EncodeToString(m.noise(2 * size / 7))
		t := map[string]string{"input": fmt.Sprintf("%d %d\n%s\n", a, b, noise), "output": strconv.Itoa(a + b), "testtype": "stdin"}
		if function {
			t["input"], t["testtype"] = fmt.Sprintf("%d\n%d", a, b), "functional"
		}
		if function && noise != "" {
			t["input"] += fmt.Sprintf("\n%q", noise) // an argument that no solution needs
		}
		all = append(all, t)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // these are texts
	}
	return string(text)
}

// pack is a text as a pickle of protocol 4, compressed, in base64.
func pack(text string) string {
	pickle := append(binary.LittleEndian.AppendUint32([]byte{'X'}, uint32(len(text))), text+"\x94."...)
	if len(text) < 64<<10 { // larger ones are in no frame
		pickle = append(binary.LittleEndian.AppendUint64([]byte{0x95}, uint64(len(pickle))), pickle...)
	}
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	zipped, err := zlib.NewWriterLevel(encoder, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	zipped.Write(append([]byte{0x80, 4}, pickle...)) // into memory: there is no error
	zipped.Close()
	encoder.Close()
	return packed.String()
}

// image is noise, written as images are in a column of texts.
func (m maker) image() string {
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(m.noise(m.Images))
}

func (m maker) noise(n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, m.random.Uint64())
	}
	return b[:n]
}
