//go:build !linux

package runs

import (
	"context"
	"os"
)

// full cannot be done here.
func (s *site) full(context.Context, *trial) error {
	return skipped("small file systems are mounted on Linux alone")
}

// forbid makes a folder read-only until lift is called.
func forbid(dir string) (lift func() error, err error) {
	if os.Getuid() == 0 {
		return nil, skipped("root may write in any folder")
	}
	return forbidByMode(dir)
}

// clockSet cannot be done here.
func (s *site) clockSet(context.Context, *trial) error {
	return skipped("the clock is set on Linux alone")
}
