package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// forbid makes a folder read-only until lift is called.
func forbid(dir string) (lift func() error, err error) {
	if os.Getuid() != 0 {
		return func() error { return modes(dir, 0o755) }, modes(dir, 0o555)
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
