package slurm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// engine is a small engine made of shell: a file in jobs holds the state of the job of its
// name. A job runs when the queue is printed; it may set its state itself.
const engine = `
mkdir -p jobs scripts
case $1 in
submit)
	[ ! -e down ] || { rm down; echo "engine: no connection" >&2; exit 1; }
	j=${3:-j$(ls jobs | wc -l)}
	! grep -q PENDING jobs/* 2>/dev/null || touch together
	echo "$2" >"scripts/$j" && echo PENDING >"jobs/$j"
	echo "welcome" && echo "$j" ;;
list)
	[ ! -e away ] || { rm away; exit 1; }
	for f in jobs/*; do
		[ -e "$f" ] || continue
		export job=${f#jobs/}
		if [ "$(cat "$f")" = PENDING ]; then
			echo RUNNING >"$f"
			s=FAILED
			bash -c "$(cat "scripts/$job")" && s=Succeeded
			[ "$(cat "$f")" != RUNNING ] || echo $s >"$f"
		fi
		s=$(cat "$f")
		[ "$s" = LOST ] || { echo "$job $s"; touch "listed-$s"; }
	done ;;
cancel) shift; for j; do echo CANCELLED >"jobs/$j"; done ;;
esac
`

// manifests has an element mark its units as done.
const manifests = `
[ "$SPECEVAL_ELEMENT" = 0 ] || exit 9
for unit in $(grep -o '"unit": "[^"]*"' "$dir/batch.json" | cut -d'"' -f4); do touch "done-$unit"; done
`

// engineLab is a lab whose jobs go to an engine in the folder dir. Elements run a script in
// place of speceval, and n units wait, three to an element.
func engineLab(t *testing.T, script string, n int) (l *lab, dir string, tasks []dag.Task) {
	l, dir = newLab(t), t.TempDir()
	for name, text := range map[string]string{"engine.sh": engine, "element.sh": "cd " + dir + "\nfor dir; do :; done\n" + script} {
		says(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777), "")
	}
	run := "cd " + dir + " && sh engine.sh "
	l.settings.Run = Run(os.Environ(), time.Minute)
	l.settings.Kind, l.settings.Submit, l.settings.Status, l.settings.Cancel = config.ExecutorCommand, run+"submit '{command}'", run+"list {jobs} | cat", run+"cancel {jobs}"
	l.settings.Program = []string{"/bin/sh", filepath.Join(dir, "element.sh")}
	l.settings.PollSeconds, l.settings.SettleSeconds, l.settings.ElementMinutes = 0.01, 0.001, 0.5
	tasks = l.tasks(n)
	for i := range tasks {
		unit := tasks[i].Ref.Unit
		tasks[i].Done = func() (bool, error) {
			_, err := os.Stat(filepath.Join(dir, "done-"+unit))
			return err == nil, nil
		}
	}
	return l, dir, tasks
}

// TestJobsOfCommands has six units in two jobs of an engine, which end in some way.
func TestJobsOfCommands(t *testing.T) {
	const once = "[ -e once ] || { touch once; "
	submits := func(text string) func(*Settings) { return func(c *Settings) { c.Submit = text } }
	named := func(c *Settings) { c.Submit += " {name} >/dev/null" }
	for _, test := range []struct {
		name, script string
		change       func(*Settings)
		jobs         int
		err          string // "": all units are done
		said         string // once
	}{
		{"well", manifests, nil, 2, "", "3 units in 1 element submitted as job j0"},
		{"jobs by name", manifests, named, 2, "", "-s-1, "},
		{"a failure, then well", once + "exit 3; }\n" + manifests, nil, 5, "", ""}, // its three units by themselves
		{"failures", "exit 3", nil, 14, "failed 3 times, the last time: job ", ""},
		{"done without manifests", "exit 0", nil, 14, "ended without it: there is no manifest; its log is ", ""},
		{"lost, then well", once + "echo LOST >jobs/$job; exit 1; }\n" + manifests, nil, 5, "", ""},
		{"lost", "echo LOST >jobs/$job", nil, 14, "is gone: the cluster does not list it", ""},
		{"an engine that is down", once + "touch down; exit 3; }\n" + manifests, nil, 5, "", "; waiting until jobs are taken"},
		{"a queue that is away", once + "touch away; echo active >jobs/$job; (sleep 0.3;" + manifests + "echo done >jobs/$job) & exit 0; }\n" + manifests, nil, 2, "", "; asking on"},
		{"a state that is not known", once + "echo odd >jobs/$job; (until [ -e listed-odd ]; do sleep 0.05; done; echo done >jobs/$job) & }\n" + manifests, nil, 2, "", `the state "odd", which counts as running`},
		{"a submit that fails", "", submits("echo no >&2; false {command}"), 0, "submit its job: executor.submit failed: bash: exit status 1: no", ""},
		{"a submit that prints nothing", "", submits(": {command}"), 0, `executor.submit printed "" last, which is no id of a job`, ""},
		{"a submit that prints words", "", submits("echo job 7 {command}"), 0, "which is no id of a job", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, dir, tasks := engineLab(t, test.script, 6)
			if test.change != nil {
				test.change(&l.settings)
			}
			got := l.execute(t.Context(), tasks)
			for _, err := range got {
				says(t, err, test.err)
			}
			if jobs, _ := os.ReadDir(filepath.Join(dir, "jobs")); len(got) != 6 || len(jobs) != test.jobs {
				t.Errorf("%d units, %d jobs, want %d", len(got), len(jobs), test.jobs)
			}
			if left, _ := os.ReadDir(l.settings.Folder); test.jobs == 0 && len(left) > 0 {
				t.Errorf("there is no job, and it leaves %v", left)
			}
			if said := strings.Join(l.said, "\n"); test.said != "" && strings.Count(said, test.said) != 1 {
				t.Errorf("it said\n%s\nwant %q once", said, test.said)
			}
		})
	}
}

func TestJobsOfCommandsAtATime(t *testing.T) {
	for throttle, want := range []bool{true, false} {
		l, dir, tasks := engineLab(t, manifests, 6)
		l.settings.Throttle = throttle
		l.wantDone(l.execute(t.Context(), tasks), 6)
		_, err := os.Stat(filepath.Join(dir, "together"))
		same(t, "jobs wait together", err == nil, want)
	}
}

// TestAnInterruptedEngine interrupts a run twice: its jobs are cancelled. After one
// interrupt the next run, whatever its own executor, finds them.
func TestAnInterruptedEngine(t *testing.T) {
	for _, twice := range []bool{true, false} {
		l, dir, tasks := engineLab(t, "echo RUNNING >jobs/$job; echo on >>jobs/$job", 6)
		ctx, cancel := context.WithCancel(t.Context())
		report := l.settings.Report
		l.settings.Report = func(text string) {
			report(text)
			if strings.Contains(text, "submitted") {
				close(l.drain)
				if twice {
					cancel()
				}
			}
		}
		for unit, err := range l.execute(ctx, tasks) {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, dag.ErrDrained) {
				t.Errorf("%s ended with %v", unit, err)
			}
		}
		cancel()
		state, _ := os.ReadFile(filepath.Join(dir, "jobs", "j0"))
		if jobs, _ := os.ReadDir(filepath.Join(dir, "jobs")); len(jobs) != 1 || strings.HasPrefix(string(state), "CANCELLED") != twice {
			t.Errorf("interrupted twice: %v: %d jobs, the state %q", twice, len(jobs), state)
		}
		same(t, "the next run may begin", l.place() == nil, twice)
	}
}

func TestCommandsThatCannotRun(t *testing.T) {
	for _, test := range []struct{ submit, status, cancel, want string }{
		{"no-such-program {command}", "true", "true {jobs}", "executor.submit cannot be run: no-such-program is not there"},
		{"true {command}", "if true", "true {jobs}", "executor.status cannot be run: bash: exit status 2"},
		{"A=b true {command}", "for i in 1; do :; done", "true '{jobs}", "executor.cancel cannot be run"},
	} {
		l := newLab(t)
		l.settings.Run, l.settings.Kind = Run(os.Environ(), time.Minute), config.ExecutorCommand
		l.settings.Submit, l.settings.Status, l.settings.Cancel = test.submit, test.status, test.cancel
		l.refuses(test.want)
	}
}

// TestCommandsThatHang has a child of a command hold a pipe, which ends with the child.
func TestCommandsThatHang(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	says(t, syscall.Mkfifo(pipe, 0o600), "")
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pipe)
		ended <- err
	}()
	_, err := Run(os.Environ(), 50*time.Millisecond)(t.Context(), "bash", "-c", "exec 3>"+pipe+"; sleep 600 & wait")
	says(t, err, "bash: it has not ended after 50ms")
	if file, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // it ended before it had the pipe
		file.Close()
	}
	select {
	case err := <-ended:
		same(t, "the end of its child", err, nil)
	case <-time.After(time.Minute):
		t.Error("its child goes on")
	}
}
