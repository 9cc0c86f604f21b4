package runs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/lab"
)

func TestJobsThatSlurmDoesNotTake(t *testing.T) {
	l := newCluster(t, short(t))
	for _, test := range []struct {
		name string
		sets []string
		want []string
	}{
		{"a partition that is not there", sets("executor.partition=nowhere"), []string{`partition "nowhere"`, "does not exist", "main", "short", "executor.replay.partition"}},
		{"more minutes than allowed", sets("executor.partition=short", "executor.replay.minutes=5"), []string{"executor.replay.minutes = 5", "short allows 1"}},
		{"more cores than there are", sets("executor.replay.cpus=4000"), []string{"Slurm takes no jobs of replay"}},
		{"more memory than there is", sets("executor.replay.memory_mib=900000"), []string{"Slurm takes no jobs of replay"}},
		{"an argument that sbatch does not know", sets(`executor.replay.arguments=["--nothing"]`), []string{"Slurm takes no jobs of replay", "--nothing"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l.wants(t, 2, l.replay(test.sets...), test.want...)
		})
	}
	if text := l.must(t, "squeue", "--noheader", "--states=all"); text != "" {
		t.Errorf("jobs were submitted all the same:\n%s", text)
	}
	t.Run("no sbatch", func(t *testing.T) {
		path := l.Environment
		defer func() { l.Environment = path }()
		l.Environment = append(slices.Clone(path), "PATH="+l.Path("logs"))
		l.wants(t, 2, l.replay(), "sbatch is not there", "executor.kind")
	})
	t.Run("no controller", func(t *testing.T) {
		if err := l.cluster.KillController(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.wants(t, 1, l.replay(), "Slurm")
	})
}

func TestJobsThatWouldWaitForEver(t *testing.T) {
	l := newCluster(t, short(t))
	l.occupy(t)
	c := l.begin(t)
	l.must(t, "scontrol", "update", "PartitionName=main", "MaxTime=5")
	ends(t, c, 1, "would wait for ever", "PartitionTimeLimit", "executor.replay.minutes")
	if text := l.must(t, "squeue", "--noheader", "--array", "--partition=main"); text != "" {
		t.Errorf("jobs are left:\n%s", text)
	}
}

// Slurm takes such jobs, and says only in the queue that it never starts them.
func TestAPartitionOfOthers(t *testing.T) {
	l := newCluster(t, short(t))
	l.wants(t, 1, l.replay("--set", "executor.partition=closed"), "would wait for ever", "account", "closed", "executor.replay.account")
	if text := l.must(t, "squeue", "--noheader", "--array"); text != "" {
		t.Errorf("jobs are left:\n%s", text)
	}
}

func TestAFolderThatANodeDoesNotSee(t *testing.T) {
	dir := short(t)
	hidden := filepath.Join(dir, "out")
	if err := os.Mkdir(hidden, 0o777); err != nil {
		t.Fatal(err)
	}
	l := newCluster(t, dir, "--hide", "n1="+hidden)
	text := l.wants(t, 1, l.replay(), "n1")
	if !strings.Contains(text, "all nodes share") {
		t.Errorf("it does not say that the folder must be shared:\n%s", text)
	}
}

func TestAnotherProgramOnTheNodes(t *testing.T) {
	l := newCluster(t, short(t))
	job := l.occupy(t)
	c := l.begin(t)
	text, err := os.ReadFile(l.Program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Program+".new", append(text, "another"...), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.Program+".new", l.Program); err != nil {
		t.Fatal(err)
	}
	l.must(t, "scancel", job)
	ends(t, c, 1, "is not the program that submitted this job", "one program everywhere")
	l.wants(t, 0, l.replay())
}

func TestAUnitThatAlwaysFails(t *testing.T) {
	l := newCluster(t, short(t))
	out := l.Path("out")
	blocked := filepath.Join(out, "replay", "case_study.parquet", "in the way")
	if err := os.MkdirAll(blocked, 0o777); err != nil {
		t.Fatal(err)
	}
	text := l.wants(t, 1, l.replay("--set", "executor.retries=1"), "it is tried again", "speceval: 1 unit failed\n")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	expect(t, last, "replay/case_study: failed 2 times", "is a directory", filepath.Join(out, "slurm"), ".log")
	units, err := lab.Units(out, "replay")
	if err != nil || len(units) != 29 {
		t.Errorf("%d of the 29 other units are done, %v:\n%s", len(units), err, text)
	}
	if err := os.RemoveAll(filepath.Dir(blocked)); err != nil {
		t.Fatal(err)
	}
	l.wants(t, 0, l.replay(), "replay: 1 of 30 units to run")
}

func TestInterrupts(t *testing.T) {
	l := newCluster(t, short(t))
	job := l.occupy(t)
	c := l.begin(t)
	c.Signal(os.Interrupt)
	ends(t, c, 130, "leaving the jobs")
	first, err := batches(l.Path("out"))
	if err != nil || len(first) == 0 {
		t.Fatal(first, err)
	}
	if text := l.must(t, "squeue", "--noheader", "--partition=main"); text == "" {
		t.Error("no job is left after one interrupt")
	}
	l.wants(t, 1, l.replay("--set", "executor.kind=local"), "Slurm jobs of an earlier run are at work", first[0].Job, "scancel")

	again, err := l.Start(l.replay()...)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := again.Until(ctx, func() (bool, error) { return strings.Contains(again.Text(), "not submitted again"), nil }); err != nil {
		t.Fatal(err)
	}
	l.must(t, "scancel", job)
	ends(t, again, 0)
	all, err := batches(l.Path("out"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, b := range all {
		for _, members := range b.Elements {
			for _, m := range members {
				if seen[m.Key]++; seen[m.Key] == 2 {
					t.Errorf("%s was submitted again", m.Unit)
				}
			}
		}
	}
}

func TestTwoInterruptsCancelTheJobs(t *testing.T) {
	l := newCluster(t, short(t))
	l.occupy(t)
	c := l.begin(t)
	c.Signal(os.Interrupt)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Until(ctx, func() (bool, error) { return strings.Contains(c.Text(), "interrupt again"), nil }); err != nil {
		t.Fatal(err)
	}
	c.Signal(os.Interrupt)
	ends(t, c, 130, "cancelling the jobs")
	if text := l.must(t, "squeue", "--noheader", "--array", "--partition=main"); text != "" {
		t.Errorf("jobs are left:\n%s", text)
	}
}

func TestFlags(t *testing.T) {
	getenv := func(string) string { return "" }
	for _, drill := range []lab.Drill{Faults, Slurm, Generate} {
		var out, errs strings.Builder
		if code := drill.Main([]string{"-no-such-flag"}, getenv, &out, &errs); code != 2 {
			t.Errorf("%s with an unknown flag: exit code %d", drill.Name, code)
		}
		args := []string{"-speceval", "/nowhere", "-dir", filepath.Join(short(t), "lab")}
		if code := drill.Main(args, getenv, &out, &errs); code != 1 || !strings.HasSuffix(out.String(), "\n"+drill.Name+": failed\n") {
			t.Errorf("%s without a program: exit code %d, %s", drill.Name, code, out.String())
		}
	}
	var errs strings.Builder
	if code := Slurm.Main([]string{"-part", "nothing"}, getenv, &errs, &errs); code != 2 || !strings.Contains(errs.String(), "table1, faults, gpus, search") {
		t.Errorf("an unknown part: exit code %d: %s", code, errs.String())
	}
}

func TestEveryDamageChangesTheContent(t *testing.T) {
	moments := lab.NewMoments(1, "test")
	manifest := []byte("{\n  \"format\": 1,\n  \"key\": \"k\",\n  \"parts\": {\"unit\": \"u\", \"seed\": \"\"}\n}\n")
	for _, d := range slices.Concat(ofOutputs, ofManifests) {
		for range 50 {
			if got := d.do(bytes.Clone(manifest), []byte("other"), moments); bytes.Equal(got, manifest) {
				t.Errorf("%s leaves it as it was", d.name)
			}
		}
	}
}

func TestEditsAreTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("one two"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := func(content string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			t.Errorf("%q, %v; want %q", text, err, content)
		}
	}
	restore, err := editAll([]edit{{path, "one", "1"}, {path, "two", "2"}})
	if err != nil {
		t.Fatal(err)
	}
	want("1 2")
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	want("one two")
	if _, err := editAll([]edit{{path, "three", "3"}}); err == nil {
		t.Error("an edit that changes nothing is none")
	}
}

func TestAJournalIsInjuredInTwoPlaces(t *testing.T) {
	dir := t.TempDir()
	path, foreign := filepath.Join(dir, "a", "x.journal"), filepath.Join(dir, "b", "x.journal")
	content := strings.Repeat("0123456789abcdef\n", 4)
	if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if found, err := findJournal(dir, 5); found != "" || err != nil {
		t.Errorf("found %q, %v", found, err)
	}
	if found, err := findJournal(dir, 4); found != path || err != nil {
		t.Errorf("found %q, %v", found, err)
	}
	if err := injureJournal(path, foreign, lab.NewMoments(1, "test")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	lines := strings.SplitAfter(content, "\n")
	if err != nil || !strings.HasPrefix(string(text), lines[0]) || strings.HasPrefix(string(text), lines[0]+lines[1]) || strings.HasSuffix(string(text), "\n") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(foreign); err != nil || string(text) != strings.Join(lines[1:], "") {
		t.Errorf("under another key %q, %v", text, err)
	}
}

func TestSkippedIsFailureWhereNothingMayBe(t *testing.T) {
	none := func(*site, context.Context, *trial) error { return skipped("no root") }
	differs := func(_ *site, _ context.Context, t *trial) error { t.differing = 3; return nil }
	twice := func(_ *site, _ context.Context, t *trial) error { t.together = 1; return nil }
	for _, test := range []struct {
		strict bool
		make   func(*site, context.Context, *trial) error
		want   string
	}{
		{false, none, ""},
		{true, none, "x: no root"},
		{false, differs, "x: 3 bytes differ"},
		{false, twice, "x: 0 units submitted while their job lived, 1 in two elements at once"},
	} {
		var out bytes.Buffer
		s := &site{Lab: &lab.Lab{Strict: test.strict, Stdout: &out}}
		got := ""
		if err := s.each(t.Context(), []fault{{name: "x", make: test.make}}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("error %q, want %q", got, test.want)
		}
		if !strings.Contains(out.String(), "| x | 0 |") {
			t.Errorf("table %s", out.String())
		}
	}
}
