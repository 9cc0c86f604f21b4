// Package fleet is the simulated fleet: how long a replica takes for a batch of
// sequences, and what it answers. It has no clock and no network; the package
// imitation serves it over HTTP, and the package virtual drives it by a virtual clock.
package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/policy/seed"
	"speceval/internal/scoring/family"
)

// TaskKey names a task among the tasks of all benchmarks.
type TaskKey struct{ Benchmark, ID string }

// Author writes the answers of one model. Asked whether a response to a known task for
// a judge is right, it gives a verdict. It is read-only and may be shared.
type Author struct {
	AuthorSettings
	tasks  map[string]*known      // by user turn
	open   []*known               // tasks that a judge is asked about
	others map[[2]string][]string // right answers by benchmark and family, for wrong ones
}

// known is a task that an author recognises.
type known struct {
	*benchmark.Task
	family family.Family
}

func (k *known) group() [2]string { return [2]string{k.Benchmark, k.family.Name} }

// AuthorSettings are the settings of an Author. The zero value knows no task and answers
// everything with noise.
type AuthorSettings struct {
	Model  string              // answers of different models are independent
	Tasks  []benchmark.Task    // recognised by their user turn, or by the bare problem
	Passes map[TaskKey]float64 // probability to answer right; see DefaultPass for tasks that are not in it

	AnswerTokens   int     // median length of an answer; 0: 240
	ThinkingTokens int     // median length of the thinking; 0: 600
	Spread         float64 // of the logarithm of both; 0: 0.7
	SlowWrong      float64 // length of wrong answers to known tasks over right ones; 0: 1
}

// MustAuthor is an author of these tasks' answers. It panics at an unknown scorer, which readers
// of tasks refuse.
func MustAuthor(s AuthorSettings) *Author {
	s.AnswerTokens, s.ThinkingTokens = cmp.Or(s.AnswerTokens, 240), cmp.Or(s.ThinkingTokens, 600)
	s.Spread, s.SlowWrong = cmp.Or(s.Spread, 0.7), cmp.Or(s.SlowWrong, 1)
	a := &Author{AuthorSettings: s, tasks: make(map[string]*known, 2*len(s.Tasks)), others: map[[2]string][]string{}}
	all := make([]known, len(s.Tasks))
	for i := range all {
		var err error
		task := &all[i]
		task.Task = &s.Tasks[i]
		if task.family, err = family.Named(task.Scorer); err != nil {
			panic(fmt.Errorf("benchmark %s: task %s: scorer %w", task.Benchmark, task.ID, err))
		}
		a.tasks[task.UserPrompt] = task
		a.others[task.group()] = append(a.others[task.group()], task.Answer)
		if task.family.Reply != nil && task.Prompt != "" {
			a.open = append(a.open, task)
		}
	}
	for i := range all { // a whole user turn wins over a bare problem
		if task := &all[i]; a.tasks[task.Prompt] == nil && task.Prompt != "" {
			a.tasks[task.Prompt] = task
		}
	}
	return a
}

// Question is a request as far as its answer depends on it.
type Question struct {
	User     string // the last user turn, by which a task is recognised
	Prompt   string // the whole rendered prompt, from which noise for others is made
	Seed     int64
	Greedy   bool    // temperature 0: the likeliest answer, whatever the seed
	Thinking bool    // the prompt ends inside the thinking
	Begun    []int32 // tokens of an answer that goes on, after the prompt
	Limits   Limits  // of what is written now; but Budget covers all thinking
}

// Answer is the answer to a question, always the same one; of an answer that has
// begun, the rest. What goes on from a beginning, at any seed, has the law of
// answers that begin so. A beginning that no answer has is followed by noise.
func (a *Author) Answer(q Question) Answer {
	begun, ok := readBegun(q.Begun, q.Thinking)
	if n := len(q.Begun); ok {
		answer := a.whole(q, begun)
		if n <= answer.Tokens() && slices.Equal(answer.Part(0, n).IDs(), q.Begun) {
			return q.Limits.bound(answer.Part(n, max(n, answer.Tokens())))
		}
	}
	q.User, q.Prompt, q.Begun = "", q.Prompt+Valid(Detokenize(q.Begun)), nil
	q.Thinking = q.Thinking && !begun.Closed
	return q.Limits.bound(a.whole(q, Answer{}))
}

// whole is an answer from its first token, long enough to be cut.
func (a *Author) whole(q Question, begun Answer) Answer {
	task := a.tasks[q.User]
	d := a.draft(q, task, begun.number())
	answer := Answer{}
	if q.Thinking {
		thinking := d.thinking.Fork()
		length := max(numbered, a.length(a.ThinkingTokens, d.slow, &thinking))
		thought := d.number.text() + prose(&thinking, length-numbered)
		answer.Thinking, answer.Closed = thought+strings.Repeat(".", length-len(thought)), true
		if most := q.Limits.Budget; most >= 0 {
			answer.Thinking = answer.Thinking[:min(most, length)]
		}
		if begun.Closed {
			answer.Thinking = answer.Thinking[:min(len(begun.Thinking), len(answer.Thinking))]
		}
		answer.Text = afterThinking
	}
	text, ends := a.write(d, q, task, d.number[len(digitsIn(answer.Thinking, numberDigits)):])
	answer.Text += text
	answer.Ended = ends && !q.Limits.Endless
	if !answer.Ended {
		answer.Text += ramble(&d.padding, len(q.Begun)+q.Limits.Most-answer.Tokens())
	}
	return answer
}

// draft is the drawn properties of an answer, and the streams that it is written from.
type draft struct {
	number                  number
	right                   bool
	slow                    float64 // by how much the answer is longer than others
	text, thinking, padding seed.Stream
}

// draft draws the digits of an answer's number that are not said yet, and makes
// the rest of them.
func (a *Author) draft(q Question, task *known, said number) draft {
	node := seed.Root(uint64(q.Seed))
	if q.Greedy {
		node = seed.Root(0).Child("greedy")
	}
	of := func(s seed.Seed) seed.Seed {
		s = s.Child(a.Model)
		if task != nil {
			return s.Child(task.Benchmark).Child(task.ID)
		}
		return s.Child("unknown").Child(q.Prompt)
	}
	numbers := of(node).Stream()
	for {
		number := said + drawNumber(&numbers)[len(said):]
		s := of(seed.Root(0).Child("number").Child(string(number))).Stream()
		d := draft{number: number, slow: 1, thinking: s.Fork(), padding: s.Fork()}
		d.right = task != nil && s.Float64() < a.pass(*task.Task)
		if task != nil && !d.right {
			d.slow = a.SlowWrong
		}
		d.text = s
		if len(said) == numberDigits || !q.Greedy || task == nil || d.right == (a.pass(*task.Task) > 0.5) {
			return d
		}
	}
}

// write is the text of an answer to a known task, of a verdict, or of noise, and
// whether it ends. It says the unsaid digits of the answer's number, but for a verdict.
func (a *Author) write(d draft, q Question, task *known, unsaid number) (text string, ends bool) {
	s := &d.text
	if task == nil {
		if judged := a.judged(q.User); judged != nil {
			verdict := seed.Root(0).Child("verdict").Child(a.Model).Child(q.User).Stream()
			return judged.family.Reply(&verdict, q.User, *judged.Task), true
		}
	}
	ending, ends := "", true
	if task != nil {
		ending, ends = a.conclude(s, task, d.right)
	}
	said := ""
	if unsaid != "" {
		said = unsaid.text()
	}
	return said + prose(s, max(1, a.length(a.AnswerTokens, d.slow, s)-len(said)-len(ending))) + ending, ends
}

// Shares of wrong answers that cannot be scored.
const (
	unboxed  = 0.06 // say nothing in the asked form
	rambling = 0.01 // never end
)

// conclude is the end of an answer, which holds the result in the form that
// the task's scorer reads, and whether the answer ends after it.
func (a *Author) conclude(s *seed.Stream, task *known, right bool) (ending string, ends bool) {
	if !right {
		switch u := s.Float64(); {
		case u < rambling:
			return "", false
		case u < rambling+unboxed:
			return "I could not settle this one.", true
		}
	}
	return task.family.Answer(s, *task.Task, right, a.others[task.group()]), true
}

// judged is the task about a response to which a user turn asks a judge: its bare problem
// and right answer are both in the turn, and its problem is the longest. Nil if there is
// none.
func (a *Author) judged(user string) *known {
	var found *known
	for _, task := range a.open {
		if (found == nil || len(task.Prompt) > len(found.Prompt)) && strings.Contains(user, task.Prompt) && strings.Contains(user, task.Answer) {
			found = task
		}
	}
	return found
}

// pass is the probability that the task is answered right.
func (a *Author) pass(task benchmark.Task) float64 {
	key := TaskKey{task.Benchmark, task.ID}
	if p, known := a.Passes[key]; known {
		return p
	}
	return DefaultPass(a.Model, key)
}

// DefaultPass is the probability of a task without one: 0 for one in seven, 1 for
// another, and between them spread evenly, by a hash of model and task.
func DefaultPass(model string, key TaskKey) float64 {
	s := seed.Root(0).Child("pass").Child(model).Child(key.Benchmark).Child(key.ID).Stream()
	const ends = 1.0 / 7
	return min(max((s.Float64()-ends)/(1-2*ends), 0), 1)
}

// ramble is n bytes of thoughts, the first of endlessly many.
func ramble(s *seed.Stream, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(family.Thought(s))
	}
	return b.String()[:max(0, n)]
}

// prose is n bytes of thoughts, or a little less where the last one would break a
// character.
func prose(s *seed.Stream, n int) string {
	text := ramble(s, n)
	return text[:Complete(text)]
}

// length draws a log-normal number of tokens, factor times as large as the median says.
func (a *Author) length(median int, factor float64, s *seed.Stream) int {
	return int(math.Min(factor*float64(median)*math.Exp(a.Spread*normal(s)), 1<<20))
}
