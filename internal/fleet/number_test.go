package fleet_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/seed"
)

// bounds are limits within which an answer and what goes on from its beginnings
// are compared.
var bounds = map[string]fleet.Limits{
	"free": free, "short": {Most: 300, Budget: -1}, "budget": {Most: 1 << 14, Budget: 40}, "no budget": {Most: 1 << 14, Budget: 0},
	"budget within the number": {Most: 1 << 14, Budget: 9}, "budget before the number": {Most: 1 << 14, Budget: 2}, "endless": {Most: 900, Budget: -1, Endless: true},
}

// rest asks for what follows the first n tokens of an answer.
func rest(a *fleet.Author, q fleet.Question, whole *fleet.Answer, n int, seed int64) fleet.Answer {
	q.Begun, q.Seed = whole.IDs(0, n), seed
	q.Limits.Most -= n
	return a.Answer(q)
}

// TestNumberSaysTheRest: once an answer has said its number, what follows is the
// same at any seed.
func TestNumberSaysTheRest(t *testing.T) {
	a := author(0.5)
	for name, limits := range bounds {
		for _, thinking := range []bool{false, true} {
			for at := range int64(20) {
				q := fleet.Question{User: tasks[at%7].UserPrompt, Prompt: "p", Seed: at, Thinking: thinking, Limits: limits}
				if at == 8 {
					q.User = "nobody knows this"
				}
				whole := a.Answer(q)
				said := 16
				if thinking && limits.Budget >= 0 && limits.Budget < said {
					said = 2*len("Try ") + 12 + len("</think>\n\n") // at most
				}
				for n := said; n < whole.Tokens(); n += 1 + n/3 {
					more := rest(a, q, &whole, n, at+1000)
					if got := slices.Concat(whole.IDs(0, n), more.IDs(0, more.Tokens())); !slices.Equal(got, whole.IDs(0, whole.Tokens())) || more.Finish != whole.Finish {
						t.Fatalf("%s, thinking %t, seed %d: after %d of %d tokens it goes on with %q", name, thinking, at, n, whole.Tokens(), more.Raw())
					}
				}
			}
		}
	}
}

// TestContinuationsHaveTheLaw goes on from every beginning that leaves a part of
// the number open, each time at another seed: as many are right, and they are as
// long, as answers in one piece.
func TestContinuationsHaveTheLaw(t *testing.T) {
	const n = 3000
	a, task := author(0.3), tasks[0]
	for name, budget := range map[string]int{"text": -1, "thinking": -1, "budget within the number": 9} {
		limits := fleet.Limits{Most: 1 << 14, Budget: budget}
		q := fleet.Question{User: task.UserPrompt, Prompt: "p", Thinking: name != "text", Limits: limits}
		most := 16
		if budget >= 0 {
			most = 9 + 1 + 2 + 4 + 7
		}
		right, logs, squares := 0, 0.0, 0.0
		var wholeRight int
		var wholeLogs float64
		random := seed.Root(3).Child(name).Stream()
		numbers := map[string]bool{}
		for i := range int64(n) {
			q.Seed = i
			whole := a.Answer(q)
			said := int(random.Float64() * float64(most+1))
			more := rest(a, q, &whole, said, i+n)
			all := whole.Raw()
			if result(task, all) == task.Answer {
				wholeRight++
			}
			log := math.Log(float64(whole.Tokens()))
			wholeLogs, squares = wholeLogs+log, squares+log*log
			if result(task, more.Text) == task.Answer {
				right++
			}
			logs += math.Log(float64(said + more.Tokens()))
			numbers[more.Raw()] = true
		}
		sd := math.Sqrt(0.3 * 0.7 * n)
		if math.Abs(float64(right)-0.3*n) > 4*sd || math.Abs(float64(wholeRight)-0.3*n) > 4*sd {
			t.Errorf("%s: %d of %d continued and %d whole answers are right, want 30%%", name, right, n, wholeRight)
		}
		mean := wholeLogs / n
		spread := math.Sqrt(squares/n - mean*mean)
		if math.Abs(logs/n-mean) > 5*spread*math.Sqrt(2.0/n) {
			t.Errorf("%s: mean log of length %.3f, whole %.3f ± %.3f", name, logs/n, mean, spread)
		}
		if len(numbers) < n*9/10 {
			t.Errorf("%s: %d different ends of %d", name, len(numbers), n)
		}
	}
}

// TestForeignBeginnings are of no answer of this author: noise follows, and ends.
func TestForeignBeginnings(t *testing.T) {
	a := author(1)
	for i, begun := range [][]int32{fleet.Tokenize("The answer is 7."), {fleet.ThinkEnd, fleet.ThinkEnd}, {fleet.TurnEnd}, {200, 300}, fleet.Tokenize("Try bcdfghjklmnp. And now something else.")} {
		for _, thinking := range []bool{false, true} {
			q := fleet.Question{User: tasks[0].UserPrompt, Prompt: "p", Begun: begun, Thinking: thinking, Limits: fleet.Limits{Most: 1 << 14, Budget: -1}}
			answer := a.Answer(q)
			if answer.Finish != fleet.Stop || result(tasks[0], answer.Text) != "" || answer != a.Answer(q) {
				t.Errorf("%d, thinking %t: %s", i, thinking, fmt.Sprintf("%+v", answer))
			}
		}
	}
}
