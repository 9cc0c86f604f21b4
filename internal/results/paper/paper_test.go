package paper_test

import (
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/results/paper"
)

func TestListsAreAsLongAsTheirRows(t *testing.T) {
	bad := strings.Replace(string(data.PaperTargets()), "[0.407, 0.399, 0.395, 0.393]", "[0.407, 0.399, 0.395]", 1)
	if _, err := paper.Parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), "[table1_variance] has 4 rows, and oracle 3 numbers") {
		t.Errorf("error %v", err)
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

func TestTablesHaveThePapersNumbers(t *testing.T) {
	for base, want := range map[string]string{"table1_variance": "Table 1", "figure2_case_study": "Figure 2", "table12_x": "Table 12", "robustness": "", "mytable1_x": ""} {
		if n, name := paper.Number(base); name != want || (n > 0) != (want != "") {
			t.Errorf("%s is %q, number %d; want %q", base, name, n, want)
		}
	}
}
