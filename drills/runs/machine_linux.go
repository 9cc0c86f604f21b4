package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"speceval/drills/lab"
)

// forbid makes a folder read-only until lift is called.
func forbid(dir string) (lift func() error, err error) {
	if os.Getuid() != 0 {
		return forbidByMode(dir)
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		return nil, skipped(fmt.Sprintf("no folder can be mounted read-only here: %v", err))
	}
	lift = func() error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return nil, errors.Join(err, lift())
	}
	return lift, nil
}

// clockSet sets the clock of this machine back and forth by minutes during a run, and
// to the right time at the end.
func (s *site) clockSet(ctx context.Context, t *trial) (err error) {
	if os.Getuid() != 0 {
		return skipped("the clock is for root to set")
	}
	out, err := s.copied("clock", "generate")
	if err != nil {
		return err
	}
	start := time.Now() // with the monotonic clock, which cannot be set
	set := func(ahead time.Duration) error {
		now := syscall.NsecToTimeval(start.UnixNano() + int64(time.Since(start)+ahead))
		return syscall.Settimeofday(&now)
	}
	jumps := []time.Duration{-5 * time.Minute, 7 * time.Minute, 0, -time.Hour}
	n, err := s.during(ctx, out, 200*time.Millisecond, func(round int) error { return set(jumps[round%len(jumps)]) })
	if err := errors.Join(err, set(0)); err != nil {
		return err
	}
	t.injured("%d jumps", n)
	return s.finish(ctx, t, out)
}

// diskMiB is the size of the disk that is filled.
const diskMiB = 64

// full fills the disk in the middle of stages, and makes room again.
func (s *site) full(ctx context.Context, t *trial) error {
	moments := s.Moments("full")
	stages := lab.Stages
	if s.Small {
		stages = []string{"generate", "replay", "report"}
	}
	for _, stage := range stages {
		if err := s.fullIn(ctx, t, stage, moments); err != nil {
			return fmt.Errorf("%s: %w", stage, err)
		}
		t.injured("%s 1", stage)
	}
	return nil
}

// fullIn fills the disk in the middle of a stage.
func (s *site) fullIn(ctx context.Context, t *trial, stage string, moments *lab.Moments) (err error) {
	disk := s.Path("disk-" + stage)
	if err := os.Mkdir(disk, 0o777); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm", diskMiB)); err != nil {
		return skipped(fmt.Sprintf("no small file system can be mounted here (%v): that needs root", err))
	}
	defer func() { err = errors.Join(err, syscall.Unmount(disk, syscall.MNT_DETACH)) }()
	out, err := s.copied(filepath.Join("disk-"+stage, "out"), stage)
	if err != nil {
		return err
	}
	filler := filepath.Join(disk, "filler")
	room, err := stageBytes(s.undisturbed(), stage)
	if err != nil {
		return err
	}
	for free := int64(moments.Fraction() * float64(room)); ; free /= 2 {
		if err := fill(disk, filler, free); err != nil {
			return err
		}
		p, err := s.start(out, "run")
		if err != nil {
			return err
		}
		err = p.Wait(ctx)
		p.Kill()
		if err != nil {
			return err
		}
		if p.Code() == 0 && free > 0 { // it was enough
			if err := errors.Join(os.Remove(filler), lab.Forget(out, stage)); err != nil {
				return err
			}
			continue
		}
		if err := says(p, 1, "no space left on device", "free some space and run again", out+"/"); err != nil {
			return fmt.Errorf("with %d bytes: %w", free, err)
		}
		break
	}
	if err := errors.Join(clean(out), whole(out), os.Remove(filler)); err != nil {
		return err
	}
	return s.finish(ctx, t, out)
}

// stageBytes is the size of the outputs of a stage.
func stageBytes(out, stage string) (n int64, err error) {
	all, err := lab.Units(out, stage)
	for _, m := range all {
		for _, f := range m.Outputs {
			info, missing := os.Stat(filepath.Join(out, filepath.FromSlash(f.Path)))
			if missing != nil {
				return 0, missing
			}
			n += info.Size()
		}
	}
	return n, err
}

// fill leaves so many bytes of a disk free.
func fill(disk, filler string, free int64) error {
	var now syscall.Statfs_t
	if err := syscall.Statfs(disk, &now); err != nil {
		return err
	}
	return os.WriteFile(filler, make([]byte, max(0, int64(now.Bavail)*now.Bsize-free)), 0o666)
}
