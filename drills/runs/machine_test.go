//go:build drill

package runs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// locks leaves the text of a lock that no process holds, and then lets a stopped run
// hold one until it is killed.
func (s *site) locks(t *trial) {
	out := s.copied("locks", "report")
	lock := filepath.Join(out, ".lock")
	s.Write(lock, []byte("pid 1 on elsewhere, 2026-01-01T00:00:00Z: speceval run\n"))
	s.do(out, 0, "run")
	holder := s.start(out, "run", "replay", "--force")
	pid := ""
	holder.Until(func() bool {
		text := string(s.Read(lock))
		pid, _, _ = strings.Cut(strings.TrimPrefix(text, "pid "), " ")
		return text != ""
	})
	s.OK(holder.Signal(syscall.SIGSTOP))
	s.do(out, 1, "run").Says(1, "another run is writing in "+out, "pid "+pid+" on ", "run replay --force", "wait until it ends")
	if holder.Gone() {
		s.Fatal("the stopped run has ended")
	}
	holder.Kill()
	t.injured("stale 1, held 1")
	s.finish(t, out)
}

// far are times that no run can have: of the past and of the future.
var far = []time.Time{
	time.Date(1971, 1, 2, 3, 4, 5, 6, time.UTC),
	time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC),
}

// times sets the times of all files, which must make nothing stale, and then sets them
// during a run.
func (s *site) times(t *trial) {
	defer s.date(time.Now(), s.experiment.inputs()...)
	out := s.copied("times")
	for _, when := range far {
		s.date(when, append(s.experiment.inputs(), out)...)
		s.do(out, 0, "status", "--check")
	}
	s.finish(t, out)
	out = s.copied("times-during", "generate")
	rounds := s.during(out, 5*time.Millisecond, func(round int) {
		s.date(far[round%len(far)], append(s.experiment.inputs(), out)...)
	})
	t.injured("all files %d times", rounds+len(far))
	s.finish(t, out)
}

// during does something over and over during a run, which must end well, and counts
// how often it was done.
func (s *site) during(out string, every time.Duration, do func(round int)) (rounds int) {
	p := s.start(out, "run")
	for ; !p.Gone(); rounds++ {
		do(rounds)
		select {
		case <-p.Ended():
		case <-time.After(every):
		case <-s.Ctx.Done():
			s.OK(s.Ctx.Err())
		}
	}
	p.Says(0)
	return rounds
}

// date sets the times of files, and of all files in folders.
func (s *site) date(when time.Time, roots ...string) {
	for _, root := range roots {
		s.OK(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Chtimes(path, when, when)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it was just renamed or removed
			}
			return err
		}))
	}
}

// edit replaces words in a file.
type edit struct{ path, old, new string }

// edits edits what a run reads while it is under way. The run counts with what it has
// read: the configuration and the tasks, which it reads at its beginning, and tests,
// which it reads when their task is scored and which must not have changed since its
// beginning.
func (s *site) edits(t *trial) {
	e := s.experiment
	out := s.edited("edited", []edit{
		{e.config, "seed = 42", "seed = 43"},
		{e.config, "resamples = 16", "resamples = 17"},
		{e.sums, ",20,math", ",21,math"},
		{e.sums, "How much is", "What is"},
		{e.mixed, `"answer":"99242"`, `"answer":"1"`},
	}, 0, "")
	s.compare(t, out) // nothing is stale, and nothing is to be run
	out = s.edited("edited-tests", []edit{{e.tests, `"output":"`, `"output":"1`}}, 1, "was changed while this ran: run again")
	t.injured("configuration 2, tasks 3, tests 1")
	s.finish(t, out)
}

// edited edits files during a run, which must end with this exit code and print these
// words. With the new files results are stale; in the end the files are the old ones.
func (s *site) edited(name string, all []edit, code int, words string) (out string) {
	out = s.copied(name, "generate")
	p := s.start(out, "run")
	p.Until(func() bool { return s.journal(filepath.Join(out, "scratch", "generate"), 1) != "" })
	before := make(map[string][]byte)
	defer func() {
		for path, text := range before {
			s.Write(path, text)
		}
	}()
	for _, e := range all {
		text := s.Read(e.path)
		if before[e.path] == nil {
			before[e.path] = text
		}
		edited := bytes.ReplaceAll(text, []byte(e.old), []byte(e.new))
		if bytes.Equal(edited, text) {
			s.Fatalf("%s has no %q", e.path, e.old)
		}
		s.Write(e.path, edited)
	}
	p.Wait()
	p.Says(code, words)
	s.do(out, 3, "status", "--check")
	return out
}

// readOnly makes the output folder read-only: by a mount as root, and by permissions
// otherwise.
func (s *site) readOnly(t *trial) {
	out := s.copied("readonly", "report")
	lift := s.forbid(out)
	before := s.contents(out)
	s.do(out, 1, "run").Says(1, "choose another output folder", out+"/")
	s.do(out, 3, "status", "--check")
	after := s.contents(out)
	lift()
	if before != after {
		s.Fatal("something has changed in a read-only folder")
	}
	t.injured("1")
	s.finish(t, out)
}

// forbidByMode makes a folder read-only, by permissions, until lift is called.
func (s *site) forbidByMode(dir string) (lift func()) {
	set := func(mode fs.FileMode) {
		s.OK(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			return os.Chmod(path, mode)
		}))
	}
	set(0o555)
	s.Cleanup(func() { set(0o755) })
	return func() { set(0o755) }
}

// contents is a digest of the names and contents of all files in a folder.
func (s *site) contents(dir string) string {
	h := sha256.New()
	for _, path := range s.Walk(dir) {
		text := s.Read(path)
		fmt.Fprintf(h, "%s %d %x\n", path, len(text), sha256.Sum256(text))
	}
	return hex.EncodeToString(h.Sum(nil))
}
