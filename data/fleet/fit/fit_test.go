package main

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"speceval/data"
	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy/coupled"
	"speceval/internal/servers/flops"
	"speceval/internal/store/profile"
	"speceval/method/neyman"
)

func TestReadIsBlind(t *testing.T) {
	facts := read()
	if len(facts) != 107 {
		t.Errorf("%d profiles", len(facts))
	}
	for _, f := range facts {
		if f.prompt == 0 || f.architecture.Model != f.Model || len(f.uniform) != 8 || len(f.adaptive) != 4 || len(f.adaptive[8]) != 2 {
			t.Fatalf("%s has %d runs of Uniform and the FLOPs of HBN %v", f.Name(), len(f.uniform), f.adaptive)
		}
		for _, b := range budgets {
			total := 0
			for _, n := range f.selected[b] {
				total += n
			}
			if total != f.N()*b {
				t.Errorf("%s: HBN selects %d rollouts at b = %d", f.Name(), total, b)
			}
		}
	}
}

// made are profiles whose runs follow a known model, by simulation.
func made(t *testing.T, m fleet.Model) []*fact {
	t.Helper()
	prior, err := neyman.NewPrior(4)
	if err != nil {
		t.Fatal(err)
	}
	var facts []*fact
	for k := range 5 {
		f := &fact{
			Profile:      profile.Profile{Benchmark: fmt.Sprint("quiz", k), Model: m.Model, TestedK: 100},
			architecture: flops.Architecture{Model: m.Model, ThetaCore: 7e9, ThetaHead: 1e9, FullAttentionLayers: 8, AttentionWidth: 4096},
			prompt:       100, adaptive: map[int][]float64{}, selected: map[int][]int{},
		}
		for i := range 40 {
			f.TaskIDs, f.PassCounts = append(f.TaskIDs, fmt.Sprint(i)), append(f.PassCounts, i*100/39)
		}
		l := fleet.Lengths{
			Benchmark: f.Benchmark, Model: f.Model, Prompt: 100, Location: 7 + 0.4*float64(k), Hard: 1.2, Noisy: 0.3,
			TaskSpread: 0.3, Spread: 0.5, Closing: 500, Endless: 0.8,
		}
		c := newCell(&fact{Profile: f.Profile, architecture: f.architecture, prompt: f.prompt, uniform: []uniform{{budget: 1, flops: 1}}}, &m)
		means := c.means(l)
		for _, b := range budgets {
			for _, equivalent := range []bool{false, true} {
				r := uniform{reference: b, budget: b, equivalent: equivalent, flops: average(means) * float64(b*f.N())}
				if equivalent {
					r.budget, r.flops = b*5/4, r.flops*float64(b*5/4)/float64(b)
				}
				r.seconds = c.seconds(m, l, load{budget: r.budget}, c.seed(fmt.Sprint("made ", b)))
				f.uniform = append(f.uniform, r)
			}
			if f.selected[b], err = selection(prior, coupled.NewRewards(f.Profile, "made", 1), f.N(), b); err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i, n := range f.selected[b] {
				sum += float64(n) * means[i]
			}
			f.adaptive[b] = []float64{sum, sum}
		}
		facts = append(facts, f)
	}
	return facts
}

// TestSearchFindsTheModel fits runs of a known model, whose times have the
// chance of one draw, from a start that is off by a tenth but for the base, which is
// held. Times at the larger budgets hang on throughput alone and must come out closely.
func TestSearchFindsTheModel(t *testing.T) {
	m := start("qwen3_5_9b", 128, 5500, 160, 25, 180)
	facts := made(t, m)
	fitted := func() *search {
		s := newSearch(start("qwen3_5_9b", 128, 5500, 145, 28, 180), facts)
		s.rounds, s.draws = 6, 8
		s.run()
		return s
	}
	s := fitted()
	full := fleet.Load{Sequences: window, Context: 4000 * window}
	if got, want := s.model.Timing.Steps(full, 1), m.Timing.Steps(full, 1); math.Abs(float64(got)/float64(want)-1) > 0.06 {
		t.Errorf("a step of a full replica takes %v, want %v", got, want)
	}
	for _, c := range s.cells {
		r := c.residuals(s.model, c.lengths, 32)
		for i, run := range c.uniform {
			if most := map[bool]float64{true: 0.25, false: 0.07}[run.budget < 32]; math.Abs(r[i]) > most {
				t.Errorf("%s at b = %d: the logarithm of time is off by %.3f", c.Benchmark, run.budget, r[i])
			}
		}
		for k, gap := range r[len(c.uniform)+1:][:len(budgets)] {
			if math.Abs(gap) > 0.02 {
				t.Errorf("%s: HBN's FLOPs at b = %d are off by %.3f", c.Benchmark, budgets[k], gap)
			}
		}
	}
	if !reflect.DeepEqual(fitted().here(), s.here()) {
		t.Error("the same facts give another model")
	}
}

// TestLoopsAreCounted makes runs of short answers of which some loop.
func TestLoopsAreCounted(t *testing.T) {
	m := start("qwen2_5_7b", 192, 5000, 100, 30, 100)
	f := &fact{
		Profile:      profile.Profile{Benchmark: "quiz", Model: m.Model, TaskIDs: make([]string, 100), PassCounts: make([]int, 100), TestedK: 1},
		architecture: flops.Architecture{Model: m.Model, ThetaCore: 6e9, ThetaHead: 1e9, FullAttentionLayers: 28, AttentionWidth: 3584}, prompt: 100,
	}
	bulk := []float64{6, 8, 12, 15, 24, 30, 48, 60}
	looped := []int{0, 1, 0, 0, 2, 0, 3, 1}
	for i, n := range looped {
		budget := []int{8, 10, 16, 20, 32, 40, 64, 80}[i]
		r := uniform{reference: 8 << (i / 2), budget: budget, equivalent: i%2 == 1, seconds: bulk[i]}
		r.flops = f.cost(100)*float64(100*budget-n) + f.cost(16384)*float64(n)
		if n > 0 {
			r.seconds = 90 + bulk[i]/2
		}
		f.uniform = append(f.uniform, r)
	}
	c := newCell(f, &m)
	c.findLoops(bulk)
	for i, n := range looped {
		if !c.loops[i].sure() || c.loops[i].count() != n {
			t.Errorf("run %d: %+v, want %d", i, c.loops[i], n)
		}
	}
	if math.Abs(c.target/f.cost(100)-1) > 0.02 {
		t.Errorf("other answers cost %.3g, want %.3g", c.target, f.cost(100))
	}
	if c.loop < 7.0/27000/4 || c.loop > 7.0/27000*4 {
		t.Errorf("the probability to loop is %.2g, 7 of 27,000 did", c.loop)
	}
}

// TestStoredCalibration: the files that the program embeds know all profiles, and
// simulated times of Uniform's runs come out as published, in sum.
func TestStoredCalibration(t *testing.T) {
	w, err := fleet.ParseWorkload(data.FleetModels(), data.FleetLengths())
	if err != nil {
		t.Fatal(err)
	}
	facts := read()
	published, simulated := map[string]float64{}, map[string]float64{}
	for _, f := range facts {
		m, law, err := w.Law(f.Profile)
		if err != nil || m.MaxTokens != 16384 {
			t.Fatalf("%s is served by %+v; %v", f.Name(), m, err)
		}
		for _, r := range f.uniform {
			runs, err := virtual.Uniform(t.Context(), virtual.Settings{
				Timing: m.Timing, Replicas: replicas, Window: window, MaxSequences: m.MaxSequences,
				Lengths: law.Sampler(f.seed("stored").Index(r.budget)), Handling: m.HandlingOf(f.N(), r.budget),
			}, f.N(), []int{r.budget})
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("b = %d, equivalent %t", r.reference, r.equivalent)
			published[key] += r.seconds
			simulated[key] += runs[0].Time.Seconds()
		}
	}
	for key, p := range published { // chance is 1.4% at b = 8
		if off := simulated[key]/p - 1; !(math.Abs(off) < 0.04) {
			t.Errorf("%s: the sum of times is off by %.2f%%", key, 100*off)
		}
	}
}
