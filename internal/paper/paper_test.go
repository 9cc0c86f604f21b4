package paper_test

import (
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/paper"
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
		{"text for a number", "0.407", `"0.407"`, "[table1_variance]: oracle: 0.407 is no number"},
		{"no number", "adverse_ratio_b16", "adverse_ratio_b17", "adverse_ratio_b16"},
		{"a number for a name", `"math_100__model=qwen3_5_4b"`, "4", "adverse_profile is no name"},
		{"a name for a budget", "budget = [8, 16, 32, 64]\nalpha", "budget = [\"8\", 16, 32, 64]\nalpha", "8 is no budget"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%s: nothing replaced", c.name)
		}
		_, err := paper.Parse([]byte(bad))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestNumbersAreFoundByRowAndKey(t *testing.T) {
	n, err := paper.Parse(data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		section, key string
		row          paper.Key
		want         float64
		label        string
	}{
		{paper.Variance, "hbn", paper.Key{Budget: 32}, 0.730, "b=32"},
		{paper.Time, "delta_time", paper.Key{Provenance: "simulated", Budget: 8}, 0.2257, "simulated b=8"},
		{paper.HBNSchedule, "m", paper.Key{NTasks: 19, Budget: 64}, 17, "N=19 b=64"},
		{paper.ENSchedule, "w", paper.Key{NTasks: 100, Budget: 16}, 0.804, "N=100 b=16"},
		{paper.FLOPs, "attention_width", paper.Key{Model: n.Rows(paper.FLOPs)[0].Model}, 2048, "qwen2_5_3b"},
	} {
		if got, ok := n.At(c.section, c.key, c.row); !ok || got != c.want || c.row.Label() != c.label {
			t.Errorf("%s.%s at %s is %v, want %v at %s", c.section, c.key, c.row.Label(), got, c.want, c.label)
		}
	}
	if v, ok := n.At(paper.Variance, "hbn", paper.Key{Budget: 12}); ok {
		t.Errorf("the paper has %v at a budget that it lacks", v)
	}
	if n.Number(paper.Corpus, "profiles") != 107 || n.Name(paper.Robustness, "adverse_profile") != "math_100__model=qwen3_5_4b" {
		t.Error("single numbers and names are not found")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[table1_variance]\nbudget = [8]\n"))
	f.Add([]byte("x = {"))
	f.Add(data.PaperTargets())
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := paper.Parse(text)
		if err != nil {
			return
		}
		for _, row := range n.Rows(paper.HBNSchedule) { // what parses can be looked up without a panic
			if _, ok := n.At(paper.HBNSchedule, "m", row); !ok {
				t.Fatalf("no pilot size at %s", row.Label())
			}
		}
		n.Number(paper.Corpus, "tasks")
	})
}

func TestNumbersOfThePaper(t *testing.T) {
	for base, want := range map[string]string{"table1_variance": "Table 1", "figure2_case_study": "Figure 2", "table12_x": "Table 12", "robustness": "", "mytable1_x": ""} {
		if n, name := paper.Number(base); name != want || (n > 0) != (want != "") {
			t.Errorf("%s is %q, number %d; want %q", base, name, n, want)
		}
	}
}
