//go:build !linux

package main

import (
	"context"
	"os"
)

// full cannot be done here.
func (l *lab) full(context.Context, *trial) error {
	return skipped("small file systems are mounted on Linux alone")
}

// forbid makes a folder read-only until lift is called.
func forbid(dir string) (lift func() error, err error) {
	if os.Getuid() == 0 {
		return nil, skipped("root may write in any folder")
	}
	return func() error { return modes(dir, 0o755) }, modes(dir, 0o555)
}

// clockSet cannot be done here.
func (l *lab) clockSet(context.Context, *trial) error {
	return skipped("the clock is set on Linux alone")
}
