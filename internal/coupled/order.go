package coupled

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Ranks is the order in which tasks of equal priority are speculated on: by the
// SHA-256 of "prefetch-order|<master seed>|<task id>", so that it favours no
// place in the benchmark. Ranks[i] is the place of task i, from 0.
func Ranks(tasks []string, seed uint64) []int {
	hashes := make([][sha256.Size]byte, len(tasks))
	order := make([]int, len(tasks))
	for i, task := range tasks {
		hashes[i] = sha256.Sum256(fmt.Appendf(nil, "prefetch-order|%d|%s", seed, task))
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare(hashes[a][:], hashes[b][:]) })
	ranks := make([]int, len(tasks))
	for rank, task := range order {
		ranks[task] = rank
	}
	return ranks
}
