//go:build drill && !linux

package runs_test

import "os"

func (s *site) full(*trial) { s.Missing("small file systems are mounted on Linux alone") }

// forbid makes a folder read-only until lift is called.
func (s *site) forbid(dir string) (lift func()) {
	if os.Getuid() == 0 {
		s.Missing("root may write in any folder")
	}
	return s.forbidByMode(dir)
}

func (s *site) clockSet(*trial) { s.Missing("the clock is set on Linux alone") }
