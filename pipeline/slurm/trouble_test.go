package slurm

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/pipeline/config"
)

// TestThereIsNoRoomForNow has a limit leave room for so many elements, of which those of
// other jobs take some until a time.
func TestThereIsNoRoomForNow(t *testing.T) {
	for _, test := range []struct{ limit, others int }{{1, 0}, {3, 0}, {5, 5}} {
		l := newLab(t)
		polls := 0
		l.answers = func(program string, words []string) (string, error, bool) {
			if program != "sbatch" || slices.Contains(words, "--test-only") {
				return "", nil, false
			}
			n, _ := strconv.Atoi(strings.TrimPrefix(option(words, "--array"), "0-"))
			for _, j := range l.jobs {
				for _, e := range j.elements {
					if !e.state.Ended() {
						n++
					}
				}
			}
			if polls++; polls <= 5 {
				n += test.others
			}
			if n >= test.limit {
				return "", errors.New("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"), true
			}
			return "", nil, false
		}
		l.wantDone(l.execute(t.Context(), l.tasks(30)), 30) // five elements
		said := strings.Join(l.said, "\n")
		waits, goesOn := strings.Count(said, "waiting until jobs are taken"), strings.Count(said, "jobs are taken again")
		if waits != goesOn || waits == 0 && test.limit < 3 || test.others > 0 && waits != 1 {
			t.Errorf("%+v: it said\n%s", test, said)
		}
	}
}

func TestARequeuedElementIsWaitedFor(t *testing.T) {
	l := newLab(t)
	requeued := false
	l.atQueue(func(j *job) {
		if j.elements[0].state == NodeFail && !requeued {
			requeued = true
			j.elements[0].state = Pending
		}
	})
	l.settings.SettleSeconds = 3600
	l.play = func(r *acting) State {
		if !requeued {
			r.begin(r.members[0])
			return NodeFail
		}
		return completes(r)
	}
	l.wantDone(l.execute(t.Context(), l.tasks(1)), 1)
	same(t, "jobs", len(l.jobs), 1)
}

func TestAJobThatWouldWaitForEver(t *testing.T) {
	for reason, key := range map[string]string{
		"PartitionTimeLimit": "minutes", "Job's QOS not permitted to use this partition (lab denies x including y)": "qos",
		"Job's account not known, so it can't use this partition (closed allows nobody)": "account",
	} {
		l := newLab(t)
		polls := 0
		l.atQueue(func(j *job) {
			j.elements[0].why = "Priority" // which is no fault
			if polls++; polls > 3 {
				j.elements[0].why = reason
			}
		})
		err := l.execute(t.Context(), l.tasks(1))["u0"]
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "executor.s."+key) || polls < 4 {
			t.Errorf("%s: ended with %v after %d polls", reason, err, polls)
		}
		same(t, "cancelled", l.cancels, []string{"100_0"})
	}
}

func TestWhatSlurmWouldNotTake(t *testing.T) {
	none := newLab(t)
	none.settings.Run = answers{}.command
	none.refuses("scontrol is not there")
	for want, r := range map[string]config.Resources{
		"partition lab allows 1441":                                                {Partition: "lab", Minutes: 1500},
		"executor.s.minutes = 61: partition by default allows 60":                  {Minutes: 61},
		"Slurm takes no jobs of s (Invalid qos specification): look at executor.s": {QOS: "bad"},
	} {
		l := newLab(t)
		l.settings.Resources["s"] = Resources{Resources: r}
		l.answers = func(program string, words []string) (string, error, bool) {
			if option(words, "--qos") == "bad" {
				return "", errors.New("Invalid qos specification"), true
			}
			return "", nil, false
		}
		l.refuses(want)
	}
}

// TestSomebodyCancelsWhatWaits: Slurm forgets such an element at once.
func TestSomebodyCancelsWhatWaits(t *testing.T) {
	l := newLab(t)
	l.atQueue(func(j *job) { j.elements[1].gone = j.elements[1].gone || j.elements[1].looks == 1 })
	cancelled := 0
	for _, err := range l.execute(t.Context(), l.tasks(8)) { // two elements
		if err != nil {
			cancelled++
			says(t, err, "was cancelled")
		}
	}
	if cancelled != 4 || len(l.jobs) != 1 {
		t.Errorf("%d units were cancelled, %d jobs", cancelled, len(l.jobs))
	}
}

// TestAnIdComesBack: a controller that crashed gives the id of a job that it has
// forgotten to somebody else's.
func TestAnIdComesBack(t *testing.T) {
	l := newLab(t)
	name := ""
	l.atQueue(func(j *job) {
		if len(l.jobs) == 1 {
			name = j.name
			j.name, j.elements[0].state = "theirs", Running
		}
	})
	l.play = func(r *acting) State {
		if r.job.name == "theirs" {
			return Running
		}
		return completes(r)
	}
	l.wantDone(l.execute(t.Context(), l.tasks(2)), 2)
	if len(l.jobs) != 2 || name == "" {
		t.Errorf("%d jobs", len(l.jobs))
	}
	same(t, "somebody else's job is cancelled", slices.Contains(l.cancels, "100_0"), false)
}
