package dag

import "testing"

func TestExplainCountsWhatIsAlike(t *testing.T) {
	reasons := []Reason{
		{Config, "replay.draws", "64", "8192"},
		{Kind: InputRemade, Subject: "a"},
		{InputChanged, "c", "11111111", "22222222"},
		{Kind: InputRemade, Subject: "b"},
	}
	const full = "replay.draws 64 → 8192; 2 inputs will be remade; input c changed (sha256 11111111… → 22222222…)"
	if got := Explain(reasons); got != full {
		t.Errorf("Explain gives %q, want %q", got, full)
	}
	const brief = "replay.draws 64 → 8192, inputs will be remade, inputs changed"
	if got := Brief(reasons); got != brief {
		t.Errorf("Brief gives %q, want %q", got, brief)
	}
}

func TestBriefShortensLongValues(t *testing.T) {
	long := "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]"
	r := Reason{Config, "k", "1", long}
	if got, want := r.Brief(), "k 1 → "+long[:47]+"…"; got != want {
		t.Errorf("Brief gives %q, want %q", got, want)
	}
	if got, want := r.String(), "k 1 → "+long; got != want {
		t.Errorf("String gives %q, want %q", got, want)
	}
}
