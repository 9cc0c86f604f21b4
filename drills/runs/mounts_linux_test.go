//go:build drill

package runs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"speceval/drills/drill"
)

// forbid makes a folder read-only until lift is called.
func (s *site) forbid(dir string) (lift func()) {
	if os.Getuid() != 0 {
		return s.forbidByMode(dir)
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		s.Missing("no folder can be mounted read-only here: %v", err)
	}
	s.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) }) // again, if it was lifted
	s.OK(syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	return func() { s.OK(syscall.Unmount(dir, syscall.MNT_DETACH)) }
}

// clockSet sets the clock of this machine back and forth by minutes during a run, and
// to the right time at the end.
func (s *site) clockSet(t *trial) {
	if os.Getuid() != 0 {
		s.Missing("the clock is for root to set")
	}
	out := s.copied("clock", "generate")
	start := time.Now() // with the monotonic clock, which cannot be set
	set := func(ahead time.Duration) error {
		now := syscall.NsecToTimeval(start.UnixNano() + int64(time.Since(start)+ahead))
		return syscall.Settimeofday(&now)
	}
	defer set(0) // whatever fails
	jumps := []time.Duration{-5 * time.Minute, 7 * time.Minute, 0, -time.Hour}
	n := s.during(out, 200*time.Millisecond, func(round int) { s.OK(set(jumps[round%len(jumps)])) })
	s.OK(set(0))
	t.injured("%d jumps", n)
	s.finish(t, out)
}

// diskMiB is the size of the disk that is filled.
const diskMiB = 64

// full fills the disk in the middle of stages, and makes room again.
func (s *site) full(t *trial) {
	moments := drill.NewMoments("full")
	stages := drill.Stages
	if s.Small {
		stages = []string{"generate", "replay", "report"}
	}
	for _, stage := range stages {
		s.fullIn(t, stage, moments)
		t.injured("%s 1", stage)
	}
}

// fullIn fills the disk in the middle of a stage.
func (s *site) fullIn(t *trial, stage string, moments *drill.Moments) {
	disk := s.Path("disk-" + stage)
	s.OK(os.Mkdir(disk, 0o777))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm", diskMiB)); err != nil {
		s.Missing("no small file system can be mounted here (%v): that needs root", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	out := s.copied(filepath.Join("disk-"+stage, "out"), stage)
	filler := filepath.Join(disk, "filler")
	for free := int64(moments.Fraction() * float64(s.stageBytes(stage))); ; free /= 2 {
		s.fill(disk, filler, free)
		p := s.start(out, "run")
		p.Wait()
		if p.Code() == 0 && free > 0 { // it was enough
			s.OK(os.Remove(filler))
			s.Forget(out, stage)
			continue
		}
		p.Says(1, "no space left on device", "free some space and run again", out+"/")
		break
	}
	s.Clean(out)
	s.Whole(out)
	s.OK(os.Remove(filler))
	s.finish(t, out)
}

// stageBytes is the size of the undisturbed outputs of a stage.
func (s *site) stageBytes(stage string) (n int64) {
	for _, m := range s.Units(s.undisturbed(), stage) {
		for _, f := range m.Outputs {
			info, err := os.Stat(filepath.Join(s.undisturbed(), filepath.FromSlash(f.Path)))
			s.OK(err)
			n += info.Size()
		}
	}
	return n
}

// fill leaves so many bytes of a disk free.
func (s *site) fill(disk, filler string, free int64) {
	var now syscall.Statfs_t
	s.OK(syscall.Statfs(disk, &now))
	s.OK(os.WriteFile(filler, make([]byte, max(0, int64(now.Bavail)*now.Bsize-free)), 0o666))
}
