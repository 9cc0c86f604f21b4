package launcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// AvailableMemory reads from the text of /proc/meminfo how many bytes new
// processes can have without swapping.
func AvailableMemory(meminfo string) (int64, error) {
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "MemAvailable:" && words[2] == "kB" {
			kib, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil || kib < 0 {
				return 0, fmt.Errorf("MemAvailable of %q kB", words[1])
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}
