package slurm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
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
	return "", fmt.Errorf("%s: no such command", program)
}

const queue = `1|3|CANCELLED|None|n1|a
1|0|COMPLETED|None|n1|a
1|1|FAILED|NonZeroExitCode|n1|a
1|2|OUT_OF_MEMORY|OutOfMemory|n2|a
29|0|PENDING|BeginTime||b
29|1|RUNNING|None|n2|b
31|N/A|RUNNING|None|n2|c
14|0|PENDING|Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions||d
`

const disabled = "sacct: exit status 1: Slurm accounting storage is disabled"

func TestElementsOfTheQueue(t *testing.T) {
	c := New(answers{"squeue": {text: queue}, "sacct": {err: errors.New(disabled)}}.command)
	got, err := c.Elements(t.Context(), []Element{{Job: "1", Index: 0}, {Job: "1", Index: 9}, {Job: "29", Index: 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Element{
		{"1", 3, "a", Cancelled, "", "n1", 0}, {"1", 0, "a", Completed, "", "n1", 0}, {"1", 1, "a", Failed, "NonZeroExitCode", "n1", 0},
		{"1", 2, "a", OutOfMemory, "OutOfMemory", "n2", 0}, {"29", 0, "b", Pending, "BeginTime", "", 0}, {"29", 1, "b", Running, "", "n2", 0},
		{"14", 0, "d", Pending, "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", "", 0},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestElementsOfTheAccounts(t *testing.T) {
	c := New(answers{
		"squeue": {err: errors.New("squeue: exit status 1: slurm_load_jobs error: Invalid job id specified")},
		"sacct": {text: `1_0|COMPLETED|0:0|n1|a
1_1|FAILED|3:0|n1|a
1_2|OUT_OF_MEMORY|0:125|n1|a
1_3|CANCELLED by 0|0:0|None assigned|a
1_4|FAILED|0:9|n1|a
1_[5-9]|PENDING|0:0|None assigned|a
7|COMPLETED|0:0|n1|b
`},
	}.command)
	got, err := c.Elements(t.Context(), []Element{{Job: "1"}})
	want := []Element{
		{"1", 0, "a", Completed, "", "n1", 0}, {"1", 1, "a", Failed, "", "n1", 3}, {"1", 2, "a", OutOfMemory, "", "n1", 253},
		{"1", 3, "a", Cancelled, "", "", 0}, {"1", 4, "a", Failed, "", "n1", 137},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestAccountsAreAskedOnlyWhereTheQueueForgot(t *testing.T) {
	asked := 0
	c := New(func(_ context.Context, program string, _ ...string) (string, error) {
		if program == "sacct" {
			asked++
			return "", errors.New(disabled)
		}
		return queue, nil
	})
	for _, wanted := range [][]Element{{{Job: "1", Index: 0}}, {{Job: "1", Index: 8}}, {{Job: "1", Index: 8}}} {
		if _, err := c.Elements(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once: there are no accounts", asked)
	}
}

func TestSlurmDoesNotAnswer(t *testing.T) {
	c := New(answers{"squeue": {err: errors.New("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")}}.command)
	if _, err := c.Elements(t.Context(), []Element{{Job: "1"}}); err == nil || !strings.Contains(err.Error(), "Unable to contact") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Limits(t.Context()); err == nil {
		t.Error("limits of no cluster")
	}
}

func TestSubmit(t *testing.T) {
	for text, want := range map[string]string{"130\n": "130", "130;lab\n": "130", "Welcome!\n\n131\n": "131", "": "", "Submitted batch job\n": ""} {
		got, err := New(answers{"sbatch --parsable": {text: text}}.command).Submit(t.Context(), Submission{Elements: 1})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: job %q, %v", text, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	const limit, no, unsure = "limit", "no", "unsure"
	for text, want := range map[string]string{
		"sbatch: error: Batch job submission failed: Invalid partition name specified":                                                      no,
		"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)":                       no,
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified":                            no,
		"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)": limit,
		"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying":                                                      limit,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":                                               unsure,
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)":                                  unsure,
		"sbatch: signal: killed": unsure,
	} {
		_, err := New(answers{"sbatch": {err: errors.New(text)}}.command).Submit(t.Context(), Submission{Elements: 1})
		got := unsure
		var refused *RefusedError
		if errors.As(err, &refused) {
			got = no
			if refused.Limit {
				got = limit
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestWordsOfASubmission(t *testing.T) {
	s := Submission{Name: "n", Script: "/b/job.sh", Elements: 1, Log: "/b/%a.log", MemoryMiB: WholeNode}
	want := []string{
		"--parsable", "--requeue", "--open-mode=append", "--ntasks=1", "--nodes=1", "--job-name=n", "--array=0-0",
		"--output=/b/%a.log", "--error=/b/%a.log", "--cpus-per-task=1", "--mem=0", "/b/job.sh",
	}
	if got := s.words(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestLimitsAndPartitions(t *testing.T) {
	c := New(answers{
		"scontrol show config": {text: "Configuration data as of 2026-11-22T17:32:39\nMaxArraySize            = 1001\nSLURM_VERSION           = 22.05.8\n"},
		"scontrol show partition": {text: "PartitionName=main AllowGroups=ALL AllowAccounts=ALL Default=YES MaxNodes=UNLIMITED MaxTime=UNLIMITED Nodes=n[1-2]\n" +
			"PartitionName=short AllowAccounts=a,b Default=NO MaxTime=1-00:01:00\n"},
	}.command)
	limits, err := c.Limits(t.Context())
	if err != nil || limits != (Limits{Version: "22.05.8", ArraySize: 1001}) {
		t.Errorf("limits %+v, %v", limits, err)
	}
	partitions, err := c.Partitions(t.Context())
	want := []Partition{{Name: "main", Default: true}, {Name: "short", MaxMinutes: 24*60 + 1, Accounts: []string{"a", "b"}}}
	if err != nil || !reflect.DeepEqual(partitions, want) {
		t.Errorf("partitions %+v, %v", partitions, err)
	}
}

func TestMinutes(t *testing.T) {
	for text, want := range map[string]int{
		"00:01:00": 1, "01:30:00": 90, "1-02:03:04": 24*60 + 124, "05:30": 6, "7": 7, "2-12": 60 * 60, "1-00:30": 24*60 + 30, "365-00:00:00": 365 * 24 * 60,
	} {
		if got, limited := Minutes(text); got != want || !limited {
			t.Errorf("%s: %d, %v, want %d", text, got, limited, want)
		}
	}
	for _, text := range []string{"UNLIMITED", "INFINITE", "", "NONE", "x-1"} {
		if got, limited := Minutes(text); got != 0 || limited {
			t.Errorf("%q: %d, %v, want no limit", text, got, limited)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(queue)
	f.Add("1_0|COMPLETED|0:0|n1|a\n")
	f.Add("PartitionName=a MaxTime=1-2-3:\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := New(func(context.Context, string, ...string) (string, error) { return text, nil })
		elements, _ := c.Elements(t.Context(), []Element{{Job: "1"}})
		for _, e := range elements {
			e.Hopeless()
		}
		c.Limits(t.Context())
		c.Partitions(t.Context())
		c.Named(t.Context(), "x")
		c.ExitCode(t.Context(), Element{Job: "1"})
		c.Submit(t.Context(), Submission{Elements: 1})
	})
}

func TestInstalled(t *testing.T) {
	all := func(string) (string, error) { return "/usr/bin/x", nil }
	none := func(name string) (string, error) { return "", fmt.Errorf("%s: not found", name) }
	if err := Installed(all); err != nil {
		t.Error(err)
	}
	if err := Installed(none); err == nil || !strings.Contains(err.Error(), "sbatch is not there") || !strings.Contains(err.Error(), "executor.kind") {
		t.Errorf("got %v", err)
	}
}

func TestEveryStateIsOneThing(t *testing.T) {
	for _, state := range []State{Pending, Running, Completed, Failed, Cancelled, Timeout, OutOfMemory, NodeFail, BootFail, Preempted, Deadline, Revoked, Forgotten, "SUSPENDED", "COMPLETING", "REQUEUED", "STOPPED"} {
		if state.Ended() && state.Waiting() {
			t.Errorf("%s has ended and waits", state)
		}
	}
	if Running.Ended() || !State("REQUEUED").Waiting() || !NodeFail.Ended() {
		t.Error("states are mixed up")
	}
}

func TestWaitingForEver(t *testing.T) {
	for _, test := range []struct {
		state State
		why   string
		key   string
	}{
		{Pending, "PartitionTimeLimit", "minutes"},
		{Pending, "Job's account not known, so it can't use this partition (closed allows nobody)", "account"},
		{Pending, "Job's account not permitted to use this partition (lab allows us not them)", "account"},
		{Pending, "Job's QOS not permitted to use this partition (lab denies x including y)", "qos"},
		{Pending, "Resources", ""}, {Pending, "Priority", ""}, {Pending, "", ""},
		{Running, "PartitionTimeLimit", ""},
	} {
		key, yes := Element{State: test.state, Why: test.why}.Hopeless()
		if key != test.key || yes != (test.key != "") {
			t.Errorf("%s, %q: for want of %q, %v, want %q", test.state, test.why, key, yes, test.key)
		}
	}
}
