package dag

import (
	"os"
)

// stamp is what a file system says of a file without its being read. Every
// write, truncation, rename and change of its times gives another one, if the
// clock of the file system has moved since the last.
type stamp struct {
	size     int64  // bytes
	modified int64  // nanoseconds since 1970; a program may set it back
	changed  int64  // likewise, of the last change of content, name or times; none may set it
	inode    uint64 // 0: no stamp
}

// coherence is how a file system can be asked for stamps that hold.
type coherence int

const (
	untrusted coherence = iota // not at all
	opened                     // of open files: what other machines did is seen then
	stated                     // by name
)

// stampAt is the stamp of the file at path; false if there is none to be had.
func (c coherence) stampAt(path string) (stamp, bool) {
	switch c {
	case stated:
		return statStamp(path)
	case opened:
		f, err := os.Open(path)
		if err != nil {
			return stamp{}, false
		}
		defer f.Close()
		return openStamp(f)
	}
	return stamp{}, false
}

// openStamp is the stamp of an open file.
func openStamp(f *os.File) (stamp, bool) {
	info, err := f.Stat()
	if err != nil || info.Mode().Type() != 0 {
		return stamp{}, false
	}
	return infoStamp(info)
}
