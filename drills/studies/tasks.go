package studies

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"speceval/internal/profile"
	"speceval/internal/seed"
)

// sampling is a way to draw tasks from a profile.
type sampling struct {
	draws    int    // of tasks, or of clusters
	clusters string // "": none; "alike": of tasks with about the same probability; "mixed": of any
	models   int    // 2: the difference of two on the same tasks
}

var samplings = []sampling{
	{draws: 5}, {draws: 10}, {draws: 20}, {draws: 50}, {draws: 100},
	{draws: 5, clusters: "alike"}, {draws: 10, clusters: "alike"}, {draws: 20, clusters: "alike"}, {draws: 50, clusters: "alike"},
	{draws: 10, clusters: "mixed"}, {draws: 20, clusters: "mixed"},
	{draws: 5, models: 2}, {draws: 10, models: 2}, {draws: 20, models: 2}, {draws: 50, models: 2}, {draws: 200, models: 2},
	{draws: 10, models: 2, clusters: "alike"}, {draws: 20, models: 2, clusters: "alike"},
}

func (m sampling) String() string {
	what := fmt.Sprintf("%d tasks", m.draws)
	if m.clusters != "" {
		what = fmt.Sprintf("%d clusters, %s", m.draws, m.clusters)
	}
	if m.models == 2 {
		what += ", two models"
	}
	return what
}

// tasks draws samples of tasks, with replacement, from every profile, lets HBN evaluate
// them at 8 rollouts per task, and compares intervals with the mean of the whole profile.
func (s *study) tasks(ctx context.Context) error {
	s.heading(fmt.Sprintf("tasks: %d samples from each of %d profiles, evaluated by HBN at b = 8", s.number, len(s.profiles)),
		"sample", "coverage", "5% of profiles", "least", "stated over seen error", "length", "unpaired error over paired")
	for _, m := range samplings {
		scores, err := collect(ctx, s, "tasks "+m.String(), func(k int, p profile.Profile, random *seed.Stream) (score, error) {
			return s.samples(m, p, s.sibling(k), random)
		})
		if err != nil {
			return err
		}
		sum := summarize(scores)
		ratio := ""
		if m.models == 2 {
			var paired, unpaired float64
			for _, c := range scores {
				paired, unpaired = paired+c.compared, unpaired+c.versus
			}
			ratio = fmt.Sprintf("%.2f", unpaired/paired)
		}
		s.line(m, cell(sum.coverage, sum.error), percent(sum.low), percent(sum.least), fmt.Sprintf("%.3f", sum.stated), fmt.Sprintf("%.3f", sum.length), ratio)
		if err := s.covers(sum, 0.93, m.String()); err != nil {
			return err
		}
	}
	return nil
}

// sibling is another profile of the same benchmark, or the profile itself.
func (s *study) sibling(k int) profile.Profile {
	for _, at := range []int{k - 1, k + 1} {
		if at >= 0 && at < len(s.profiles) && s.profiles[at].Benchmark == s.profiles[k].Benchmark {
			return s.profiles[at]
		}
	}
	return s.profiles[k]
}

// samples draws samples from a profile, and from another one on the same tasks.
func (s *study) samples(m sampling, p, other profile.Profile, random *seed.Stream) (c score, err error) {
	e := s.evaluator()
	own, others := probabilities(p), probabilities(other)
	groups := m.group(own, random)
	for range s.number {
		var as, bs []float64
		var names []string
		for k := range m.draws {
			for _, i := range groups[int(random.Float64()*float64(len(groups)))] {
				as, bs, names = append(as, own[i]), append(bs, others[i]), append(names, strconv.Itoa(k))
			}
		}
		a, err := e.mean(as, 8, random)
		if err != nil {
			return c, err
		}
		if m.models < 2 {
			over, err := a.Sample(nil, names).Mean()
			if err != nil {
				return c, err
			}
			c.add(p.Mean(), over.Value, over.StandardError, over.Low, over.High)
			continue
		}
		b, err := e.mean(bs, 8, random)
		if err != nil {
			return c, err
		}
		d, err := a.Sample(nil, names).Minus(b.Sample(nil, nil).Values)
		if err != nil {
			return c, err
		}
		c.add(p.Mean()-other.Mean(), d.Value, d.StandardError, d.Low, d.High)
		c.compared += d.StandardError
		c.versus += d.Unpaired
	}
	return c, nil
}

// group puts a profile's tasks into clusters of random sizes, 4 or 5 on average: tasks
// that are equally hard, or any.
func (m sampling) group(ps []float64, random *seed.Stream) (groups [][]int) {
	order := make([]int, len(ps))
	keys := make([]float64, len(ps))
	for i := range order {
		order[i], keys[i] = i, random.Float64()
		if m.clusters == "alike" {
			keys[i] = ps[i] + 1e-9*keys[i]
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	for len(order) > 0 {
		n := 1
		if m.clusters != "" {
			n = min(len(order), 1+int(-4*math.Log(1-random.Float64())))
		}
		groups = append(groups, order[:n])
		order = order[n:]
	}
	return groups
}
