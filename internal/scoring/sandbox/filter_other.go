//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
)

// filter fails, and nothing is run.
func filter(bool) ([]byte, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("sandbox: programs run behind bubblewrap, which is for Linux only")
	}
	return nil, fmt.Errorf("sandbox: there is no filter of system calls for %s: only for amd64 and arm64", runtime.GOARCH)
}
