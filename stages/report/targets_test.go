package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/flops"
	"speceval/internal/table"
)

func TestBadTargetsAreNamed(t *testing.T) {
	good := string(data.PaperTargets())
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", "tuned_en  =", "tuned_en2 =", "unknown key table1_variance.tuned_en2"},
		{"unknown section", "[corpus]", "[corps]", "unknown key corps"},
		{"absent section", "[robustness]", "[case_study2]", "section [robustness] is absent"},
		{"short list", "[0.407, 0.399, 0.395, 0.393]", "[0.407, 0.399, 0.395]", "[table1_variance]: lists of 4 and 3 values"},
		{"short schedule", "[4, 6, 10, 17]", "[4, 6, 10]", "[table5_hbn_schedule]: lists of 4 and 3 values"},
		{"task count too many", "n_tasks = [19, 30, 86, 93, 100]", "n_tasks = [19, 30]", "[table5_hbn_schedule]: lists of 2 and 5 values"},
		{"not TOML", "[corpus]", "[corpus", "paper targets: toml"},
		{"text for a number", "0.407", `"0.407"`, "paper targets: toml"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%s: nothing replaced", c.name)
		}
		_, err := ParseTargets([]byte(bad))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func FuzzParseTargets(f *testing.F) {
	f.Add([]byte("[table1_variance]\nbudget = [8]\n"))
	f.Add([]byte("x = {"))
	f.Fuzz(func(t *testing.T, data []byte) {
		targets, err := ParseTargets(data)
		if err != nil {
			return
		}
		// What parses can be looked up without a panic.
		for _, n := range targets.Table5.NTasks {
			for _, b := range targets.Table1.Budget {
				targets.schedule(targets.Table5, n, b)
			}
		}
	})
}

func TestPublishedArchitecturesPrintAsThePaperDoes(t *testing.T) {
	archs, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		t.Fatal(err)
	}
	cells := judgeFLOPs(archs, paperTargets(t))
	for _, c := range cells {
		if c.Verdict != Agrees {
			t.Errorf("%s %s: %s", c.Row, c.Column, c.Verdict)
		}
	}
	if len(cells) != 24 {
		t.Errorf("%d cells, want 24", len(cells))
	}
}

func TestTable7ReadsBackTheSame(t *testing.T) {
	paper := paperTargets(t)
	want := paperStudy(t).architectures
	for _, p := range []*Targets{nil, &paper} {
		var b bytes.Buffer
		if err := table.CSV(&b, flopTable(want, p).Data); err != nil {
			t.Fatal(err)
		}
		if got, err := flops.Parse(b.Bytes(), "table7"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
	}
}
