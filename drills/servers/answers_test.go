//go:build drill

package servers_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/launcher"
	"speceval/internal/seed"
	"speceval/internal/vllm"
)

// The trial of continued answers: of a task so many whole answers, and as many
// that are cut, after up to so many tokens, and go on.
const (
	lawAnswers     = 500
	lawTokens      = 512
	lawCut         = 60
	lawOutstanding = 24
	lawLeast       = 0.001 // p-value below which the laws differ
)

// lawTasks are of the benchmark primer: each has several answers that are common.
var lawTasks = []string{"sum-1a", "sum-3d", "times-2b", "product-1b", "order-1c", "extreme-2d", "remainder-1a", "program-2a"}

// primer are the tasks of the small real model.
func primer(l *drill.Lab) []benchmark.Task {
	l.Helper()
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	l.OK(err)
	tasks, err := benchmark.Reader{Prompts: prompts}.Read(filepath.Join(*model, "primer.jsonl"))
	return drill.Must(l, tasks, err)
}

// continued compares answers of the small real model in one piece with answers
// that went on from a prefix: what they conclude, and how long they are. Cuts do
// not depend on the text, so both must have the same law.
func continued(l *drill.Lab) {
	tasks := slices.DeleteFunc(primer(l), func(t benchmark.Task) bool { return !slices.Contains(lawTasks, t.ID) })
	if len(tasks) != len(lawTasks) {
		l.Fatalf("%s has %d of the tasks %v", *model, len(tasks), lawTasks)
	}
	m := launcher.Model{Path: *model, Served: "small", MaxSequences: sequences, ContextTokens: 2048}
	c, err := vllm.New(start(l, recipe(1), m, key).URLs()[0], vllm.Options{Key: key, Connections: lawOutstanding})
	l.OK(err)
	defer c.Close()
	worst := 1.0
	for _, task := range tasks {
		whole, gone := answers(l, c, task, 0, false), answers(l, c, task, lawAnswers, true)
		var lengths []int
		for _, a := range slices.Concat(whole, gone) {
			lengths = append(lengths, a.tokens)
		}
		slices.Sort(lengths)
		eighth := func(a answered) string { // of all lengths
			class := 0
			for q := 1; q < 8; q++ {
				if a.tokens > lengths[q*len(lengths)/8] {
					class++
				}
			}
			return fmt.Sprint(class)
		}
		p, q := alike(whole, gone, func(a answered) string { return a.concluded }), alike(whole, gone, eighth)
		l.Logf("%s: p = %.3f for the conclusions of %d whole and %d continued answers, %.3f for their lengths",
			task.ID, p, len(whole), len(gone), q)
		worst = min(worst, p, q)
	}
	l.Logf("smallest of %d p-values: %.4f", 2*len(tasks), worst)
	if worst < lawLeast {
		l.Errorf("continued answers have another law: p = %.4f", worst)
	}
}

// answered is one answer, as far as its law is compared.
type answered struct {
	concluded string
	tokens    int
}

// answers asks for answers to a task, in one piece or cut once and continued.
func answers(l *drill.Lab, c *vllm.Client, task benchmark.Task, first int, cut bool) []answered {
	l.Helper()
	all := make([]answered, lawAnswers)
	places := make(chan bool, lawOutstanding)
	var group sync.WaitGroup
	for i := range all {
		places <- true
		group.Go(func() {
			defer func() { <-places }()
			if l.Failed() {
				return // the others need not be asked for
			}
			var err error
			if all[i], err = answer(l.Ctx, c, task, first+i, cut); err != nil {
				l.Error(err)
			}
		})
	}
	group.Wait()
	if l.Failed() {
		l.FailNow()
	}
	return all
}

func answer(ctx context.Context, c *vllm.Client, task benchmark.Task, number int, cut bool) (answered, error) {
	stream := seed.Root(2).Child(task.ID).Index(number).Stream()
	r := vllm.Sampling{Model: "small", Temperature: 0.6, TopP: 0.95, MaxTokens: lawTokens}.Request(task.SystemPrompt, task.UserPrompt)
	r.Seed, r.TokenIDs = int64(stream.Uint64()>>1), true
	if cut {
		begun := r
		begun.MaxTokens = 1 + int(stream.Float64()*lawCut)
		got, err := c.Stream(ctx, begun, nil)
		if err != nil {
			return answered{}, err
		}
		r.Prefix = got.Prefix()
		if got.Finish == "length" {
			r.Prefix.Finish = ""
		}
	}
	got, err := c.Stream(ctx, r, nil)
	if err == nil && cut && len(got.TokenIDs) != got.Usage.Completion {
		err = fmt.Errorf("%d ids of %d tokens", len(got.TokenIDs), got.Usage.Completion)
	}
	return answered{conclusion(got.Text), len(got.TokenIDs)}, err
}

var conclusions = regexp.MustCompile(`\\boxed\{([^}]*)\}|Answer: *(\S+)`)

// conclusion is the answer in the last box or after the last "Answer:", "" without one.
func conclusion(text string) string {
	if all := conclusions.FindAllStringSubmatch(text, -1); len(all) > 0 {
		return all[len(all)-1][1] + all[len(all)-1][2]
	}
	return ""
}

// leastExpected is how many answers a class has at least of each group, by both groups
// together: rarer ones are one class.
const leastExpected = 10

// alike is the p-value of the hypothesis that two groups of as many answers have one law, by
// Pearson's chi-square of their classes.
func alike(a, b []answered, class func(answered) string) float64 {
	counts := map[string][2]float64{}
	for g, group := range [][]answered{a, b} {
		for _, s := range group {
			n := counts[class(s)]
			n[g]++
			counts[class(s)] = n
		}
	}
	sum, kinds, rare := 0.0, 0, [2]float64{}
	add := func(n [2]float64) {
		d := n[0] - n[1]
		sum += d * d / (n[0] + n[1])
		kinds++
	}
	for _, n := range counts {
		if n[0]+n[1] < 2*leastExpected {
			rare[0], rare[1] = rare[0]+n[0], rare[1]+n[1]
			continue
		}
		add(n)
	}
	if rare[0]+rare[1] >= 2*leastExpected {
		add(rare)
	}
	if kinds < 2 {
		return 1
	}
	return distuv.ChiSquared{K: float64(kinds - 1)}.Survival(sum)
}
