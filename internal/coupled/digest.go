package coupled

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/method/controller"
)

// AllocationDigest is the SHA-256 of an allocation by task, in hex: of the
// compact JSON object of task ids and continuations, keys sorted by code
// point, text escaped no more than it must be (RFC 8785). Two executions of a
// setting that allocate the same have the same digest.
func AllocationDigest(tasks []string, allocation []int) string {
	order := make([]int, len(tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tasks[a], tasks[b]) }) // of UTF-8, the order of code points
	text := []byte{'{'}
	for _, i := range order {
		text = appendQuoted(comma(text), tasks[i])
		text = append(text, ':')
		text = strconv.AppendInt(text, int64(allocation[i]), 10)
	}
	return digest(append(text, '}'))
}

// Outcome is an accepted rollout and its reward.
type Outcome struct {
	ID     controller.ID
	Passed bool
}

// AcceptedDigest is the SHA-256 of accepted rollouts, in hex: of the compact
// JSON list of identity, generation seed and reward (1 or 0) of each, sorted
// by identity. In whatever order rollouts were done, the digest is the same.
func (n Identities) AcceptedDigest(accepted []Outcome) string {
	type row struct {
		logical string
		seed    int64
		passed  bool
	}
	rows := make([]row, len(accepted))
	for i, a := range accepted {
		rows[i] = row{n.Logical(a.ID), n.Seed(a.ID), a.Passed}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.logical, b.logical) })
	text := []byte{'['}
	for _, r := range rows {
		text = append(comma(text), '[')
		text = append(appendQuoted(text, r.logical), ',')
		text = append(strconv.AppendInt(text, r.seed, 10), ',')
		reward := byte('0')
		if r.passed {
			reward = '1'
		}
		text = append(text, reward, ']')
	}
	return digest(append(text, ']'))
}

// comma appends a comma, unless a list or object has only begun.
func comma(text []byte) []byte {
	if len(text) == 1 {
		return text
	}
	return append(text, ',')
}

// appendQuoted appends a JSON string. Bytes that are not UTF-8 count as U+FFFD.
func appendQuoted(text []byte, s string) []byte {
	text, _ = jsontext.AppendQuote(text, s) // its only error is of such bytes
	return text
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
