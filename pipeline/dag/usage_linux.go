package dag

// rusageThread is RUSAGE_THREAD of Linux, which package syscall does not name.
const rusageThread = 1

// threadSeconds is the CPU time of the calling thread, in seconds. The rest
// of the process does not count: not the units beside it, nor the garbage
// collector's own threads, nor goroutines that the unit starts.
func threadSeconds() float64 {
	return usage(rusageThread).CPUSeconds
}

// maxRSSUnit turns ru_maxrss into bytes.
const maxRSSUnit = 1 << 10
