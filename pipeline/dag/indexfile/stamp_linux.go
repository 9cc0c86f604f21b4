package indexfile

import (
	"io/fs"
	"syscall"
)

// statStamp is the stamp of the plain file at path.
func statStamp(path string) (stamp, bool) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	for err == syscall.EINTR {
		err = syscall.Stat(path, &st)
	}
	if err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return stamp{}, false
	}
	return sysStamp(&st), true
}

// infoStamp is the stamp in what the system reports of a file.
func infoStamp(info fs.FileInfo) (stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return sysStamp(st), true
}

func sysStamp(st *syscall.Stat_t) stamp {
	return stamp{size: st.Size, modified: st.Mtim.Nano(), changed: st.Ctim.Nano(), inode: st.Ino}
}

// trustIn is that in the file system of a folder. A file system that is not known to
// keep the times of changes is not trusted.
func trustIn(dir string) trust {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return untrusted
	}
	switch uint32(fs.Type) {
	case 0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630: // ext, XFS, Btrfs, F2FS, ZFS, tmpfs, overlay
		return stated
	case 0x6969, 0x0bd00bd0, 0x47504653, 0x00c36400, 0x19830326: // NFS, Lustre, GPFS, Ceph, BeeGFS
		return opened
	}
	return untrusted
}
