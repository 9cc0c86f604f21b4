package slurm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"speceval/pipeline/config"
)

// answers is a cluster that answers as Slurm 22.05 did.
type answers map[string]struct {
	text string
	err  error
}

func (a answers) command(_ context.Context, program string, words ...string) (string, error) {
	line := program + " " + strings.Join(words, " ")
	for begin, answer := range a {
		if strings.HasPrefix(line, begin) {
			return answer.text, answer.err
		}
	}
	return "", fmt.Errorf("%s: %w", program, exec.ErrNotFound)
}

// jobsOf are arrays with so many elements each.
func jobsOf(elements map[string]int) (arrays []*array) {
	for job, n := range elements {
		arrays = append(arrays, newArray(&Batch{Job: job, Elements: make([][]Member, n)}, ""))
	}
	return arrays
}

const queue = `1|3|CANCELLED|None|n1|a
1|0|COMPLETED|None|n1|a
1|1|FAILED|NonZeroExitCode|n1|a
29|0|PENDING|BeginTime||b
CLUSTER: gpu
31|N/A|RUNNING|None|n2|c
14|0|PENDING|Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions||d
`

const accounts = `1_0|COMPLETED|n1|a
1_1|FAILED|n1|a
1_2|CANCELLED by 0|None assigned|a
1_[5-9]|PENDING|None assigned|a
7|COMPLETED|n1|b
`

const disabled = "sacct: exit status 1: Slurm accounting storage is disabled"

func TestElementsOfTheQueueAndTheAccounts(t *testing.T) {
	invalid := errors.New("squeue: exit status 1: slurm_load_jobs error: Invalid job id specified")
	inQueue := []Element{
		{"1", 3, "a", Cancelled, "", "n1"}, {"1", 0, "a", Completed, "", "n1"}, {"1", 1, "a", Failed, "NonZeroExitCode", "n1"},
		{"29", 0, "b", Pending, "BeginTime", ""},
		{"14", 0, "d", Pending, "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", ""},
	}
	recorded := []Element{{"1", 0, "a", Completed, "", "n1"}, {"1", 1, "a", Failed, "", "n1"}, {"1", 2, "a", Cancelled, "", ""}}
	for _, test := range []struct {
		name string
		a    answers
		want []Element
		err  string
	}{
		{"without accounts", answers{"squeue": {text: queue}, "sacct": {err: errors.New(disabled)}}, inQueue, ""},
		{"both", answers{"squeue": {text: queue}, "sacct": {text: accounts}}, slices.Concat(inQueue, recorded), ""},
		{"a queue that forgot", answers{"squeue": {err: invalid}, "sacct": {text: accounts}}, recorded, ""},
		{"no answer", answers{"squeue": {err: errors.New("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")}}, nil, "Unable to contact"},
	} {
		got, err := (&cluster{run: test.a.command}).elements(t.Context(), jobsOf(map[string]int{"1": 4}))
		same(t, test.name, got, test.want)
		says(t, err, test.err)
	}
}

func TestAccountsAreAskedOnlyWhereTheQueueForgot(t *testing.T) {
	asked := 0
	c := &cluster{run: func(_ context.Context, program string, _ ...string) (string, error) {
		if program == "sacct" {
			asked++
			return "", errors.New(disabled)
		}
		return queue, nil
	}}
	for _, wanted := range []map[string]int{{"29": 1}, {"1": 3}, {"1": 3}} {
		_, err := c.elements(t.Context(), jobsOf(wanted))
		says(t, err, "")
	}
	same(t, "times asked: the queue has the first job", asked, 2)
}

// TestTheClusterOfAJob has arguments and environments choose clusters, and every command
// name the one that took the job.
func TestTheClusterOfAJob(t *testing.T) {
	for _, test := range []struct {
		arguments   []string
		environment string // SBATCH_CLUSTERS SLURM_CLUSTERS
		want        string
	}{
		{nil, " ", ""}, {[]string{"--nice=1"}, " other", "other"}, {nil, "a b", "a"},
		{[]string{"--clusters=gpu"}, "a b", "gpu"}, {[]string{"--cluster=gpu"}, " ", "gpu"}, {[]string{"--clusters", "gpu"}, " ", "gpu"},
		{[]string{"-M", "gpu", "--nice"}, " ", "gpu"}, {[]string{"-Mgpu"}, " ", "gpu"}, {[]string{"-Ma", "--clusters=b,c"}, " ", "b,c"},
		{[]string{"--cluster-constraint=x"}, " ", ""},
	} {
		s, l, _ := strings.Cut(test.environment, " ")
		variables := map[string]string{"SBATCH_CLUSTERS": s, "SLURM_CLUSTERS": l}
		same(t, fmt.Sprintf("%q, %q", test.arguments, test.environment), clusters(test.arguments, func(name string) string { return variables[name] }), test.want)
	}
	l := newLab(t)
	l.settings.Resources["s"] = Resources{config.Resources{CPUs: 1, Arguments: []string{"-Mcpu,lab"}}, 1, "cpu,lab"}
	failed := false
	l.play = func(r *acting) State {
		if !failed {
			failed = true
			r.begin(r.members[0])
			return NodeFail
		}
		return completes(r)
	}
	l.wantDone(l.execute(t.Context(), l.tasks(8)), 8)
	for _, line := range l.commands {
		want := "--clusters=cpu,lab"
		if program, _, _ := strings.Cut(line, " "); strings.Contains(line, " --jobs=") || program == "scancel" {
			want = "--clusters=lab" // which answered
		} else if program == "sbatch" {
			want = "-Mcpu,lab"
		}
		has(t, strings.Fields(line), want)
	}
	same(t, "elements that are cancelled before they are submitted again", len(l.cancels), 1)
}

func TestSubmit(t *testing.T) {
	for text, want := range map[string]string{"130\n": "130", "130;lab\n": "130", "Welcome!\n\n131\n": "131", "": "", "Submitted batch job\n": ""} {
		b := &Batch{Elements: make([][]Member, 1)}
		_, err := (&cluster{run: answers{"sbatch --parsable": {text: text}}.command}).submit(t.Context(), b, "", Resources{}, 0)
		if b.Job != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%q: job %q, %v", text, b.Job, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	const accounting = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
	for text, want := range map[string]outcome{
		"sbatch: error: Batch job submission failed: Invalid partition name specified":                                refused,
		"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)": refused,
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified":      refused,
		accounting: full,
		"sbatch: error: AssocMaxSubmitJobLimit\n" + accounting:                                full,
		"sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + accounting:                           full,
		"sbatch: error: QOSMaxWallDurationPerJobLimit\n" + accounting:                         refused,
		"sbatch: error: QOSMaxMemoryPerJob\n" + accounting:                                    refused,
		"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying":        full,
		"sbatch: error: Batch job submission failed: Resource temporarily unavailable":        full,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation": unknown,
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller":      unknown,
		"sbatch: signal: killed":                  unknown,
		"sbatch: it has not ended after 1m0s":     unknown,
		"sbatch: unrecognized option '--nothing'": refused,
	} {
		got, err := (&cluster{run: answers{"sbatch": {err: errors.New(text)}}.command}).submit(t.Context(), new(Batch), "", Resources{}, 0)
		if err == nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(queue)
	f.Add("1_0|COMPLETED|n1|a\n")
	f.Add("PartitionName=a MaxTime=1-2-3:\n")
	f.Fuzz(func(t *testing.T, text string) {
		run := func(context.Context, string, ...string) (string, error) { return text, nil }
		b := &Batch{Name: "x", Job: "1", Elements: make([][]Member, 1)}
		for _, s := range []scheduler{&cluster{run: run}, &commands{run: run, report: func(string) {}, strange: map[string]bool{}}} {
			elements, _ := s.elements(t.Context(), []*array{newArray(b, "")})
			for _, e := range elements {
				e.hopeless()
			}
			s.check(t.Context(), "s", Resources{})
			s.find(t.Context(), b)
			s.submit(t.Context(), b, "", Resources{}, 0)
		}
	})
}
