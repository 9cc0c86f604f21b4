package pipeline

import (
	"math"
	"strings"
	"testing"

	"speceval/drills/lab"
	"speceval/internal/profile"
)

// TestProfilesAreComparedWithTheFleet has a profile as the fleet would make it, and one
// of half as many passes.
func TestProfilesAreComparedWithTheFleet(t *testing.T) {
	for want, factor := range map[string]float64{"1 of 1 benchmarks are scored, 1 of them otherwise": 0.5, "": 1} {
		var out strings.Builder
		b, err := newBenchmarks(&lab.Lab{Dir: t.TempDir(), Stdout: &out}, 100)
		if err != nil {
			t.Fatal(err)
		}
		b.groups = b.groups[:1]
		obtained := profile.Profile{Benchmark: "aime24", Model: modelID, TestedK: 100}
		for _, p := range b.published {
			if p.Benchmark == obtained.Benchmark && p.Model == modelID {
				obtained.TaskIDs = p.TaskIDs
				for i := range p.TaskIDs {
					obtained.PassCounts = append(obtained.PassCounts, int(math.Round(100*p.P(i)*factor)))
				}
			}
		}
		err = b.compare([]profile.Profile{obtained})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q\n%s", err, want, out.String())
		}
	}
}

func TestWithoutTheProgramBenchmarksFail(t *testing.T) {
	var out, errs strings.Builder
	if code := Benchmarks.Main([]string{"-no-such-flag"}, noEnvironment, &out, &errs); code != 2 {
		t.Errorf("exit code %d", code)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if code := Benchmarks.Main([]string{"-tests", "0", "-speceval", "/no/such/program"}, noEnvironment, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "drill-benchmarks: failed\n") {
		t.Errorf("without the program: exit code %d\n%s", code, out.String())
	}
}
