package runs

import (
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
