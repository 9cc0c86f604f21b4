//go:build drill

package runs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"speceval/drills/drill"
)

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
	if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk).CombinedOutput(); err != nil {
		s.Missing("no small file system can be mounted here (%v): that needs root", fmt.Errorf("%w: %s", err, said))
	}
	s.Cleanup(func() { exec.Command("umount", "--lazy", disk).Run() })
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
