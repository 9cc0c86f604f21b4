package indexfile

import "os"

// stamp is what a file system reports of a file that is not read. Every write,
// truncation, rename and change of its times gives another stamp, if the clock of
// the file system has moved since the last.
type stamp struct {
	size     int64  // bytes
	modified int64  // nanoseconds since 1970; a program may set it back
	changed  int64  // likewise, of the last change of content, name or times; no program can set it
	inode    uint64 // 0: no stamp
}

// trust is how a file system reports stamps that can be relied on.
type trust int

const (
	untrusted trust = iota // not at all
	opened                 // of open files: what other machines did is seen then
	stated                 // by name
)

// stampAt is the stamp of the file at path; false if there is none.
func (t trust) stampAt(path string) (stamp, bool) {
	switch t {
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
