package coupled

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"speceval/method/controller"
)

// Identities names the rollouts of one setting and gives them their generation
// seeds. It is safe for concurrent use.
type Identities struct {
	fingerprint string
	tasks       []string
	seed        uint64
	replicate   int
}

// NewIdentities returns the identities of a setting with the given
// fingerprint, task ids in profile order, and master seed.
func NewIdentities(fingerprint string, tasks []string, seed uint64) Identities {
	return Identities{fingerprint: fingerprint, tasks: tasks, seed: seed}
}

// Replicate is the same rollouts once more, under identities and seeds of their
// own; 0, the first, is what the published runs have.
func (n Identities) Replicate(replicate int) Identities {
	n.replicate = replicate
	return n
}

// Logical is the identity of a rollout,
// "<fingerprint>|task=<task id>|phase=<phase>|ordinal=0001|replicate=000". A
// request that is made again keeps it. Different rollouts have different ones.
func (n Identities) Logical(id controller.ID) string {
	return string(n.append(nil, id))
}

// Seed is the generation seed of a rollout, which a server takes for its
// sampling: 63 bits of the SHA-256 of the master seed and the identity.
func (n Identities) Seed(id controller.ID) int64 {
	text := append(make([]byte, 0, 256), "master_seed="...)
	text = strconv.AppendUint(text, n.seed, 10)
	text = append(text, '|')
	sum := sha256.Sum256(n.append(text, id))
	return int64(binary.BigEndian.Uint64(sum[:]) &^ (1 << 63))
}

// append appends the identity of a rollout.
func (n Identities) append(to []byte, id controller.ID) []byte {
	to = append(to, n.fingerprint...)
	to = append(to, "|task="...)
	to = append(to, n.tasks[id.Task]...)
	to = append(to, "|phase="...)
	to = append(to, id.Phase.String()...)
	to = append(to, "|ordinal="...)
	to = appendPadded(to, int(id.Ordinal), 1000)
	to = append(to, "|replicate="...)
	return appendPadded(to, n.replicate, 100)
}

// appendPadded appends a number with as many digits as limit, or more.
func appendPadded(to []byte, number, limit int) []byte {
	for ; number < limit && limit > 1; limit /= 10 {
		to = append(to, '0')
	}
	return strconv.AppendInt(to, int64(number), 10)
}
