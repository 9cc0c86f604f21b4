package fleet

import (
	"fmt"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/scorer/family"
	"speceval/internal/seed"
)

// TaskKey names a task among those of all benchmarks.
type TaskKey struct{ Benchmark, ID string }

// Author writes the answers of one model. It also judges: asked whether a
// response to a known task for a judge is right, it gives a verdict, by which the
// fleet can serve as a judge model. It is read-only and may be shared.
type Author struct {
	model  string
	tasks  map[string]*known // by user turn
	passes map[TaskKey]float64
	answer lengths
	think  lengths
	slow   float64            // factor of both in a wrong answer
	open   []*known           // those that a judge is asked about
	others map[group][]string // right answers, for wrong ones
}

// known is a task that an author recognises.
type known struct {
	*benchmark.Task
	family family.Family
}

// group are the tasks of a benchmark and family.
type group struct{ benchmark, family string }

func (k *known) group() group { return group{k.Benchmark, k.family.Name} }

// AuthorSettings are what an Author works from. The zero value knows no task
// and answers everything with noise.
type AuthorSettings struct {
	Model  string              // answers of different models are independent
	Tasks  []benchmark.Task    // recognised by their user turn, or by the bare problem
	Passes map[TaskKey]float64 // probability to answer right; see DefaultPass for tasks that are not in it

	AnswerTokens   int     // median length of an answer; 0: 240
	ThinkingTokens int     // median length of the thinking; 0: 600
	Spread         float64 // of the logarithm of both; 0: 0.7
	SlowWrong      float64 // wrong answers to known tasks are so many times as long; 0: 1
}

// NewAuthor is an author of these tasks' answers. It is an error if one has an
// unknown scorer.
func NewAuthor(s AuthorSettings) (*Author, error) {
	a := &Author{
		model: s.Model, passes: s.Passes,
		tasks:  make(map[string]*known, 2*len(s.Tasks)),
		others: map[group][]string{},
		slow:   s.SlowWrong,
	}
	if a.slow <= 0 {
		a.slow = 1
	}
	spread := s.Spread
	if spread <= 0 {
		spread = 0.7
	}
	a.answer = lengths{float64(or(s.AnswerTokens, 240)), spread}
	a.think = lengths{float64(or(s.ThinkingTokens, 600)), spread}
	all := make([]known, len(s.Tasks))
	for i := range all {
		var err error
		task := &all[i]
		task.Task = &s.Tasks[i]
		if task.family, err = family.Named(task.Scorer); err != nil {
			return nil, fmt.Errorf("benchmark %s: task %s: scorer %w", task.Benchmark, task.ID, err)
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
	return a, nil
}

// or is n, or otherwise if n is not positive.
func or(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// Question is a request as far as its answer depends on it.
type Question struct {
	User     string // the last user turn, by which a task is recognised
	Prompt   string // the whole rendered prompt, from which noise for others is made
	Seed     int64
	Greedy   bool // temperature 0: the likeliest answer, whatever the seed
	Thinking bool // the prompt ends inside the thinking
	Limits   Limits
}

// Answer is the answer to a question, always the same one.
func (a *Author) Answer(q Question) Answer {
	task := a.tasks[q.User]
	node := seed.Root(uint64(q.Seed)).Child(a.model)
	if q.Greedy {
		node = seed.Root(0).Child("greedy").Child(a.model)
	}
	if task != nil {
		node = node.Child(task.Benchmark).Child(task.ID)
	} else {
		node = node.Child("unknown").Child(q.Prompt)
	}
	s := node.Stream()
	padding := s.Fork()
	right := a.knows(task, s.Float64(), q.Greedy)
	slow := 1.0
	if task != nil && !right {
		slow = a.slow
	}
	var answer Answer
	if q.Thinking {
		answer.Thinking, answer.Closed = exactly(&s, max(1, a.think.draw(&s, slow))), true
		answer.Text = "\n\n"
	}
	text, ends := a.write(&s, q, task, right, slow)
	answer.Text += text
	answer.Ended = ends
	if !ends { // it rambles until something cuts it
		q.Limits.Endless = true
	}
	q.Limits.apply(&answer, func(n int) string { return exactly(&padding, n) })
	return answer
}

// knows tells whether a task is answered right, by a draw from 0 to 1. A greedy
// answer is the likelier one.
func (a *Author) knows(task *known, draw float64, greedy bool) bool {
	if greedy {
		draw = 0.5
	}
	return task != nil && draw < a.Pass(*task.Task)
}

// write is the text of an answer to a known task, of a verdict, or of noise, and
// whether it ends. Slow is by how much the answer is longer than others.
func (a *Author) write(s *seed.Stream, q Question, task *known, right bool, slow float64) (text string, ends bool) {
	if task == nil {
		if judged := a.judged(q.User); judged != nil {
			return judged.family.Reply(s, q.User, *judged.Task), true
		}
		return prose(s, max(1, a.answer.draw(s, 1))), true
	}
	ending, ends := a.conclude(s, task, right)
	return prose(s, max(1, a.answer.draw(s, slow)-len(ending))) + ending, ends
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

// judged is the task about a response to which a user turn asks, as a judge model
// is asked: a task for a judge whose bare problem and right answer are both in
// the turn, in whatever words; the one with the longest problem. Nil if there is
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

// Pass is the probability that the task is answered right.
func (a *Author) Pass(task benchmark.Task) float64 {
	key := TaskKey{task.Benchmark, task.ID}
	if p, known := a.passes[key]; known {
		return p
	}
	return DefaultPass(a.model, key)
}

// DefaultPass is the probability of a task that nothing is known of: 0 for one
// in seven, 1 for another, and between them spread evenly, by a hash of model
// and task.
func DefaultPass(model string, key TaskKey) float64 {
	s := seed.Root(0).Child("pass").Child(model).Child(key.Benchmark).Child(key.ID).Stream()
	const ends = 1.0 / 7
	return min(max((s.Float64()-ends)/(1-2*ends), 0), 1)
}
