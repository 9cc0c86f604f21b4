// Package coupled derives, by hash, what executions of one setting share: the
// identity and generation seed of a rollout, the reward that its task
// probability gives it, and the order of ties. Policies that select the same
// rollouts then see the same rewards, whatever the servers answer (paper,
// Section 4.3, coupled rewards).
//
// Seeds depend on the setting's fingerprint, rewards do not: rollout k of a
// task has the same reward at every budget. The fingerprints of the paper's
// own runs contain facts of the authors' machines and cannot be worked out
// again. Ours is the SHA-256 of what a Protocol says: profile, budgets, pilot
// size, master seed and sampling. Given the paper's fingerprint, identities
// and seeds are the paper's; rewards, and with them allocations, always are.
package coupled

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/store/csvfile"
	"speceval/internal/store/profile"
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
	for k, i := range order {
		if k > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, tasks[i]) // its only error is of bytes that are not UTF-8, which count as U+FFFD
		text = strconv.AppendInt(append(text, ':'), int64(allocation[i]), 10)
	}
	return digest(append(text, '}'))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

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

// Replicate is the same rollouts once more, under identities and seeds of their own; 0 gives
// the first, which the published runs have.
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

// Protocol is all of a setting that its rollouts may depend on, but for the
// policy: the policies of a setting share identities and seeds.
type Protocol struct {
	Profile   string // digest of the profile, as for its rewards
	Budget    int    // b, average rollouts per task
	Reference int    // of a Uniform run at an equivalent budget: the budget of the HBN run that it equals; 0 for any other run
	Pilots    int    // m, pilot rollouts per task
	Seed      uint64 // master seed

	// Sampling is how a rollout is generated, by name: temperature, token
	// limits, what is special about the model.
	Sampling map[string]string
}

// Fingerprint is the name of the setting in identities: 64 hex digits that
// change with everything in the protocol, and with nothing else.
func (p Protocol) Fingerprint() string {
	content, err := json.Marshal(struct {
		Form string
		Protocol
	}{"protocol/1", p})
	if err != nil { // strings and integers always marshal
		panic(err)
	}
	return digest(content)
}

// Rewards gives the rollouts of a profile their coupled rewards. It is safe for
// concurrent use.
type Rewards struct {
	start string // of every text that is hashed, up to the task id
	tasks []chance
}

// chance is a task and its success probability as a bound on 128 random bits:
// a rollout passes when they are less.
type chance struct {
	id        string
	high, low uint64 // the bound; 0 when no rollout passes
	certain   bool   // every rollout passes: the bound would be 2^128
}

// NewRewards returns the rewards of a profile, given its digest (see Releases)
// and the master seed.
func NewRewards(p profile.Profile, digest string, seed uint64) *Rewards {
	r := &Rewards{
		start: "profile_bernoulli_v1|seed=" + strconv.FormatUint(seed, 10) + "|profile=" + digest + "|task=",
		tasks: make([]chance, p.N()),
	}
	for i, count := range p.PassCounts {
		r.tasks[i] = newChance(p.TaskIDs[i], count, p.Rollouts(i))
	}
	return r
}

// newChance bounds a pass count out of k by ⌊count·2^128/k⌋, exactly.
func newChance(id string, count, k int) chance {
	c := chance{id: id, certain: count >= k}
	if count > 0 && !c.certain {
		var rest uint64
		c.high, rest = bits.Div64(uint64(count), 0, uint64(k))
		c.low, _ = bits.Div64(rest, 0, uint64(k))
	}
	return c
}

// Reward reports whether a rollout passes: with its task's pass rate as the
// probability, as a hash of profile, task, phase and ordinal has it.
func (r *Rewards) Reward(id controller.ID) bool {
	c := &r.tasks[id.Task]
	if c.certain || c.high|c.low == 0 {
		return c.certain
	}
	draw := r.draw(id)
	high, low := binary.BigEndian.Uint64(draw[:8]), binary.BigEndian.Uint64(draw[8:16])
	return high < c.high || high == c.high && low < c.low
}

// draw is the hash whose first 128 bits decide on a rollout.
func (r *Rewards) draw(id controller.ID) [sha256.Size]byte {
	text := append(make([]byte, 0, 256), r.start...) // on the stack
	text = append(text, r.tasks[id.Task].id...)
	text = append(text, "|phase="...)
	text = append(text, id.Phase.String()...)
	text = append(text, "|ordinal="...)
	text = strconv.AppendInt(text, int64(id.Ordinal), 10)
	text = append(text, "|replicate=0"...)
	return sha256.Sum256(text)
}

// Pilot counts, by task, the successes of a pilot of m rollouts per task.
func (r *Rewards) Pilot(m int) []int {
	successes := make([]int, len(r.tasks))
	for task := range successes {
		for ordinal := range m {
			if r.Reward(controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: int32(ordinal + 1)}) {
				successes[task]++
			}
		}
	}
	return successes
}

// Releases are the digests of the profile files of the paper's release, by the
// digest of what each profile says (profile.Profile.SHA256).
type Releases map[string]string

// ParseReleases reads the digests of the published profiles' own files from a CSV file with
// the columns benchmark, model and sha256, which has a row for each; name is its name in errors.
func ParseReleases(data []byte, name string, published []profile.Profile) (Releases, error) {
	type release struct {
		Benchmark string `csv:"benchmark"`
		Model     string `csv:"model"`
		SHA256    string `csv:"sha256"`
	}
	rows, _, faults := csvfile.Decode[release](data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", name, faults[0])
	}
	releases := Releases{}
	for _, p := range published {
		i := slices.IndexFunc(rows, func(r release) bool { return r.Benchmark == p.Benchmark && r.Model == p.Model })
		if i < 0 {
			return nil, fmt.Errorf("%s: there is no row for %s", name, p.Name())
		}
		releases[p.SHA256()] = rows[i].SHA256
	}
	return releases, nil
}

// Digest is the digest that the rewards of a profile follow from: of the
// release's own file if the profile says the same as that file, and of what it
// says otherwise.
func (r Releases) Digest(p profile.Profile) string {
	said := p.SHA256()
	if release, ok := r[said]; ok {
		return release
	}
	return said
}
