package scoring

import (
	"slices"
	"strings"
)

// Task is one problem of a benchmark, ready to be asked and scored.
type Task struct {
	Benchmark string // id of its benchmark
	ID        string // unique in the benchmark
	Index     int    // position in the benchmark, from 0

	Prompt       string // the bare problem
	UserPrompt   string // the whole user turn, unique in the benchmark
	SystemPrompt string // "" for none
	History      []Turn // turns between these two; nil for none

	Scorer      string   // name of its family, see package family
	Answer      string   // the right answer: a letter, LaTeX, a text, an expression or a number; "" for programs
	Tolerance   string   // of a number: by how much an answer may be off, or by which share in percent; "" for none
	Options     int      // number of options of a choice, from 2 to [MostOptions]; 0 otherwise
	OptionTexts []string // of a choice, from A on; nil where they are not known
	Tests       []Test   // of a program; nil where they are in TestsFile
	TestsFile   string   // file with the tests, see benchmark.ReadTests; "" where they are in Tests
	TestsSHA256 string   // of the tests in TestsFile; "" if it is not known

	Cluster  string // tasks of one are no independent sample of tasks; "" in all where each is its own
	Metadata string // what else its file says, a JSON object; "" for nothing
}

// Solved is the right answer of a text that may be a solution with it in the last line, behind
// ####, as GSM8K has it.
func Solved(answer string) string {
	_, last, found := strings.Cut("\n"+answer, "\n#### ")
	if last = strings.TrimSpace(last); !found || strings.Contains(last, "\n") {
		return answer
	}
	return last
}

// Turns are all turns of the chat in which the task is asked, none where nothing is known of it.
func (t Task) Turns() []Turn {
	all := slices.Concat([]Turn{{"system", t.SystemPrompt}}, t.History, []Turn{{"user", t.UserPrompt}})
	return slices.DeleteFunc(all, func(turn Turn) bool { return turn.Content == "" })
}

// Asked is the text of all turns, a blank line between two.
func (t Task) Asked() string {
	var texts []string
	for _, turn := range t.Turns() {
		texts = append(texts, turn.Content)
	}
	return strings.Join(texts, "\n\n")
}

// Turn is a turn of a chat.
type Turn struct {
	Role    string `json:"role"` // user or assistant, or system before all others
	Content string `json:"content"`
}

// MostOptions is how many options a choice has at most: one for every letter.
const MostOptions = 26

// Test is one check of a program. All tests of a task are of one kind and call
// one function.
type Test struct {
	Kind     string `json:"kind"`              // "stdin" or "function"
	Function string `json:"function,omitzero"` // name of the function to call; "" for stdin
	Input    string `json:"input"`             // standard input, or one JSON argument a line
	Output   string `json:"output"`            // expected standard output, or the JSON of the result
}
