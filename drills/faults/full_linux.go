package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	undisturbed "speceval/drills/lab"
)

// diskMiB is the size of the disk that is filled.
const diskMiB = 64

// full fills the disk in the middle of stages, and makes room again.
func (l *lab) full(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(l.seed, "full")
	stages := undisturbed.Stages
	if l.small {
		stages = []string{"generate", "replay", "report"}
	}
	for _, stage := range stages {
		if err := l.fullIn(ctx, t, stage, moments); err != nil {
			return fmt.Errorf("%s: %w", stage, err)
		}
		t.injured("%s 1", stage)
	}
	return nil
}

// fullIn fills the disk in the middle of a stage.
func (l *lab) fullIn(ctx context.Context, t *trial, stage string, moments *undisturbed.Moments) (err error) {
	disk := l.path("disk-" + stage)
	if err := os.Mkdir(disk, 0o777); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm", diskMiB)); err != nil {
		return skipped(fmt.Sprintf("no small file system can be mounted here (%v): that needs root", err))
	}
	defer func() { err = errors.Join(err, syscall.Unmount(disk, syscall.MNT_DETACH)) }()
	out, err := l.copied(filepath.Join("disk-"+stage, "out"), stage)
	if err != nil {
		return err
	}
	filler := filepath.Join(disk, "filler")
	room, err := stageBytes(l.undisturbed(), stage)
	if err != nil {
		return err
	}
	for free := int64(moments.Fraction() * float64(room)); ; free /= 2 {
		if err := fill(disk, filler, free); err != nil {
			return err
		}
		c, err := l.start(out, "run")
		if err != nil {
			return err
		}
		if err := c.Wait(ctx); err != nil {
			c.Kill()
			return err
		}
		if c.Code() == 0 && free > 0 {
			if err := errors.Join(os.Remove(filler), undisturbed.Forget(out, stage)); err != nil {
				return err
			}
			continue // it was enough
		}
		if err := told(c, out, "no space left on device", "free some space and run again"); err != nil {
			return fmt.Errorf("with %d bytes: %w", free, err)
		}
		break
	}
	left, err := undisturbed.Leftovers(out)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left over: %v", left)
	}
	if err := errors.Join(err, whole(out), os.Remove(filler)); err != nil {
		return err
	}
	return l.finish(ctx, t, out)
}

// stageBytes is the size of the outputs of a stage.
func stageBytes(out, stage string) (n int64, err error) {
	units, err := undisturbed.Units(out, stage)
	for _, m := range units {
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
