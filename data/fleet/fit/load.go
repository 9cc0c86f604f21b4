package main

import (
	"math"

	"speceval/data"
	"speceval/internal/fleet"
	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/flops"
	"speceval/internal/store/profile"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// budgets are the paper's.
var budgets = []int{8, 16, 32, 64}

// uniform is a run of Uniform.
type uniform struct {
	reference, budget int // they differ for runs at an equivalent budget
	equivalent        bool
	seconds, flops    float64
}

// fact is the known facts of a profile for the fit.
type fact struct {
	profile.Profile
	architecture flops.Architecture
	prompt       int // tokens
	uniform      []uniform
	adaptive     map[int][]float64 // useful FLOPs of HBN's runs, by budget: all that may be known of them
	selected     map[int][]int     // rollouts of each task that HBN accepts, by budget
}

// must is a value of the published data, which tests read whole.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// read reads what is published and leaves out what the fit may not see: of HBN's runs it takes
// the useful FLOPs and nothing else.
func read() []*fact {
	profiles := must(profile.Parse(data.Profiles(), data.ProfilesName))
	architectures := must(flops.Parse(data.Architectures(), data.ArchitecturesName))
	releases := must(coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, profiles))
	kept, _, err := profile.Evaluated(profiles)
	if err != nil {
		panic(err)
	}
	prior := must(neyman.NewPrior(16))
	var facts []*fact
	byName := map[string]*fact{}
	for _, p := range kept {
		f := &fact{Profile: p, prompt: promptTokens[p.Benchmark], adaptive: map[int][]float64{}, selected: map[int][]int{}}
		for _, a := range architectures {
			if a.Model == p.Model {
				f.architecture = a
			}
		}
		rewards := coupled.NewRewards(p, releases.Digest(p), rewardSeed)
		for _, b := range budgets {
			f.selected[b] = must(selection(prior, rewards, p.N(), b))
		}
		facts = append(facts, f)
		byName[p.Name()] = f
	}
	for _, m := range must(measurement.Parse(data.Measurements(), data.MeasurementsName)) {
		f := byName[m.Profile()]
		if s := policy.FindStrategy(m.Strategy); s.Policy == policy.Uniform {
			f.uniform = append(f.uniform, uniform{
				int(m.ReferenceBudget), int(m.Budget), s.Equivalent, m.TimeSeconds, m.UsefulFLOPs,
			})
		} else {
			f.adaptive[int(m.Budget)] = append(f.adaptive[int(m.Budget)], m.UsefulFLOPs)
		}
	}
	return facts
}

// rewardSeed is the master seed of the published runs.
const rewardSeed = 42

// selection is how many rollouts of each task HBN accepts under coupled rewards.
func selection(prior *neyman.Prior, rewards *coupled.Rewards, n, budget int) ([]int, error) {
	m := map[int]int{8: 4, 16: 6, 32: 10, 64: 16}[budget] // the published pilots
	if n == 19 && budget == 64 {
		m = 17
	}
	selected, err := controller.Allocate(prior.Pilot(m), prior.NewWork(), m, rewards.Pilot(m), n*(budget-m))
	for i := range selected {
		selected[i] += m
	}
	return selected, err
}

// promptTokens are typical lengths of the prompts. They were set by hand: where
// answers are short, FLOPs and times leave little choice; elsewhere they hardly
// matter.
var promptTokens = map[string]int{
	"aime24": 150, "aime25": 150, "aime26": 150, "hmmt": 120, "math_100": 100,
	"gpqa_diamond__domain_biology": 380, "gpqa_diamond__domain_chemistry": 245, "gpqa_diamond__domain_physics": 215,
	"hle__text_only_sample100":                       250,
	"livecodebench_gt_2024_03_30__difficulty_easy":   450,
	"livecodebench_gt_2024_03_30__difficulty_medium": 550,
	"livecodebench_gt_2024_03_30__difficulty_hard":   600,
	"mmlu_science__subject_college_biology":          115,
	"mmlu_science__subject_college_chemistry":        117,
	"mmlu_science__subject_college_physics":          117,
	"supergpqa_science__field_biology":               190,
	"supergpqa_science__field_chemistry":             215,
	"supergpqa_science__field_physics":               215,
}

// normal is a number that is believed to be about mean, within the given standard deviation.
type normal struct{ mean, deviation float64 }

// How lengths are believed to rise with difficulty, before a profile's own runs
// say otherwise. HBN's selection prefers noisy tasks; what it costs compared
// with Uniform is one number, roughly, for two slopes.
var (
	hardPrior  = normal{1.2, 1}
	noisyPrior = normal{0.3, 0.8}
)

// spreadOfCosts is the standard deviation of a rollout's FLOPs over their mean,
// roughly.
const spreadOfCosts = 0.7

// means are the mean FLOPs of each task's answers.
func (c *cell) means(l fleet.Lengths) []float64 {
	law := fleet.NewLaw(*c.model, l, c.Profile)
	means := make([]float64, c.N())
	for i := range means {
		means[i] = law.Mean(i, c.cost)
	}
	return means
}

// locate sets the location so that Uniform's mean FLOPs per rollout come out.
func (c *cell) locate(l *fleet.Lengths) {
	l.Location = increasing(l.Location, 0, 13, func(x float64) float64 {
		l.Location = x
		return math.Log(average(c.means(*l)) / c.target)
	})
}

// increasing is a zero of an increasing function, sought from x.
func increasing(x, low, high float64, f func(float64) float64) float64 {
	if x <= low || x >= high {
		x = (low + high) / 2
	}
	slope, last, lastX := 1.0, 0.0, 0.0
	for k := range 60 {
		y := f(x)
		if math.Abs(y) < 1e-4 || high-low < 1e-9 {
			break
		}
		if y > 0 {
			high = x
		} else {
			low = x
		}
		if k > 0 && (y-last)/(x-lastX) > 0.01 {
			slope = (y - last) / (x - lastX)
		}
		last, lastX = y, x
		if x -= y / slope; x <= low || x >= high || k > 12 {
			x = (low + high) / 2
		}
	}
	return x
}

// gaps are, by budget, the logarithm of HBN's useful FLOPs per rollout over
// Uniform's, less what the mean FLOPs of tasks make of HBN's selection.
func (c *cell) gaps(means []float64) []float64 {
	gaps := make([]float64, len(budgets))
	for k, b := range budgets {
		selected := 0.0
		for i, count := range c.selected[b] {
			selected += float64(count) * means[i]
		}
		rollouts := float64(c.N() * b)
		published := average(c.adaptive[b])/rollouts - c.loop*(c.cost(float64(c.model.MaxTokens))-c.target)
		gaps[k] = math.Log(math.Max(published/c.target, 0.3)) - math.Log(selected/rollouts/average(means))
	}
	return gaps
}

// gapDeviations are the standard deviations of gaps by chance.
func (c *cell) gapDeviations() []float64 {
	d := make([]float64, len(budgets))
	all := 0.0
	for _, r := range c.uniform {
		all += float64(c.N() * r.budget)
	}
	loops := c.loop * math.Pow(c.cost(float64(c.model.MaxTokens))/c.target, 2)
	for k, b := range budgets {
		two := float64(2 * c.N() * b) // HBN's two runs
		d[k] = math.Sqrt((spreadOfCosts*spreadOfCosts+loops)*(1/two+1/all) + 0.003*0.003)
	}
	return d
}

func clamp(x, most float64) float64 { return math.Max(-most, math.Min(most, x)) }

func average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
