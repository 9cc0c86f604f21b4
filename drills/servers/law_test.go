//go:build drill

package servers_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"speceval/drills/drill"
	"strings"
	"sync"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/clock"
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

// continued compares answers of the small real model in one piece with answers
// that went on from a prefix: what they conclude, and how long they are. Cuts do
// not depend on the text, so both must have the same law.
func (o *realVLLM) continued() {
	tasks := o.primer()
	r := o.recipe("dense", 0)
	r.Port = portOr(firstPort)
	r.Arguments = slices.DeleteFunc(r.Arguments, func(a string) bool { return a == "--load-format" || a == "dummy" })
	m := launcher.Model{Path: drill.FromRoot(*tiny), Served: "small", MaxSequences: sequences, ContextTokens: 2048}
	servers, err := launcher.Start(o.Ctx, r, m, launcher.Options{
		Logs: o.Path("small"), Start: startLimit, Clock: clock.Wall{}, Environment: os.Environ(), Key: key,
		Report: func(line string) { o.Logf("%s", line) },
	})
	o.OK(err)
	defer servers.Stop(context.Background())
	c, err := vllm.New(servers.URLs()[0], vllm.Options{Key: key, Connections: lawOutstanding})
	o.OK(err)
	defer c.Close()
	o.laws(c, tasks)
}

// primer are the tasks that are asked.
func (o *realVLLM) primer() []benchmark.Task {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	o.OK(err)
	all, err := benchmark.Reader{Prompts: prompts}.Read(filepath.Join(drill.FromRoot(*tiny), "primer.jsonl"))
	o.OK(err)
	all = slices.DeleteFunc(all, func(t benchmark.Task) bool { return !slices.Contains(lawTasks, t.ID) })
	if len(all) != len(lawTasks) {
		o.Fatalf("%s has %d of the tasks %v", *tiny, len(all), lawTasks)
	}
	return all
}

// answered is one answer, as far as its law is compared.
type answered struct {
	concluded string
	tokens    int
}

// laws compares the answers of every task, and prints the probability of
// such differences by chance.
func (o *realVLLM) laws(c *vllm.Client, tasks []benchmark.Task) {
	random := seed.Root(1).Child("law").Stream()
	worst := 1.0
	for _, task := range tasks {
		whole, err := answers(o.Ctx, c, task, 0, false)
		o.OK(err)
		gone, err := answers(o.Ctx, c, task, lawAnswers, true)
		o.OK(err)
		conclusions := permuted(&random, whole, gone, func(s answered) string { return s.concluded })
		class := eighths(slices.Concat(whole, gone))
		lengths := permuted(&random, whole, gone, func(s answered) string { return class(s.tokens) })
		a, b := averageOf(whole), averageOf(gone)
		o.Logf("%s: %d whole and %d continued answers; p = %.3f for what they conclude, %.3f for their lengths; mean length %.1f ± %.1f and %.1f ± %.1f; most common: %s",
			task.ID, len(whole), len(gone), conclusions, lengths, a.mean, a.error, b.mean, b.error, common(whole, gone))
		worst = min(worst, conclusions, lengths)
	}
	o.Logf("smallest of %d p-values: %.4f", 2*len(tasks), worst)
	if worst < lawLeast {
		o.Errorf("continued answers have another law: p = %.4f", worst)
	}
}

// answers asks for answers to a task, in one piece or cut once and continued.
func answers(ctx context.Context, c *vllm.Client, task benchmark.Task, first int, cut bool) ([]answered, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := make([]answered, lawAnswers)
	places := make(chan bool, lawOutstanding)
	var group sync.WaitGroup
	for i := range all {
		places <- true
		group.Go(func() {
			defer func() { <-places }()
			var err error
			if all[i], err = answer(ctx, c, task, first+i, cut); err != nil {
				cancel(err) // the others need not be asked for
			}
		})
	}
	group.Wait()
	return all, context.Cause(ctx)
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
	all := slices.Concat(a, b)
	number := map[string]int{}
	classes := make([]int, len(all))
	for i, s := range all {
		name := class(s)
		if _, there := number[name]; !there {
			number[name] = len(number)
		}
		classes[i] = number[name]
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

// eighths are classes of length, by those of all answers.
func eighths(all []answered) func(tokens int) string {
	lengths := make([]int, len(all))
	for i, s := range all {
		lengths[i] = s.tokens
	}
	slices.Sort(lengths)
	return func(tokens int) string {
		class := 0
		for q := 1; q < 8; q++ {
			if tokens > lengths[q*len(lengths)/8] {
				class++
			}
		}
		return fmt.Sprint(class)
	}
}

// average is a mean length with its standard error.
type average struct{ mean, error float64 }

func averageOf(all []answered) average {
	n, sum, squares := float64(len(all)), 0.0, 0.0
	for _, s := range all {
		sum, squares = sum+float64(s.tokens), squares+float64(s.tokens)*float64(s.tokens)
	}
	m := sum / n
	return average{m, math.Sqrt((squares/n - m*m) / (n - 1))}
}

// common are the most common conclusions with how often each group has them.
func common(a, b []answered) string {
	count := func(all []answered) map[string]int {
		counts := map[string]int{}
		for _, s := range all {
			counts[s.concluded]++
		}
		return counts
	}
	of, other := count(a), count(b)
	names := slices.SortedFunc(maps.Keys(of), func(x, y string) int { return of[y] - of[x] })
	var parts []string
	for _, name := range names[:min(len(names), 3)] {
		parts = append(parts, fmt.Sprintf("%q %d and %d times", name, of[name], other[name]))
	}
	return strings.Join(parts, ", ")
}
