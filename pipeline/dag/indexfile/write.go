package indexfile

import (
	"os"
	"syscall"
)

// nextMark ends the name of an index file that is being written.
const nextMark = ".new"

// start makes the next index file, if this process may write it and no other is
// writing one. That file tells the time of the file system.
func (x *Index[M]) start() {
	file, err := os.OpenFile(x.path+nextMark, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return // the folder cannot be written
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && inPlace(file) {
		if _, err := file.WriteAt([]byte{'\n'}, 0); err == nil {
			if at, ok := openStamp(file); ok {
				x.next, x.since = file, at.changed
				return
			}
		}
	}
	file.Close()
}

// inPlace reports whether an open file is still the one of its name: another process
// may have renamed or removed it before it was locked.
func inPlace(file *os.File) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(file.Name())
	return err == nil && os.SameFile(open, named)
}

// Write replaces the index file, if the scan has found news. That it cannot is no
// error: the files are read again then. The file is not synced: what a crash of the
// machine leaves has a wrong checksum.
func (x *Index[M]) Write() {
	if x == nil || x.next == nil || !x.news.Load() {
		return
	}
	var p Packer
	for i, s := range x.found {
		if s == nil {
			known := x.recall(i)
			s = &known
		}
		if s.manifest != nil && x.add(&p, i, s) != nil {
			return
		}
	}
	data := p.file(x.head)
	if x.next.Truncate(0) != nil {
		return
	}
	if _, err := x.next.WriteAt(data, 0); err != nil {
		return
	}
	if os.Rename(x.next.Name(), x.path) == nil {
		x.next.Close()
		x.next = nil
	}
}

// Close removes the next index file, if there is one that has not replaced the last.
func (x *Index[M]) Close() {
	if x == nil || x.next == nil {
		return
	}
	os.Remove(x.next.Name())
	x.next.Close()
	x.next = nil
}
