package process

// rusageThread is RUSAGE_THREAD of Linux, which package syscall does not name.
const rusageThread = 1

// ThreadSeconds is the CPU time of the calling thread, in seconds. The rest
// of the process does not count: not other threads, nor the garbage collector's,
// nor goroutines that the caller starts.
func ThreadSeconds() float64 {
	return of(rusageThread).CPUSeconds
}

// maxRSSUnit turns ru_maxrss into bytes.
const maxRSSUnit = 1 << 10
