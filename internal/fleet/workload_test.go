package fleet_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
	"speceval/method/controller"
)

const (
	models = "model,base_us,sequence_us,context_ns,late_ns,prompt_us,max_sequences,max_tokens,thinking_tokens,handling_ns,computation_ms\n" +
		"thinker,5000,140.5,28,19,180,128,16384,8192,640.5,50\n" +
		"plain,3500,70,17,0,60,256,16384,0,640,50\n"
	lengths = "benchmark,model,pace,prompt_tokens,location,hard,noisy,task_spread,spread,closing,endless,loop\n" +
		"quiz,thinker,1.02,200,8.2,1.2,0.3,0.3,0.7,500,0.8,0\n" +
		"quiz,plain,1,150,6,1,0.5,0.2,0.5,0,0,0.001\n"
)

func calibrated(t *testing.T) *fleet.Workload {
	t.Helper()
	w := must(fleet.ParseWorkload([]byte(models), []byte(lengths)))
	return w
}

func quiz(model string) profile.Profile {
	p := profile.Profile{Benchmark: "quiz", Model: model, TestedK: 1000}
	for i := range 20 {
		p.TaskIDs, p.PassCounts = append(p.TaskIDs, fmt.Sprint(i)), append(p.PassCounts, 50*i)
	}
	return p
}

func TestFilesComeBack(t *testing.T) {
	m, l := calibrated(t).Files()
	if string(m) != models || string(l) != lengths {
		t.Errorf("got\n%s\n%s", m, l)
	}
}

func TestFaultsNameFileRowAndColumn(t *testing.T) {
	for want, spoil := range map[string]func(models, lengths string) (string, string){
		"models.csv: column base_us is missing": func(m, l string) (string, string) { return strings.Replace(m, "base_us", "base", 1), l },
		"models.csv: row 1: base_us":            func(m, l string) (string, string) { return strings.Replace(m, "5000", "x", 1), l },
		"row 1: max_sequences":                  func(m, l string) (string, string) { return strings.Replace(m, ",128,", ",1.5,", 1), l },
		"lengths.csv: the file is empty":        func(m, l string) (string, string) { return m, "" },
	} {
		m, l := spoil(models, lengths)
		if _, err := fleet.ParseWorkload([]byte(m), []byte(l)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestUnknownProfiles(t *testing.T) {
	w := calibrated(t)
	for _, p := range []profile.Profile{{Benchmark: "quiz", Model: "other"}, {Benchmark: "exam", Model: "plain"}} {
		if _, _, err := w.Law(p); err == nil || !strings.Contains(err.Error(), "not been calibrated") || w.Knows(p.Benchmark, p.Model) {
			t.Errorf("%s is known: %v", p.Name(), err)
		}
	}
	if !w.Knows("quiz", "plain") {
		t.Error("a profile of the file is unknown")
	}
}

// TestLengthsFollowTheLaw draws 40,000 lengths of three tasks and compares their
// mean, and that of their squares, with the law's expectations, at five standard
// errors and a quadrature error of two parts in a thousand.
func TestLengthsFollowTheLaw(t *testing.T) {
	for _, model := range []string{"thinker", "plain"} {
		_, law := must2(calibrated(t).Law(quiz(model)))
		for _, task := range []int{0, 10, 19} {
			for power, f := range map[int]func(float64) float64{1: func(x float64) float64 { return x }, 2: func(x float64) float64 { return x * x }} {
				const n = 40_000
				random := seed.Root(1).Child(model).Index(task).Stream()
				sum, squares := 0.0, 0.0
				for range n {
					x := law.Draw(task, &random)
					if x < 1 || x > 16384 {
						t.Fatalf("%s: a length of %d tokens", model, x)
					}
					y := f(float64(x))
					sum, squares = sum+y, squares+y*y
				}
				mean := sum / n
				want := law.Mean(task, f)
				se := math.Sqrt((squares/n - mean*mean) / n)
				if math.Abs(mean-want) > 5*se+0.002*want {
					t.Errorf("%s task %d, power %d: mean %.0f, expected %.0f, standard error %.1f", model, task, power, mean, want, se)
				}
			}
		}
	}
}

func TestHardTasksTakeLonger(t *testing.T) {
	_, law := must2(calibrated(t).Law(quiz("plain")))
	tokens := func(x float64) float64 { return x }
	if hard, easy := law.Mean(0, tokens), law.Mean(19, tokens); hard < 1.3*easy {
		t.Errorf("a hard task takes %.0f tokens, an easy one %.0f", hard, easy)
	}
	loops := func(x float64) float64 { return math.Floor(x / 16384) }
	sum := 0.0
	for task := range 20 {
		sum += law.Mean(task, loops) / 20
	}
	if math.Abs(sum-0.001) > 1e-4 {
		t.Errorf("answers loop with probability %v, want 0.001", sum)
	}
}

func TestSamplerDependsOnTheIDAlone(t *testing.T) {
	_, law := must2(calibrated(t).Law(quiz("thinker")))
	node := seed.Root(3).Child("x")
	one, again, other := law.Sampler(node), law.Sampler(node), law.Sampler(seed.Root(3).Child("y"))
	var ids []controller.ID
	for task := range int32(20) {
		for ordinal := range int32(30) {
			ids = append(ids, controller.ID{Task: task, Phase: controller.Pilot, Ordinal: ordinal + 1}, controller.ID{Task: task, Phase: controller.Continuation, Ordinal: ordinal + 1})
		}
	}
	first := make([]int, len(ids))
	for i, id := range ids {
		prompt, tokens := one(id)
		if first[i] = tokens; prompt != 200 {
			t.Fatalf("a prompt of %d tokens", prompt)
		}
	}
	same, phases := 0, 0
	for i := len(ids) - 1; i >= 0; i-- {
		if _, tokens := again(ids[i]); tokens != first[i] {
			t.Fatalf("%s has %d tokens, and then %d", ids[i], first[i], tokens)
		}
		if _, tokens := other(ids[i]); tokens == first[i] && tokens < 16384 {
			same++
		}
		if i%2 == 0 && first[i] == first[i+1] && first[i] < 16384 {
			phases++
		}
	}
	if same > 20 || phases > 10 {
		t.Errorf("%d of %d lengths are those of another execution, %d those of the other phase", same, len(ids), phases)
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// must2 is two results whose error ends the tests.
func must2[T, U any](one T, two U, err error) (T, U) {
	if err != nil {
		panic(err)
	}
	return one, two
}
