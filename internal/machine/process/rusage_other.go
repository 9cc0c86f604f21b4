//go:build !linux

package process

import "runtime"

// ThreadSeconds is zero where a thread's CPU time cannot be read.
func ThreadSeconds() float64 { return 0 }

// maxRSSUnit turns ru_maxrss into bytes: Darwin counts bytes, others KiB.
var maxRSSUnit = map[bool]int64{true: 1, false: 1 << 10}[runtime.GOOS == "darwin"]
