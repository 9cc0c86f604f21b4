//go:build drill

package runs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/drills/drill"
)

// oneProfile is a replay of one profile through Slurm, in seconds.
var oneProfile = drill.Settings{
	"model":      []drill.Settings{{"id": "qwen3_5_4b"}},
	"benchmark":  []drill.Settings{{"id": "aime24"}},
	"experiment": drill.Settings{"budgets": []int{8}},
	"replay": drill.Settings{
		"draws": 64, "replicates": 2, "quadrature_order": 4, "resamples": 2, "resample_draws": 2, "ibn_alphas": []float64{0.1},
		"ts_neyman":  drill.Settings{"alphas": []float64{0.1}, "warm_starts": []int{2}, "race_draws": 2, "final_draws": 2},
		"case_study": drill.Settings{"budget": 8, "repetitions": 100},
	},
	"executor": drill.Settings{"kind": "slurm", "poll_seconds": 0.5, "settle_seconds": 1, "retries": 0, "element_minutes": 0.01},
}

// notTaken are settings of jobs that Slurm does not take, and what the run must say.
var notTaken = []struct {
	name string
	key  string
	says []string
}{
	{"a partition that is not there", "partition=nowhere",
		[]string{"Slurm takes no jobs of replay", "executor.replay"}},
	{"more minutes than allowed", "partition=short --set executor.replay.minutes=5",
		[]string{"executor.replay.minutes = 5", "short allows 1"}},
	{"more cores than there are", "replay.cpus=4000", []string{"Slurm takes no jobs of replay"}},
	{"more memory than there is", "replay.memory_mib=900000", []string{"Slurm takes no jobs of replay"}},
	{"an argument that sbatch does not know", `replay.arguments=["--nothing"]`,
		[]string{"Slurm takes no jobs of replay", "--nothing"}},
}

// jobs tries jobs that Slurm does not take, that never start or that fail, and interrupts.
func (s *site) jobs() {
	s.config = s.Path("one.toml")
	s.WriteConfig(s.config, oneProfile)
	for _, test := range notTaken {
		s.Sub(test.name, func(l *drill.Lab) { s.in(l).do(s.Path("out"), 2, "run replay --set executor."+test.key, test.says...) })
	}
	if text := s.slurm("squeue", "--noheader", "--states=all"); text != "" {
		s.Errorf("jobs were submitted all the same:\n%s", text)
	}
	for _, test := range []struct {
		name string
		do   func(s *site, out string)
	}{
		{"jobs that would wait for ever", (*site).wouldWait},
		{"a partition of others", (*site).ofOthers},
		{"a folder that a node does not see", func(s *site, _ string) {
			s.do(s.Path("hidden"), 1, "run replay", "n1", "all nodes share")
		}},
		{"another program on the nodes", (*site).anotherProgram},
		{"a unit that always fails", (*site).alwaysFails},
		{"an interrupt", (*site).interrupt},
		{"two interrupts", (*site).interruptTwice},
		{"no controller", (*site).noController},
	} {
		s.Sub(test.name, func(l *drill.Lab) { test.do(s.in(l), s.Path(strings.ReplaceAll(test.name, " ", "-"))) })
	}
}

func (s *site) noController(out string) {
	s.cluster.KillController()
	defer s.cluster.StartController()
	s.do(out, 1, "run replay", "Slurm")
}

// wouldWait lowers the limit of a partition below that of jobs which wait.
func (s *site) wouldWait(out string) {
	s.occupy()
	p := s.begin(out)
	s.slurm("scontrol", "update", "PartitionName=main", "MaxTime=5")
	defer s.slurm("scontrol", "update", "PartitionName=main", "MaxTime=UNLIMITED")
	p.Wait()
	p.Says(1, "would wait for ever", "PartitionTimeLimit", "executor.replay.minutes")
	s.noJobs()
}

// ofOthers submits jobs that Slurm takes, and of which it says only in the queue that it
// never starts them.
func (s *site) ofOthers(out string) {
	s.do(out, 1, "run replay --set executor.partition=closed", "would wait for ever", "account", "closed", "executor.replay.account")
	s.noJobs()
}

// anotherProgram replaces the program while jobs of it wait.
func (s *site) anotherProgram(out string) {
	text := s.Read(s.Program)
	s.Program = s.Path("speceval")
	s.OK(os.WriteFile(s.Program, text, 0o777))
	job := s.occupy()
	p := s.begin(out)
	s.OK(os.WriteFile(s.Program+".new", append(text, "another"...), 0o777), os.Rename(s.Program+".new", s.Program))
	s.slurm("scancel", job)
	p.Wait()
	p.Says(1, "is not the program that submitted this job", "one program everywhere")
	s.do(out, 0, "run replay")
}

func (s *site) alwaysFails(out string) {
	blocked := filepath.Join(out, "replay", "case_study.parquet")
	s.OK(os.MkdirAll(filepath.Join(blocked, "in the way"), 0o777))
	s.do(out, 1, "run replay --set executor.retries=1", "it is tried again", "speceval: 1 unit failed\n",
		"\n  replay/case_study: failed 2 times", "is a directory", filepath.Join(out, "slurm"), ".log")
	others := len(s.Units(out, "replay"))
	s.OK(os.RemoveAll(blocked))
	s.do(out, 0, "run replay", fmt.Sprintf("replay: 1 of %d units to run", others+1))
}

// interrupt leaves the jobs, to which the next run comes back.
func (s *site) interrupt(out string) {
	job := s.occupy()
	p := s.begin(out)
	s.OK(p.Signal(os.Interrupt))
	p.Wait()
	p.Says(130, "leaving the jobs")
	if s.slurm("squeue", "--noheader", "--partition=main") == "" {
		s.Error("no job is left after one interrupt")
	}
	s.do(out, 1, "run replay --set executor.kind=local",
		"jobs of an earlier run are at work", s.batches(out)[0].Job, "scancel")
	p = s.start(out, "run", "replay")
	p.Until(func() bool { return strings.Contains(p.Text(), "not submitted again") })
	s.slurm("scancel", job)
	p.Wait()
	p.Says(0)
	submitted := make(map[string]bool)
	for _, b := range s.batches(out) {
		for _, u := range slices.Concat(b.Elements...) {
			if submitted[u.Key] {
				s.Errorf("%s was submitted again", u.Unit)
			}
			submitted[u.Key] = true
		}
	}
}

func (s *site) interruptTwice(out string) {
	s.occupy()
	p := s.begin(out)
	s.OK(p.Signal(os.Interrupt))
	p.Until(func() bool { return strings.Contains(p.Text(), "interrupt again") })
	s.OK(p.Signal(os.Interrupt))
	p.Wait()
	p.Says(130, "cancelling the jobs")
	s.noJobs()
}

// occupy has another job take the node, until it is cancelled or the test ends.
func (s *site) occupy() (job string) {
	job = strings.TrimSpace(s.slurm("sbatch", "--parsable", "--exclusive", "--partition=urgent", "--output=/dev/null", "--wrap=sleep 600"))
	s.Cleanup(func() { s.trySlurm("scancel", job) })
	return job
}

// begin starts a run and waits until Slurm has its jobs.
func (s *site) begin(out string) *drill.Process {
	p := s.start(out, "run", "replay")
	p.Until(func() bool {
		all := s.batches(out)
		return len(all) > 0 && all[0].Job != ""
	})
	return p
}

// noJobs is an error if jobs of a run are left.
func (s *site) noJobs() {
	if text := s.slurm("squeue", "--noheader", "--array", "--partition=main,closed"); text != "" {
		s.Errorf("jobs are left:\n%s", text)
	}
}
