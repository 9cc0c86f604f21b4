// Package process reads the resource usage of this process, and forwards the signals
// that ask it to end.
package process

import "syscall"

// Usage is the resource usage of a process so far.
type Usage struct {
	CPUSeconds float64 // user and system
	PeakBytes  int64   // largest resident set
}

// Used returns the usage of this process so far.
func Used() Usage { return of(syscall.RUSAGE_SELF) }

// of reads the usage of the process, or of a part of it.
func of(who int) Usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		return Usage{} // cannot happen: who is a constant that the system knows
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return Usage{
		CPUSeconds: seconds(r.Utime) + seconds(r.Stime),
		PeakBytes:  int64(r.Maxrss) * maxRSSUnit,
	}
}
