package dag

import (
	"os"
	"syscall"
)

// nextMark ends the name of the index while it is being written.
const nextMark = ".new"

// start begins the index to come, if this process may write it and no other is
// about to. That file tells the time of the file system.
func (x *index) start() {
	path := x.path + nextMark
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return // a folder to read, and no more
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !stands(file, path) {
		file.Close()
		return
	}
	if _, err := file.WriteAt([]byte{'\n'}, 0); err != nil {
		file.Close()
		return
	}
	at, ok := openStamp(file)
	if !ok {
		file.Close()
		return
	}
	x.next, x.since = file, at.changed
}

// write puts the index that follows from the scan in the place of the one that
// is there, if there is news. That it cannot is no fault: files are read again
// then. Nor is it synced: what a crash of the machine leaves has a wrong sum.
func (x *index) write() {
	if x == nil || x.next == nil || !x.news.Load() {
		return
	}
	var p packer
	for i := range x.graph.nodes {
		s := x.found[i]
		if s == nil {
			known := x.recall(i)
			s = &known
		}
		if s.manifest == nil {
			continue
		}
		if err := p.add(x.graph.ref(i), *s); err != nil {
			return
		}
	}
	data := p.file()
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

// drop gives up the index to come, if it was begun and not written.
func (x *index) drop() {
	if x == nil || x.next == nil {
		return
	}
	os.Remove(x.next.Name())
	x.next.Close()
	x.next = nil
}
