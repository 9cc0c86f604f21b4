//go:build drill

package evaluations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"speceval/drills/drill"
	"speceval/internal/profile"
)

const (
	ranksBenchmark = "gpqa_diamond__domain_chemistry"
	ranksBudget    = 8
)

// outcome is the document that evaluate rank prints.
type outcome struct {
	Estimates []float64 `json:"estimates"`
	Errors    []float64 `json:"standard_errors"`
	Rollouts  []int     `json:"rollouts"`
	Chances   []float64 `json:"p_best"`
	Wrong     float64   `json:"wrong"`
}

// ranks lets the program rank the published models of a benchmark over HTTP, and holds the
// means to their probabilities. The last contest is killed again and again.
func ranks(b *bench) {
	profiles, _, err := profile.Evaluated(published(b.Lab))
	b.OK(err)
	profiles = slices.DeleteFunc(profiles, func(p profile.Profile) bool { return p.Benchmark != ranksBenchmark })
	var models []drill.Settings
	truth, best := make([]float64, len(profiles)), 0
	for k, p := range profiles {
		models = append(models, drill.Settings{"id": p.Model, "max_sequences": places})
		if truth[k] = p.Mean(); truth[k] > truth[best] {
			best = k
		}
	}
	b.profiles = profiles
	b.WriteProfiles(b.Path("profiles.csv"), profiles)
	b.WriteConfig(b.config, drill.Settings{
		"sampling": drill.Settings{"max_tokens": 4000, "context_tokens": 6000}, "model": models,
		"benchmark": []drill.Settings{{"id": ranksBenchmark, "tasks": b.writeTasks(profiles[0])}},
	})
	n := 2 * len(models)
	port := b.FreePorts(n)
	b.urls = drill.URLs(port, n)
	b.Serve("fleet.txt", b.config, b.urls, "--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--profiles", b.Path("profiles.csv"), "--speed", "0", "--slow-wrong", "1")

	number, wrong, stated := b.often(8, 40), 0, 0.0
	away := make([][]float64, len(models))
	var last outcome
	for seed := range number {
		last = b.rank(seed+1, b.out, 0)
		rollouts := 0
		for k, x := range last.Estimates {
			away[k] = append(away[k], (x-truth[k])/last.Errors[k])
			rollouts += last.Rollouts[k]
		}
		if want := len(models) * profiles[0].N() * ranksBudget; rollouts != want {
			b.Errorf("seed %d: %d rollouts, want %d", seed+1, rollouts, want)
		}
		stated += last.Wrong
		if slices.Index(last.Estimates, slices.Max(last.Estimates)) != best {
			wrong++
		}
	}
	worst, covered := 0.0, 0
	for _, zs := range away {
		mean, _ := meanOf(zs)
		worst = max(worst, math.Abs(mean)*math.Sqrt(float64(number)))
		for _, z := range zs {
			if math.Abs(z) < 1.96 {
				covered++
			}
		}
	}
	b.Logf("%d contests of %d models: the best is wrong in %d, stated %.2f; a bias of %.1f standard errors at most; %d of %d means within 1.96 errors of the truth", number, len(models), wrong, stated, worst, covered, number*len(models))
	if worst > bonferroni(len(models)) || float64(covered) < 0.9*float64(number*len(models)) || math.Abs(float64(wrong)-stated) > 1+4*math.Sqrt(stated+1) {
		b.Error("means or chances are not what they are stated to be")
	}
	if killed := b.rank(number, b.Path("killed"), 6); !reflect.DeepEqual(killed, last) {
		b.Errorf("killed: %+v\nundisturbed: %+v", killed, last)
	}
}

// rank is a contest by a seed in an output folder, which is killed some times on its way.
func (b *bench) rank(seed int, out string, kills int) (o outcome) {
	words := []string{"evaluate", "rank", "--benchmark", ranksBenchmark, "--budget", strconv.Itoa(ranksBudget), "--seed", strconv.Itoa(seed), "--config", b.config, "--out", out, "-q", "--json",
		"--on-loss", "again"} // the fleet repeats answers by their seeds, and would continue them otherwise
	for _, p := range b.profiles {
		words = append(words, p.Model)
	}
	for _, url := range b.urls {
		words = append(words, "--worker", url)
	}
	for k := range kills {
		b.StartProgram(b.Path(fmt.Sprintf("killed%d.txt", k)), b.Program, words...).KillAfter(time.Duration(200+300*k) * time.Millisecond)
	}
	text := []byte(b.Do(0, words...).Text())
	b.OK(json.Unmarshal(text[max(0, bytes.IndexByte(text, '{')):], &o))
	return o
}
