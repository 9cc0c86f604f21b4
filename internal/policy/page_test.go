package policy_test

import (
	"os"
	"strings"
	"testing"

	"speceval/internal/policy"
)

// TestThePageShowsWhatIsTested wants the file that docs/policies.md adds to be the
// one that tests use, but for the name of the package, and its line to be as those
// of the list.
func TestThePageShowsWhatIsTested(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile("policytest/disagreement.go")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("policy.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of Go, want the file and the list", len(blocks))
	}
	shown := func(i int) string { return strings.Split(blocks[i], "```")[0] }
	_, file, _ := strings.Cut(strings.ReplaceAll(string(tested), "policy.", ""), "import \"speceval/internal/policy\"\n\n")
	if _, body, _ := strings.Cut(shown(0), "package policy\n\n"); strings.ReplaceAll(file, "docs/policies.md", "") != strings.ReplaceAll(body, "docs/policies.md", "") || body == "" {
		t.Errorf("the page has\n%s\nand the tests\n%s", body, file)
	}
	line := strings.Replace(shown(1), ", Disagreement", "", 1)
	if line == shown(1) || !strings.Contains(string(list), line) {
		t.Errorf("the page's list is %q, which with Disagreement taken out is not in policy.go", shown(1))
	}
}

// TestEveryPolicySaysHowItSpends wants one of the three forms of each, with a form
// of scores and a source of designs where they belong.
func TestEveryPolicySaysHowItSpends(t *testing.T) {
	count := func(are ...bool) (n int) {
		for _, is := range are {
			if is {
				n++
			}
		}
		return n
	}
	for _, p := range append(policy.List{policy.Uniform}, policy.All...) {
		if count(p.Fixed != nil, p.TwoStage != nil, p.Sequential != nil) != 1 {
			t.Errorf("%s has no single form", p.Name)
		}
		if two := p.TwoStage; two != nil {
			d := two.Design
			if count(two.Folded != nil, two.Scores != nil) != 1 || count(d.OnPanels != nil, d.OnProfile != nil, d.As != nil) != 1 {
				t.Errorf("%s has no single form of scores or source of designs", p.Name)
			}
			if d.As == nil && (d.Unit == "" || d.Seconds == nil) || p.Strength && d.OnProfile != nil {
				t.Errorf("the design of %s is incomplete: %+v", p.Name, d)
			}
		}
	}
}
