//go:build drill

package runs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"speceval/drills/drill"
)

// edit replaces words in a file.
type edit struct{ path, old, new string }

// edits edits what a run reads while it is under way. The run counts with what it has
// read: the configuration and the tasks, which it reads at its beginning, and tests,
// which it reads when their task is scored and which must not have changed since its
// beginning.
func (s *site) edits() {
	out := s.edited("edited", []edit{
		{s.config, "seed = 42", "seed = 43"},
		{s.config, "resamples = 16", "resamples = 17"},
		{s.Path(sums), ",20,math", ",21,math"},
		{s.Path(sums), "How much is", "What is"},
		{s.Path(mixed), `"answer":"99242"`, `"answer":"1"`},
	}, 0, "")
	s.compare(out) // nothing is stale, and nothing is to be run
	out = s.edited("edited-tests", []edit{{s.Path(tests), `"output":"`, `"output":"1`}}, 1, "was changed while this ran: run again")
	s.finish(out)
}

// edited edits files during a run, which must end with this exit code and print these
// words. With the new files results are stale; in the end the files are the old ones.
func (s *site) edited(name string, all []edit, code int, words string) (out string) {
	out = s.copied(name, "generate")
	p := s.start(out, "run")
	p.Until(func() bool { return s.journal(filepath.Join(out, "scratch", "generate"), 1) != "" })
	for _, path := range s.inputs() {
		defer s.Write(path, s.Read(path))
	}
	for _, e := range all {
		text := s.Read(e.path)
		edited := bytes.ReplaceAll(text, []byte(e.old), []byte(e.new))
		if bytes.Equal(edited, text) {
			s.Fatalf("%s has no %q", e.path, e.old)
		}
		s.Write(e.path, edited)
	}
	p.Wait()
	p.Says(code, words)
	s.do(out, 3, "status --check")
	return out
}

// mount mounts something on a folder, the last word, until the test ends.
func (s *site) mount(words ...string) error {
	if out, err := exec.Command("mount", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	s.Cleanup(func() { unmount(words[len(words)-1]) })
	return nil
}

func unmount(folder string) error { return exec.Command("umount", "--lazy", folder).Run() }

// readOnly makes the output folder read-only, by a mount.
func (s *site) readOnly() {
	out := s.copied("readonly", "report")
	if err := s.mount("--bind", out, out); err != nil {
		s.Missing("no folder can be mounted read-only here (%v): that needs root", err)
	}
	s.OK(s.mount("-o", "remount,bind,ro", out))
	before := len(s.Walk(out))
	s.do(out, 1, "run", "choose another output folder", out+"/")
	s.do(out, 3, "status --check")
	if len(s.Walk(out)) != before {
		s.Fatal("something has changed in a read-only folder")
	}
	s.OK(unmount(out))
	s.finish(out)
}

// full fills the disk in the middle of stages, and makes room again.
func (s *site) full() {
	moments := drill.NewMoments("full")
	stages := drill.Stages
	if s.Small {
		stages = []string{"generate", "replay", "report"}
	}
	for _, stage := range stages {
		s.fullIn(stage, moments)
	}
}

// fullIn fills the disk in the middle of a stage.
func (s *site) fullIn(stage string, moments *drill.Moments) {
	disk := s.Path("disk-" + stage)
	s.OK(os.Mkdir(disk, 0o777))
	if err := s.mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", disk); err != nil {
		s.Missing("no small file system can be mounted here (%v): that needs root", err)
	}
	out := s.copied(filepath.Join("disk-"+stage, "out"), stage)
	filler := filepath.Join(disk, "filler")
	for free := int64(moments.Fraction() * float64(s.bytesOf(stage))); ; free /= 2 {
		var now syscall.Statfs_t
		s.OK(syscall.Statfs(disk, &now))
		room := int64(now.Bavail) * int64(now.Bsize)
		s.Write(filler, make([]byte, max(0, room-free)))
		p := s.start(out, "run")
		if p.Wait(); p.Code() != 0 || free == 0 {
			p.Says(1, "no space left on device", "free some space and run again", out+"/")
			s.Logf("%s with %d bytes", stage, free)
			break
		}
		s.OK(os.Remove(filler)) // it was enough
		s.Forget(out, stage)
	}
	s.Clean(out)
	s.Whole(out)
	s.OK(os.Remove(filler))
	s.finish(out)
}

// bytesOf is the size of the undisturbed outputs of a stage.
func (s *site) bytesOf(stage string) (n int64) {
	for _, m := range s.Units(s.undisturbed(), stage) {
		for _, f := range m.Outputs {
			info, err := os.Stat(filepath.Join(s.undisturbed(), filepath.FromSlash(f.Path)))
			n += drill.Must(s.Lab, info, err).Size()
		}
	}
	return n
}
