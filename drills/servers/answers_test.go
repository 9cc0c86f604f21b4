//go:build drill

package servers_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

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
	lawAnswers      = 500
	lawTokens       = 512
	lawCut          = 60
	lawOutstanding  = 24
	lawPermutations = 9999
	lawLeast        = 0.001 // p-value below which the laws differ
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
	r := recipe(1)
	r.Port = cmp.Or(*port, firstPort)
	m := launcher.Model{Path: *model, Served: "small", MaxSequences: sequences, ContextTokens: 2048}
	c, err := vllm.New(start(l, r, m, key).URLs()[0], vllm.Options{Key: key, Connections: lawOutstanding})
	l.OK(err)
	defer c.Close()
	random := seed.Root(1).Child("law").Stream()
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
		p := permuted(&random, whole, gone, func(a answered) string { return a.concluded })
		q := permuted(&random, whole, gone, eighth)
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

// permuted is the p-value of the hypothesis that two groups of answers have one
// law, by the chi-square statistic of their classes, whose law under it is found by
// dealing the answers out again.
func permuted(random *seed.Stream, a, b []answered, class func(answered) string) float64 {
	number := map[string]int{}
	var classes []int
	for _, s := range slices.Concat(a, b) {
		name := class(s)
		if _, there := number[name]; !there {
			number[name] = len(number)
		}
		classes = append(classes, number[name])
	}
	seen := statistic(classes, len(a), len(number))
	reached := 1 // the one that was seen
	for range lawPermutations {
		for i := range a { // as many as the first group has, without replacement
			j := i + int(random.Float64()*float64(len(classes)-i))
			classes[i], classes[j] = classes[j], classes[i]
		}
		if statistic(classes, len(a), len(number)) >= seen-1e-9 {
			reached++
		}
	}
	return float64(reached) / (lawPermutations + 1)
}

// statistic is Pearson's chi-square of the classes of the first n answers and of
// the others.
func statistic(classes []int, n, kinds int) float64 {
	first, all := make([]float64, kinds), make([]float64, kinds)
	for i, k := range classes {
		all[k]++
		if i < n {
			first[k]++
		}
	}
	share := float64(n) / float64(len(classes))
	sum := 0.0
	for k := range all {
		d := first[k] - share*all[k]
		sum += d * d / (all[k] * share * (1 - share))
	}
	return sum
}
