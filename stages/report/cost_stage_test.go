package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/measurement"
	"speceval/internal/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

// fleetSettings is those of a study that has a systems stage.
func fleetSettings(t testing.TB, s stored) Settings {
	t.Helper()
	out := settings(t, s)
	out.Systems = true
	return out
}

func TestTheStageShowsEveryProvenance(t *testing.T) {
	s := paperStudy(t)
	costs := withFleet(paperCosts(t, s))
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{replayed(s), systems(costs), Stage(fleetSettings(t, s))}, dir)
	v, err := Verify(dir, data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	if !v.Passed() || len(v.Cells) != paperCells+130 {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
	in := func(file string) (string, error) { return filepath.Join(dir, filepath.FromSlash(file)), nil }
	for _, kind := range costKinds {
		rows, err := readCostRows(in, kind)
		if err != nil {
			t.Fatal(err)
		}
		want, err := costRows(kind, costs)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := printed(rows), printed(want); !slices.Equal(got, want) {
			t.Errorf("%s reads back as\n%s\nnot\n%s", kind.base, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	numbers, err := os.ReadFile(filepath.Join(dir, "tables", "numbers.tex"))
	if err != nil || !bytes.Contains(numbers, []byte("specSimulatedSyncTimeBEight}{33.73")) {
		t.Errorf("numbers.tex lacks the simulated times: %v", err)
	}
}

func TestOtherProfilesHaveCostsOnlyOfTheirOwn(t *testing.T) {
	s := paperStudy(t)
	s.Published = false
	for _, u := range Stage(settings(t, s)).Units {
		if strings.HasPrefix(u.ID, "table2") || strings.HasPrefix(u.ID, "table3") || strings.HasPrefix(u.ID, "table4") {
			t.Errorf("unit %s without runs to fill it", u.ID)
		}
	}
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{replayed(s), systems(withFleet(paperCosts(t, s))), Stage(fleetSettings(t, s))}, dir)
	table, err := os.ReadFile(filepath.Join(dir, "tables", "table3_time.csv"))
	if err != nil || bytes.Contains(table, []byte("published")) || bytes.Contains(table, []byte("paper_")) || bytes.Count(table, []byte("\n")) != 9 {
		t.Errorf("%s, %v", table, err)
	}
}

func TestOnlyTheExperimentsRunsAreShown(t *testing.T) {
	s := paperStudy(t)
	s.Budgets = []int32{16, 12}
	few := settings(t, s)
	few.Pairs = few.Pairs[:5]
	for _, settings := range []Settings{settings(t, s), few} {
		runs, err := publishedRuns(settings)
		if err != nil || len(runs) != 4*len(settings.Pairs) || runs[0].ReferenceBudget != 16 {
			t.Errorf("%d runs of %d profiles, %v", len(runs), len(settings.Pairs), err)
		}
	}
}

func TestBadRunsAreNamed(t *testing.T) {
	s := paperStudy(t)
	costs := withFleet(paperCosts(t, s))
	runs := slices.DeleteFunc(slices.Clone(costs.Runs), isPublished)
	for _, c := range []struct{ name, file, want string }{
		{"a published run of the systems stage", measurement.File, "row 1713 (aime24__model=qwen2_5_32b at budget 8): the systems stage has no published runs"},
		{"a doubled run", measurement.File, "row 1737 (aime24__model=qwen2_5_32b at budget 8): a second simulated hbn-async"},
		{"a missing repeat", measurement.RepeatsFile, "the setting has no simulated"},
	} {
		dir := t.TempDir()
		bad, repeats := slices.Clone(runs), costs.Repeats
		switch c.name {
		case "a published run of the systems stage":
			bad = slices.Insert(bad, 1712, costs.Runs[:1712]...)
		case "a doubled run":
			i := slices.IndexFunc(bad, func(m measurement.Measurement) bool { return m.Strategy == measurement.HBNAsync })
			bad = append(slices.Clone(runs[:1712+24]), append([]measurement.Measurement{bad[i]}, runs[1712+24:]...)...)
		default:
			repeats = repeats[1:]
		}
		write(t, filepath.Join(dir, filepath.FromSlash(measurement.File)), bad)
		write(t, filepath.Join(dir, filepath.FromSlash(measurement.RepeatsFile)), repeats)
		in := func(file string) (string, error) { return filepath.Join(dir, filepath.FromSlash(file)), nil }
		_, err := readCosts(in, fleetSettings(t, s))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(filepath.ToSlash(err.Error()), c.file) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	lacking := settings(t, s)
	lacking.Measurements = encode(t, slices.DeleteFunc(slices.Clone(costs.Runs), func(m measurement.Measurement) bool {
		return !isPublished(m) || m.Benchmark == "aime24" && m.ReferenceBudget == 32
	}))
	if _, err := publishedRuns(lacking); err == nil || !strings.Contains(err.Error(), "data/measurements.parquet: 101 of the 107 profiles have runs at budget 32") {
		t.Errorf("profiles without runs: error %v", err)
	}
}

func TestBadStoredTablesAreNamed(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{replayed(s), Stage(settings(t, s))}, dir)
	path := filepath.Join(dir, "tables", "table4_benefit.csv")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"8,published", "8,guessed", `row 1: provenance "guessed" is unknown`},
		{"8,published", "eight,published", "row 1: strconv.ParseInt"},
		{"107,1,", "many,1,", "row 1: strconv.Atoi"},
		{"async_time_sd", "async_spread", "column async_time_sd is missing"},
	} {
		bad := strings.Replace(string(good), c.old, c.new, 1)
		if bad == string(good) {
			t.Fatalf("nothing to replace for %s", c.want)
		}
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(dir, data.PaperTargets()); err == nil || !strings.Contains(err.Error(), "table4_benefit.csv: "+c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func encode[T any](t *testing.T, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := rowfile.Write(&b, rows, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write[T any](t *testing.T, path string, rows []T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, encode(t, rows), 0o644); err != nil {
		t.Fatal(err)
	}
}
