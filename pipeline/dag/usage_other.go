//go:build !linux

package dag

import "runtime"

// threadSeconds is zero where a thread's CPU time cannot be read.
func threadSeconds() float64 { return 0 }

// maxRSSUnit turns ru_maxrss into bytes: Darwin counts bytes, others KiB.
var maxRSSUnit = map[bool]int64{true: 1, false: 1 << 10}[runtime.GOOS == "darwin"]
