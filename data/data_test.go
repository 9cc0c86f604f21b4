package data_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/flops"
	"speceval/internal/store/csvfile"
	"speceval/internal/store/profile"
)

func published(t *testing.T) []profile.Profile {
	t.Helper()
	profiles := must(profile.Parse(data.Profiles(), data.ProfilesName))
	return profiles
}

func TestPublishedProfiles(t *testing.T) {
	profiles := published(t)
	if len(profiles) != 108 {
		t.Errorf("%d profiles, want 108", len(profiles))
	}
	rows, passes, bySize, ids := 0, 0, map[int]int{}, map[string][]string{}
	kept, degenerate, err := profile.Evaluated(profiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		rows += p.N()
		for _, c := range p.PassCounts {
			passes += c
		}
		if p.TestedK != 1024 {
			t.Errorf("%s: K = %d", p.Name(), p.TestedK)
		}
		if others := ids[p.Benchmark]; others != nil && !slices.Equal(others, p.TaskIDs) {
			t.Errorf("%s has other tasks than the model before it", p.Name())
		}
		ids[p.Benchmark] = p.TaskIDs
	}
	if rows != 8508 || rows*1024 != 8_712_192 || passes != 4_137_190 {
		t.Errorf("%d tasks, %d passes", rows, passes)
	}
	for _, p := range kept {
		bySize[p.N()]++
	}
	if want := map[int]int{19: 5, 30: 24, 86: 6, 93: 6, 100: 66}; fmt.Sprint(bySize) != fmt.Sprint(want) {
		t.Errorf("profiles by size: %v, want %v (paper, Appendix B.3)", bySize, want)
	}
	if len(kept) != 107 || len(degenerate) != 1 || degenerate[0].Name() != "gpqa_diamond__domain_biology__model=qwen2_5_3b" {
		t.Errorf("%d kept, degenerate %v", len(kept), degenerate)
	}
}

// The case study and the adverse profile are described in the paper
// (Appendices C.1 and C.2), which pins single counts.
func TestPublishedProfilesAgreeWithThePaper(t *testing.T) {
	for _, p := range published(t) {
		switch p.Name() {
		case "aime24__model=qwen3_5_4b":
			below, above, endpoint := 0, 0, 0
			for i := range p.N() {
				below += count(p.P(i) < 0.2)
				above += count(p.P(i) > 0.8)
				endpoint += count(p.P(i) == 0 || p.P(i) == 1)
			}
			if below != 10 || above != 11 || endpoint != 4 {
				t.Errorf("case study: %d below 0.2, %d above 0.8, %d at the ends; the paper says 33.3%%, 36.7%% and 4", below, above, endpoint)
			}
		case "math_100__model=qwen3_5_4b":
			outside := 0
			for i := range p.N() {
				outside += count(p.P(i) < 0.2 || p.P(i) > 0.8)
			}
			if outside != 96 {
				t.Errorf("adverse profile: %d tasks outside 0.2 to 0.8, the paper says 96", outside)
			}
		case "aime24__model=qwen2_5_32b":
			if p.TaskIDs[0] != "60" || p.PassCounts[0] != 872 || p.PassCounts[1] != 7 || p.Scorer != "evalchemy_hendrycks_math_v1" {
				t.Errorf("aime24: %v %v %s", p.TaskIDs[:2], p.PassCounts[:2], p.Scorer)
			}
		}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func TestPublishedMeasurements(t *testing.T) {
	runs := must(measurement.Parse(data.Measurements(), data.MeasurementsName))
	kept, _, err := profile.Evaluated(published(t))
	if err != nil {
		t.Fatal(err)
	}
	size := map[string]int{}
	for _, p := range kept {
		size[p.Name()] = p.N()
	}
	settings := map[string]int{}
	for _, m := range runs {
		if size[m.Benchmark+"__model="+m.Model] != int(m.NTasks) || m.Provenance != measurement.Published {
			t.Errorf("unexpected run %+v", m)
		}
		settings[fmt.Sprintf("%s b=%d", m.Strategy, m.ReferenceBudget)]++
	}
	if len(settings) != 16 || len(runs) != 1284+428 {
		t.Errorf("%d runs in %d settings", len(runs), len(settings))
	}
	for setting, n := range settings {
		if n != 107 {
			t.Errorf("%s: %d runs, want 107", setting, n)
		}
	}
	want := measurement.Measurement{
		Benchmark: "aime24", Model: "qwen2_5_32b", NTasks: 30, ReferenceBudget: 8, Budget: 8,
		Strategy: "hbn-async", Provenance: "published", TimeSeconds: 76.07738199,
		UsefulFLOPs: 15269771823220736, WastedFLOPs: 2711257053442048, AcceptedRollouts: 240, ExtraRollouts: 47,
	}
	if runs[2] != want {
		t.Errorf("row 3 is %+v, want %+v", runs[2], want)
	}
	if first := runs[1284]; first.Strategy != "uniform-equivalent" || first.AcceptedRollouts != 240 || first.UsefulFLOPs != 18106126187505664 {
		t.Errorf("the first equivalent run is %+v", first)
	}
}

func TestArchitecturesCoverTheModels(t *testing.T) {
	architectures := must(flops.Parse(data.Architectures(), data.ArchitecturesName))
	known := map[string]flops.Architecture{}
	for _, a := range architectures {
		known[a.Model] = a
	}
	if len(known) != 6 || known["qwen3_5_27b"] != (flops.Architecture{Model: "qwen3_5_27b", ThetaCore: 24353201664, ThetaHead: 1271398400, FullAttentionLayers: 16, AttentionWidth: 6144}) {
		t.Errorf("architectures %v", architectures)
	}
	for _, p := range published(t) {
		if _, ok := known[p.Model]; !ok {
			t.Errorf("no architecture for %s", p.Model)
		}
	}
}

func TestEveryProfileHasItsDigest(t *testing.T) {
	rows, _, faults := csvfile.Decode[struct {
		Benchmark string `csv:"benchmark"`
		Model     string `csv:"model"`
		SHA256    string `csv:"sha256"`
	}](data.ProfileSHA256())
	if len(faults) > 0 || len(rows) != 108 {
		t.Fatalf("%d rows, %v", len(rows), faults)
	}
	known := map[string]bool{}
	for _, r := range rows {
		if len(r.SHA256) != 64 {
			t.Errorf("%+v", r)
		}
		known[r.Benchmark+"__model="+r.Model] = true
	}
	for _, p := range published(t) {
		if !known[p.Name()] {
			t.Errorf("no digest for %s", p.Name())
		}
	}
}

// The README gives the digest of every embedded file, so that a changed file
// is noticed and a copy can be checked.
func TestReadmeGivesTheDigests(t *testing.T) {
	readme := must(os.ReadFile("README.md"))
	files := map[string][]byte{
		data.ProfilesName: data.Profiles(), data.MeasurementsName: data.Measurements(),
		data.ProfileSHA256Name: data.ProfileSHA256(),
		data.ArchitecturesName: data.Architectures(), data.PaperTargetsName: data.PaperTargets(),
	}
	for _, id := range data.BuiltInNames() {
		content, name := data.BuiltIn(id)
		files[name] = content
	}
	for name, content := range files {
		line := fmt.Sprintf("%x  %s", sha256.Sum256(content), strings.TrimPrefix(name, "data/"))
		if !strings.Contains(string(readme), line) {
			t.Errorf("README.md lacks the line %q", line)
		}
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
