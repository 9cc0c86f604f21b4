package replay

import (
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/policytest"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/method/neyman"
)

// TestReplayMatchesEnumeration replays a profile of which all outcomes of all paths can be
// listed, with enough draws for several sweeps: ratios are the exact expectations at five
// standard errors, and the paired error is of the difference along one path, at five standard
// errors of a standard deviation.
func TestReplayMatchesEnumeration(t *testing.T) {
	p := profileOf(64, 32, 8, 60)
	alpha := 0.13
	designs := []variance.Design{
		{Policy: policy.EN.Name, Donors: "none", NTasks: 3, Budget: 6, M: 4, W: 0.6},
		{Policy: policy.HBN.Name, Donors: "none", NTasks: 3, Budget: 6, M: 3, W: 0.4},
		{Policy: policy.IBN.Name, Donors: "none", NTasks: 3, Budget: 6, M: 2, W: 0.3, Alpha: &alpha},
	}
	prior := must(neyman.NewPrior(16))
	const draws = 200_000
	ratios, got, err := replay(t.Context(), p, designs, prior, draws, seed.Root(11).Stream())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Policy != policy.Oracle.Name || got[1].Policy != policy.EN.Name || got[2].Policy != policy.IBN.Name || *got[2].Alpha != alpha {
		t.Fatalf("differences %+v", got)
	}
	hbn := ratios[2]
	if got[0].DifferenceSE != hbn.RatioSE || got[0].Difference != ratios[0].VarianceRatio-hbn.VarianceRatio {
		t.Errorf("Oracle: %+v, of HBN %+v", got[0], hbn)
	}
	if len(ratios) != 4 || ratios[0].RatioSE != 0 || ratios[0].M != nil {
		t.Fatalf("ratios start with %+v", ratios[0])
	}
	byTask := []policytest.Scores{policytest.ByTask(t, policy.EN.Name, 0), policytest.ByTask(t, policy.HBN.Name, 0), policytest.ByTask(t, policy.IBN.Name, 13)}
	for i, r := range ratios[1:] {
		if want := exactRatio(t, p, r, byTask[i]); !(math.Abs(r.VarianceRatio-want) < 5*r.RatioSE) || r.RatioSE > 0.01 {
			t.Errorf("%s: ratio %v ± %v, exactly %v", r.Policy, r.VarianceRatio, r.RatioSE, want)
		}
	}
	for row, other := range map[int]int{1: 0, 2: 2} {
		mean, sd, kurtosis := pathDifference(t, probabilities(p), designs, byTask, other, 1)
		se := sd / math.Sqrt(draws)
		if e := math.Abs(got[row].Difference-mean) / se; !(e < 5) {
			t.Errorf("%s: difference %v, exactly %v ± %v", got[row].Policy, got[row].Difference, mean, se)
		}
		tolerance := 5 * math.Sqrt((kurtosis-1)/4/draws)
		if e := math.Abs(got[row].DifferenceSE/se - 1); !(e < tolerance) || got[row].Draws != draws {
			t.Errorf("%s: standard error %v of %d draws, want %v", got[row].Policy, got[row].DifferenceSE, got[row].Draws, se)
		}
	}
}

// pathDifference is the law of the ratio of one design less that of another over
// all paths that are as long as the longest pilot.
func pathDifference(t *testing.T, p []float64, designs []variance.Design, scores []policytest.Scores, one, other int) (mean, sd, kurtosis float64) {
	rollouts := int(max(designs[one].M, designs[other].M))
	all := 0.0
	for _, x := range p {
		all += x * (1 - x)
	}
	ratioAt := map[[4]int]float64{}
	ratio := func(k int, path int) float64 {
		d := designs[k]
		m := int(d.M)
		successes := make([]int, len(p))
		at := [4]int{3: k}
		for task := range p {
			for i := range m {
				successes[task] += path >> (task*rollouts + i) & 1
			}
			at[task] = successes[task]
		}
		if r, ok := ratioAt[at]; ok {
			return r
		}
		allocation := must(neyman.Allocate(scores[k](t, successes, m), len(p)*(int(d.Budget)-m)))
		c := 0.0
		for i, l := range allocation {
			c += p[i] * (1 - p[i]) / float64(l) / all
		}
		ratioAt[at] = neyman.Risk(int(d.Budget), m, d.W, c)
		return ratioAt[at]
	}
	var moments [3]float64
	expect := func(f func(difference float64) float64) float64 {
		sum := 0.0
		for path := range 1 << (len(p) * rollouts) {
			probability := 1.0
			for task, x := range p {
				for i := range rollouts {
					if path>>(task*rollouts+i)&1 == 1 {
						probability *= x
					} else {
						probability *= 1 - x
					}
				}
			}
			sum += probability * f(ratio(one, path)-ratio(other, path))
		}
		return sum
	}
	moments[0] = expect(func(d float64) float64 { return d })
	moments[1] = expect(func(d float64) float64 { return (d - moments[0]) * (d - moments[0]) })
	moments[2] = expect(func(d float64) float64 { return math.Pow(d-moments[0], 4) })
	return moments[0], math.Sqrt(moments[1]), moments[2] / (moments[1] * moments[1])
}
