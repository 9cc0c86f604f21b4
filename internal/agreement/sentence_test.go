package agreement

import "testing"

func TestSentences(t *testing.T) {
	two, half := 2.0, 0.5
	for want, c := range map[string]Comparison{
		"paper: 0.87; difference +0.05 ± 0.0014: differs (beyond rounding and tolerance by 31.82 standard errors; more than 3 are no noise)": Compare(Estimate{0.92, 0.001}, 0.87, 2, 0),
		"paper: HBN: shown (beside the paper's, which it need not equal)":                                                                    {PaperName: "HBN", Verdict: Shown},
		"predicted: 2: agrees (no further than the 0.5 that are 5% of the measured time)":                                                    {Live: true, Predicted: &two, Tolerance: &half, Verdict: Agrees},
		"verdict: shown (fitted)": {Live: true, Verdict: Shown, Note: "fitted"},
	} {
		if got := c.Sentence(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
